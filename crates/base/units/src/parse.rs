//! Text forms of durations and sizes: `60 ns`, `1.5us`, `64 KiB`, `4096`.

use crate::Dur;

/// Why a quantity could not be read; the text says what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    /// It is a quantity, but not a whole number of the smallest unit.
    pub is_too_fine: bool,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ParseError {}

const DURATIONS: [(&str, u64); 5] =
    [("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

const SIZES: [(&str, u64); 8] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// Reads a duration with its unit (`ps`, `ns`, `us`, `ms`, `s`).
///
/// # Errors
/// When the number or the unit is not understood, or the duration is not a whole number of picoseconds.
pub fn parse_dur(text: &str) -> Result<Dur, ParseError> {
    quantity(text, &DURATIONS, "a duration such as \"60 ns\" (ps, ns, us, ms, s)").map(Dur::ps)
}

/// Reads a size in bytes; a bare number is bytes.
///
/// # Errors
/// When the number or the unit is not understood, or the size is not a whole number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let text = text.trim();
    if let Ok(n) = text.parse() {
        return Ok(n);
    }
    quantity(text, &SIZES, "a size such as \"64 KiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB)")
}

fn quantity(text: &str, table: &[(&str, u64)], wanted: &str) -> Result<u64, ParseError> {
    let bad = || ParseError { text: format!("\"{text}\" is not {wanted}"), is_too_fine: false };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?;
    let (number, unit) = (trimmed[..split].trim(), &trimmed[split..]);
    let scale = table.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.len() <= 19 && s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(bad());
    }
    let ten = 10u128.pow(fraction.len() as u32);
    let scaled = format!("{whole}{fraction}").parse::<u128>().map_err(|_| bad())? * u128::from(scale);
    if scaled % ten != 0 {
        let text = format!("\"{text}\" is finer than one {}", table[0].0);
        return Err(ParseError { text, is_too_fine: true });
    }
    u64::try_from(scaled / ten).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_units_are_read_exactly() {
        assert_eq!(parse_dur("60 ns"), Ok(Dur::ns(60)));
        assert_eq!(parse_dur("1.25us"), Ok(Dur::ps(1_250_000)));
        assert_eq!(parse_dur(" 0.5 ns "), Ok(Dur::ps(500)));
    }

    #[test]
    fn a_bare_number_is_no_duration_and_a_finer_one_than_a_picosecond_is_refused() {
        for bad in
            ["60", "", "ns", "-1 ns", "1e3 ns", "6O ns", "1 lightyear", "0.0001 ns", "99999999999999999999 s"]
        {
            assert!(parse_dur(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_accept_binary_and_decimal_units() {
        assert_eq!(parse_bytes("64 KiB"), Ok(65_536));
        assert_eq!(parse_bytes("2MB"), Ok(2_000_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert!(parse_bytes("4 kib").is_err());
    }
}
