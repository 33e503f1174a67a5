use super::*;

fn expectation(test: &Test, model: &str) -> (bool, usize) {
    let key = format!("Expect.{model}");
    let text = test.metadata(&key).or(test.metadata("Expect")).expect("a spec says what it expects");
    let (word, count) = text.split_once(' ').expect("a word and a number");
    (word == "allowed", count.parse().expect("a number"))
}

#[test]
fn every_spec_agrees_with_every_model_and_both_methods() {
    let mut rows = 0;
    for (file, text) in SPECS {
        for block in blocks(text) {
            let test = parse(&block.text).unwrap_or_else(|e| panic!("{file}: {e} in\n{}", block.text));
            for (name, model) in MODELS {
                for method in [Method::View, Method::Operational] {
                    let options = Options { method, failed_rmw_fences: false };
                    let Ok(images) = images(&test, *model, options) else { continue };
                    if *model == Model::Strict {
                        continue;
                    }
                    let (allowed, count) = expectation(&test, name);
                    let found = (test.question.reachable(&images), images.len());
                    assert_eq!(found, (allowed, count), "{} under {name}, {method:?}: {images:?}", test.name);
                    rows += 1;
                }
            }
        }
    }
    assert_eq!(rows, 33 * 4 + 9 * 2 + 15 * 4 + 58 * 2);
}

fn random_instruction(r: &mut units::Random) -> Instruction {
    let at = Location(r.below(3) as usize);
    let value = Value::Number(1 + r.below(2) as i64);
    match r.below(12) {
        0..=3 => Instruction::Write { to: at, value, nontemporal: r.below(6) == 0 },
        4 | 5 => Instruction::Read { into: Register(0), from: at },
        6 => Instruction::Rmw { at, kind: RmwKind::Exchange, operand: value, old: Some(Register(0)) },
        7 => {
            let kind = RmwKind::CompareExchange { expected: Value::Number(r.below(2) as i64) };
            Instruction::Rmw { at, kind, operand: value, old: Some(Register(1)) }
        }
        8 => Instruction::Flush(Flush::Ordered, at),
        9 => Instruction::Flush(Flush::Weak, at),
        10 => Instruction::Fence(FenceKind::Store),
        _ => Instruction::Fence(FenceKind::Full),
    }
}

fn random_test(seed: u64) -> Test {
    let mut r = units::Random::new(seed, 5);
    let threads = 1 + r.below(2) as usize;
    let length = if threads == 1 { 6 } else { 3 };
    let mut program = || {
        let mut p: Vec<Instruction> = (0..length).map(|_| random_instruction(&mut r)).collect();
        // What was read decides whether a store happens.
        if r.below(2) == 0 {
            p.push(Instruction::Compare(Value::Register(Register(0)), Value::Number(0)));
            p.push(Instruction::Jump(Some(Compare::Equal), p.len() + 2));
            p.push(Instruction::Write { to: Location(2), value: Value::Number(3), nontemporal: false });
        }
        p
    };
    let programs = (0..threads).map(|_| program()).collect();
    Test {
        isa: Isa::X86_64,
        name: format!("random {seed}"),
        metadata: Vec::new(),
        locations: ["x", "y", "z"].map(String::from).to_vec(),
        initial: vec![0; 3],
        lines: if r.below(2) == 0 { vec![0, 0, 1] } else { vec![0, 1, 2] },
        threads: programs,
        registers: vec![vec![0; 2]; threads],
        question: Question::Exists(Condition::True),
    }
}

#[test]
fn views_and_buffers_agree_on_random_programs() {
    for seed in 0..3000 {
        let test = random_test(seed);
        for model in [Model::Px86, Model::Px86Line] {
            for failed_rmw_fences in [false, true] {
                let with = |method| images(&test, model, Options { method, failed_rmw_fences }).unwrap();
                let (view, operational) = (with(Method::View), with(Method::Operational));
                assert!(
                    view == operational,
                    "seed {seed}, {model:?}, fences {failed_rmw_fences}: {:#?}\nlines {:?}\nonly by views {:?}\nonly by buffers {:?}",
                    test.threads,
                    test.lines,
                    view.difference(&operational).collect::<Vec<_>>(),
                    operational.difference(&view).collect::<Vec<_>>()
                );
            }
        }
    }
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    let at = |text: &str| {
        let e = parse(text).expect_err("a mistake");
        (e.line, e.column)
    };
    assert_eq!(at(""), (1, 1));
    assert_eq!(at("PPC a\n{}\nP0;\nexists (x=0)"), (1, 1));
    assert_eq!(at("X86_64 a\n{ x=zero; }\n P0 ;\n nop ;\nexists (x=0)"), (2, 5));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n move [x],$1 ;\nexists (x=0)"), (4, 2));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 | P1 ;\n nop | mov [x],$1 | nop ;\nexists (x=0)"), (4, 2));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n jmp far ;\nexists (x=0)"), (4, 6));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n nop ;\nexists (x=0 /\\ y=)"), (5, 18));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n nop ;"), (4, 2));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n mov [rdi],$1 ;\nexists (x=0)"), (4, 7));
}

/// Files with a byte changed, dropped or doubled: read or refused, never a panic.
#[test]
fn damaged_files_are_read_or_refused() {
    let mut r = units::Random::new(1, 1);
    for (_, text) in SPECS {
        for block in blocks(text) {
            for _ in 0..60 {
                let mut bytes = block.text.clone().into_bytes();
                for _ in 0..=r.below(3) {
                    let at = r.below(bytes.len() as u64) as usize;
                    match r.below(3) {
                        0 => bytes[at] = b"{}[]();|:=,$#%~\\/ \n0Zx"[r.below(22) as usize],
                        1 => drop(bytes.remove(at)),
                        _ => bytes.insert(at, bytes[at]),
                    }
                }
                let text = String::from_utf8_lossy(&bytes);
                if let Err(e) = parse(&text) {
                    assert!(e.line >= 1 && e.column >= 1 && !e.message.is_empty());
                }
            }
        }
    }
}
