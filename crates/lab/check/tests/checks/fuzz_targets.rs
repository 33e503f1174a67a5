//! The fuzzing targets on their seeds and on damaged copies of these: as many as take seconds. `.ci/run nightly` runs them under
//! libFuzzer.

#[path = "../../../../../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;
use units::Random;

/// Damaged copies of all seeds of a target together.
const COPIES: u64 = 3000;

#[expect(clippy::disallowed_methods, reason = "seeds are files beside the fuzz targets")]
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files.iter().map(|f| std::fs::read(f).unwrap()).collect()
}

fn damage(bytes: &mut Vec<u8>, r: &mut Random) {
    for _ in 0..1 + r.below(6) {
        if bytes.is_empty() {
            return;
        }
        let at = r.below(bytes.len() as u64) as usize;
        match r.below(6) {
            0 => bytes[at] = r.next_u64() as u8,
            1 => bytes[at] ^= 1 << r.below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, r.next_u64() as u8),
            4 => {
                let end = (at + 1 + r.below(16) as usize).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.extend(piece);
            }
            _ => {
                let number = [0, 1, u64::MAX, 1 << 47, 1 << 62, 4095][r.below(6) as usize].to_le_bytes();
                let end = (at + 8).min(bytes.len());
                bytes[at..end].copy_from_slice(&number[..end - at]);
            }
        }
    }
}

fn holds(name: &str) {
    let (_, target) = targets::TARGETS.iter().find(|(n, _)| *n == name).unwrap();
    let seeds = seeds(name);
    assert!(!seeds.is_empty());
    seeds.iter().for_each(|seed| target(seed));
    for copy in 0..COPIES / if name == "replay" { 10 } else { 1 } {
        let mut r = Random::new(copy, 7);
        let mut bytes = seeds[r.below(seeds.len() as u64) as usize].clone();
        damage(&mut bytes, &mut r);
        target(&bytes);
    }
}

#[test]
fn recordings_are_refused_or_read() {
    holds("recording");
}

#[test]
fn traces_of_other_tools_are_refused_or_read() {
    holds("foreign");
}

#[test]
fn litmus_tests_are_refused_or_answered() {
    holds("litmus");
}

#[test]
fn descriptions_are_refused_or_checked() {
    holds("description");
}

#[test]
fn recordings_that_are_read_can_be_run() {
    holds("replay");
}

#[test]
fn what_is_left_of_recordings_can_be_told() {
    holds("crash");
}
