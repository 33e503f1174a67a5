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
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n nop ;\nexists (x=0 /\\ x=)"), (5, 18));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n nop ;"), (4, 2));
    assert_eq!(at("X86_64 a\n{ x=0; }\n P0 ;\n mov [rdi],$1 ;\nexists (x=0)"), (4, 7));
}

#[test]
fn what_would_say_nothing_is_refused_with_what_is_accepted() {
    let said = |before: &str, initial: &str, line: &str, condition: &str| {
        parse(&format!("X86_64 a\n{before}\n{{ {initial} }}\n P0 ;\n {line} ;\nexists ({condition})"))
            .map_err(|e| e.message)
    };
    let refused = |text: &str, of: Result<Test, String>| {
        let said = of.expect_err(text);
        assert!(said.contains(text), "{said}");
    };
    let store = "mov [entry],$7";
    refused(
        "`px68-line` is no model; accepted: px86, px86-line, armv8",
        said("Expect.px68-line=forbidden 9", "", store, "entry=0"),
    );
    for (key, meant) in [
        ("Line", "Lines"),
        ("lines", "Lines"),
        ("Stop", "Stops"),
        ("EXPECT", "Expect"),
        ("Expct.px86", "Expect"),
    ] {
        refused(&format!("did you mean {meant}?"), said(&format!("{key}=x y"), "", store, "entry=0"));
    }
    for key in [
        "Com",
        "Orig",
        "Cycle",
        "Relax",
        "Hash",
        "Generator",
        "Prefetch",
        "Kind",
        "Name",
        "Mapping",
        "Safe",
        "Anything",
    ] {
        assert!(said(&format!("{key}=Rf Fr"), "", store, "entry=0").is_ok(), "{key}");
    }
    refused(
        "`entyr` is no location of this test; it has entry, count",
        said("A=1", "entry=0; count=0;", store, "entyr=7"),
    );
    assert!(said("A=1", "", store, "entry=7").is_ok(), "what is not initialised is zero");
    refused("`entry` stands in the initial state twice", said("A=1", "entry=0; entry=1;", store, "entry=7"));
    refused(
        "`ebx` of P0 stands in the initial state twice",
        said("A=1", "0:rbx=1; 0:ebx=2;", store, "entry=7"),
    );
    for (line, bits) in [("mov eax,$4294967296", 32), ("mov %ax,$65536", 16), ("cmp r8d,$0x100000000", 32)] {
        refused(&format!("which has {bits} bits"), said("A=1", "entry=0;", line, "entry=7"));
    }
    refused("which has 32 bits", said("A=1", "0:eax=4294967296;", store, "entry=7"));
    for line in [
        "mov eax,$4294967295",
        "mov eax,$-1",
        "mov rax,$4294967296",
        "mov r9,$4294967296",
        "mov [entry],$4294967296",
    ] {
        assert!(said("A=1", "entry=0;", line, "entry=7").is_ok(), "{line}");
    }
}

#[test]
fn a_barrier_of_arm_that_orders_less_than_all_is_refused_where_it_counts() {
    let said = |first: &str, barrier: &str| {
        let text = format!(
            "AArch64 a\n{{ x=0; y=0; }}\n P0 ;\n {first} ;\n {barrier} ;\n STR W0,[y] ;\nexists (y=0)"
        );
        parse(&text).map_err(|e| (e.line, e.message))
    };
    let (store, load) = ("STR W1,[x]", "LDR W0,[x]");
    for barrier in ["DSB", "DSB SY", "dsb ish", "DMB OSH", "DMB NSH", "DMB"] {
        assert!(said(load, barrier).is_ok(), "{barrier}");
    }
    for barrier in ["DMB ST", "DMB ISHST"] {
        assert!(said(store, barrier).is_ok(), "{barrier}");
        let (line, message) = said(load, barrier).unwrap_err();
        assert!(line == 5 && message.contains("in a thread that loads"), "{message}");
    }
    for barrier in ["DSB LD", "DSB ISHST", "DMB ISHLD", "DMB X"] {
        let (line, message) = said(store, barrier).unwrap_err();
        assert!(line == 5 && message.contains("accepted: SY, ISH, OSH, NSH or none"), "{message}");
    }
}

#[test]
fn a_mark_of_the_encoding_is_no_letter() {
    let test = "X86_64 a\n{ x=0; }\n P0 ;\n mov [x],$1 ;\nexists (x=1)";
    assert!(parse(&format!("\u{feff}{test}")).is_ok());
    assert_eq!(blocks(&format!("\u{feff}```litmus\n{test}\n```\n"))[0].text, format!("{test}\n"));
    assert!(parse("").unwrap_err().message.contains("RELEASE"));
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
