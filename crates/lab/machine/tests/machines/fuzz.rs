//! Machine files, tens of thousands of damaged ones (a search for what no seed does is fuzz/run): read or refused, and what is read can be checked.

use machine::{Description, PRESETS, WorkloadDescription};
use units::Random;

#[test]
fn damaged_machine_files_are_refused_or_read() {
    for seed in 0..60_000u64 {
        let mut r = Random::new(seed, 1);
        let mut bytes = PRESETS[r.below(PRESETS.len() as u64) as usize].text.as_bytes().to_vec();
        for _ in 0..1 + r.below(6) {
            if bytes.is_empty() {
                break;
            }
            let at = r.below(bytes.len() as u64) as usize;
            match r.below(4) {
                0 => bytes[at] = b"=[]\"'.#\n0123456789-_abcxyz{}"[r.below(28) as usize],
                1 => _ = bytes.remove(at),
                2 => bytes.insert(at, bytes[r.below(bytes.len() as u64) as usize]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Err(e) = Description::parse("mine", "mine.toml", &text)
        {
            assert!(e.to_string().starts_with("mine.toml"), "{e}");
        }
    }
}

#[test]
fn any_setting_is_taken_or_refused() {
    let keys: Vec<&str> = machine::params::MACHINE.iter().map(|p| p.key).collect();
    for seed in 0..60_000u64 {
        let mut r = Random::new(seed, 2);
        let mut machine = Description::preset("asap-rp").unwrap();
        let mut workload = WorkloadDescription::named("cceh").unwrap();
        let value: String = (0..r.below(8)).map(|_| char::from(32 + r.below(95) as u8)).collect();
        _ = machine.set(keys[r.below(keys.len() as u64) as usize], &value);
        _ = workload.set("workload.threads", &value);
        _ = machine.check();
    }
}
