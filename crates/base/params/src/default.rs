//! Whether a default is one of the values that its kind accepts, asked while the program is compiled.

use crate::Kind;

/// Whether `default` is accepted by `kind`, written as plainly as defaults are: numbers without a unit, but for
/// sizes.
pub const fn fits(kind: &Kind, default: &str) -> bool {
    let text = default.as_bytes();
    match *kind {
        Kind::Count { min, max } => within(whole(text), min, max),
        Kind::PowerOfTwo { min, max } => power_of_two(whole(text), min, max),
        Kind::Multiple { of, max } => match size(text) {
            Some(n) => n > 0 && n <= max && n.is_multiple_of(of),
            None => false,
        },
        Kind::MultipleOrZero { of, max } => match size(text) {
            Some(n) => n <= max && n.is_multiple_of(of),
            None => false,
        },
        Kind::Thousandths { min, max } => within(thousandths(text), min, max),
        Kind::Nanoseconds { min_ps, max_ps } => within(thousandths(text), min_ps, max_ps),
        Kind::Bytes { min, max } => power_of_two(size(text), min, max),
        Kind::Choice(words) => {
            let mut at = 0;
            while at < words.len() {
                if same(words[at].as_bytes(), text) {
                    return true;
                }
                at += 1;
            }
            false
        }
        Kind::Flag => same(text, b"true") || same(text, b"false"),
        Kind::Text => true,
    }
}

const fn within(number: Option<u64>, min: u64, max: u64) -> bool {
    match number {
        Some(n) => min <= n && n <= max,
        None => false,
    }
}

const fn power_of_two(number: Option<u64>, min: u64, max: u64) -> bool {
    match number {
        Some(n) => n.is_power_of_two() && min <= n && n <= max,
        None => false,
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Digits from `from` to `to`.
const fn digits(text: &[u8], from: usize, to: usize) -> Option<u64> {
    let (mut value, mut at) = (0u64, from);
    while at < to {
        if !text[at].is_ascii_digit() || value > u64::MAX / 10 - 1 {
            return None;
        }
        value = value * 10 + (text[at] - b'0') as u64;
        at += 1;
    }
    if from == to { None } else { Some(value) }
}

const fn whole(text: &[u8]) -> Option<u64> {
    digits(text, 0, text.len())
}

const fn find(text: &[u8], byte: u8) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != byte {
        at += 1;
    }
    at
}

/// A number with up to three digits after its point, in thousandths.
const fn thousandths(text: &[u8]) -> Option<u64> {
    let point = find(text, b'.');
    let Some(whole) = digits(text, 0, point) else { return None };
    if whole > u64::MAX / 1000 - 1 {
        return None;
    }
    if point == text.len() {
        return Some(whole * 1000);
    }
    let Some(part) = digits(text, point + 1, text.len()) else { return None };
    match text.len() - point - 1 {
        1 => Some(whole * 1000 + part * 100),
        2 => Some(whole * 1000 + part * 10),
        3 => Some(whole * 1000 + part),
        _ => None,
    }
}

/// A number of bytes: "64", "32 KiB".
const fn size(text: &[u8]) -> Option<u64> {
    let space = find(text, b' ');
    let Some(number) = digits(text, 0, space) else { return None };
    let (_, unit) = text.split_at(space);
    let shift = if unit.is_empty() {
        0
    } else if same(unit, b" KiB") {
        10
    } else if same(unit, b" MiB") {
        20
    } else if same(unit, b" GiB") {
        30
    } else {
        return None;
    };
    if number > u64::MAX >> shift { None } else { Some(number << shift) }
}
