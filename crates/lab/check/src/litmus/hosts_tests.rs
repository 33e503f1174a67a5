use super::*;

fn random_instruction(r: &mut units::Random) -> Instruction {
    let at = Location(r.below(3) as usize);
    let value = Value::Number(1 + r.below(2) as i64);
    match r.below(11) {
        0..=3 => Instruction::Write { to: at, value, nontemporal: r.below(4) == 0 },
        4..=6 => Instruction::Read { into: Register(0), from: at },
        7 => Instruction::Flush(Flush::Ordered, at),
        8 | 9 => Instruction::Flush(Flush::Weak, at),
        _ => Instruction::Fence(FenceKind::Store),
    }
}

/// One or two hosts on three words in two or three lines, some of them coherent, some hosts able to stop. What a host read it
/// stores again, so that the device tells of it.
fn random_test(seed: u64) -> Test {
    let mut r = units::Random::new(seed, 6);
    let hosts = 1 + r.below(2) as usize;
    let length = if hosts == 1 { 5 } else { 3 };
    let mut program = || {
        let mut p: Vec<Instruction> = (0..length).map(|_| random_instruction(&mut r)).collect();
        if r.below(2) == 0 {
            p.push(Instruction::Write {
                to: Location(2),
                value: Value::Register(Register(0)),
                nontemporal: true,
            });
        }
        p
    };
    let threads = (0..hosts).map(|_| program()).collect();
    let keys = [
        ("Coherent", ["", "x", "x z", "x y z"]),
        ("Stops", ["", "P0", "", "P0"]),
        ("Links", ["", "", "", "P0"]),
        ("Power", ["", "none", "device", "global"]),
        ("Energy", ["", "", "", "short"]),
        ("Dirty", ["", "d", "d", "d"]),
    ];
    let metadata = keys.map(|(key, all)| (key.to_string(), all[r.below(4) as usize].to_string()));
    Test {
        isa: Isa::Hosts,
        name: format!("random {seed}"),
        metadata: metadata.to_vec(),
        locations: ["x", "y", "z", "d"].map(String::from).to_vec(),
        initial: vec![0; 4],
        lines: if r.below(2) == 0 { vec![0, 0, 1, 2] } else { vec![0, 1, 2, 3] },
        threads,
        registers: vec![vec![0; 2]; hosts],
        question: Question::Exists(Condition::True),
    }
}

#[test]
fn caches_and_lines_agree_on_random_programs_of_hosts() {
    // 3,000 agree too; each run of the tests takes the first of them.
    let programs: u64 = option_env!("COREPLANE_TEST_PROGRAMS").map_or(300, |n| n.parse().unwrap());
    for seed in 0..programs {
        let test = random_test(seed);
        let with =
            |method| images(&test, Model::Shared, Options { method, failed_rmw_fences: false }).unwrap();
        let (lines, caches) = (with(Method::View), with(Method::Operational));
        assert!(
            lines == caches,
            "seed {seed}: {:#?}\nlines {:?}, {:?}\nonly by lines {:?}\nonly by caches {:?}",
            test.threads,
            test.lines,
            test.metadata,
            lines.difference(&caches).collect::<Vec<_>>(),
            caches.difference(&lines).collect::<Vec<_>>()
        );
    }
}

/// The two are made independently: a mistake in one shows. A host that writes its caches back as it stops is none here: no test
/// tells that from lines that left just before.
#[test]
fn a_mistake_of_the_caches_makes_them_disagree() {
    use shared::Mutant::*;
    for mutant in [
        FenceForgets,
        FlushForgets,
        InvalidateKeepsCopy,
        EvictionForgets,
        SnoopLeavesCopies,
        LinkForgets,
        SnoopSkipsLostLinks,
        DrainForgets,
        CachesForgotten,
        CountStays,
    ] {
        let differ = |seed: &u64| {
            let test = random_test(*seed);
            hosts::images(&test, Some(mutant)).unwrap() != hosts_by_line::images(&test).unwrap()
        };
        assert!((0..1500).any(|seed| differ(&seed)), "{mutant:?}");
    }
}

#[test]
fn what_names_nothing_is_refused() {
    let wrong = |head: &str, code: &str| {
        parse(&format!("HOSTS a\n{head}{{ x=0; }}\n P0 ;\n {code} ;\nexists (x=0)")).unwrap_err().message
    };
    assert!(wrong("Coherent=q\n", "nop").contains("`q` is no location"));
    assert!(wrong("Stops=P1\n", "nop").contains("`P1` is no host"));
    assert!(wrong("Links=P2\n", "nop").contains("Links: `P2` is no host"));
    assert!(wrong("Dirty=q\n", "nop").contains("Dirty: `q` is no location"));
    assert!(
        wrong("Power=off\n", "nop")
            .contains("Power: `off` is not accepted; give one of none, device, global")
    );
    assert!(wrong("Energy=long\n", "nop").contains("Energy: `long` is not accepted; give one of short"));
    for code in ["lock inc [x]", "clflushopt [x]", "xchg [x],eax"] {
        assert!(wrong("", code).contains("is no instruction of hosts; accepted: mov"), "{code}");
    }
}
