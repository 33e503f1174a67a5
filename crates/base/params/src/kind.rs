//! What a parameter may be: how its values are read, shown, and refused.

use units::{Dur, parse_bytes, parse_dur};

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Count { min: u64, max: u64 },
    /// A power of two in a range.
    PowerOfTwo { min: u64, max: u64 },
    /// A size in bytes, a multiple of a number from that on; text with a unit too.
    Multiple { of: u64, max: u64 },
    /// The same, or 0.
    MultipleOrZero { of: u64, max: u64 },
    /// A number with up to three digits after the point, kept in thousandths; so is the range.
    Thousandths { min: u64, max: u64 },
    /// Nanoseconds, with fractions down to a picosecond; the range is in picoseconds. Text with a unit too.
    Nanoseconds { min_ps: u64, max_ps: u64 },
    /// A size in bytes, a power of two; text with a unit too.
    Bytes { min: u64, max: u64 },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// true or false.
    Flag,
    /// Any text.
    Text,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Dotted name, such as `ordering.persist_buffer`.
    pub key: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Its value unless something else is said.
    pub default: &'static str,
    /// Where the default comes from, as [`crate::Source`] reads it.
    pub source: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Where it does anything, besides being of a table that acts: other parameters' values, such as `remote.kind=pages` or
    /// `nvdimm.kind=cached|hypothetical`, values that it must not have (`nand.bit_errors!=0`), several of these with ` and `
    /// between them, which binds tighter, or ` or `; empty for everywhere.
    pub acts: &'static str,
}

/// A value that has been read and checked. Durations are in picoseconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A number.
    Number(u64),
    /// A word or text.
    Text(String),
    /// true or false.
    Flag(bool),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Number(n) => n.fmt(f),
            Setting::Text(text) => f.write_str(text),
            Setting::Flag(flag) => flag.fmt(f),
        }
    }
}

impl Setting {
    /// The number, where it is one.
    pub fn as_number(&self) -> Option<u64> {
        match self {
            Setting::Number(n) => Some(*n),
            Setting::Text(_) | Setting::Flag(_) => None,
        }
    }

    /// The text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Setting::Text(text) => Some(text),
            Setting::Number(_) | Setting::Flag(_) => None,
        }
    }
}

impl Kind {
    /// Nanoseconds in a range of picoseconds, such as those of [`crate::ns`].
    pub const fn nanoseconds((min_ps, max_ps): (u64, u64)) -> Kind {
        Kind::Nanoseconds { min_ps, max_ps }
    }

    /// What is accepted, in words.
    pub fn accepts(&self) -> String {
        match *self {
            Kind::Count { min, max } if min == max => min.to_string(),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::PowerOfTwo { min, max } => format!("a power of two from {min} to {max}"),
            Kind::Multiple { of, max } => {
                format!("a multiple of {of} bytes up to {} (65536, \"64 KiB\")", size(max))
            }
            Kind::MultipleOrZero { of, max } => format!("{}, or 0", Kind::Multiple { of, max }.accepts()),
            Kind::Thousandths { min, max } => {
                format!("a number from {} to {}", min as f64 / 1e3, max as f64 / 1e3)
            }
            Kind::Nanoseconds { min_ps, max_ps } => {
                let ns = |ps: u64| ps as f64 / 1e3;
                format!("nanoseconds from {} to {} (175, 0.5, \"60 ns\", \"2 us\")", ns(min_ps), ns(max_ps))
            }
            Kind::Bytes { min, max } => {
                format!("a power of two of bytes from {} to {} (65536, \"64 KiB\")", size(min), size(max))
            }
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Flag => "true or false".into(),
            Kind::Text => "text".into(),
        }
    }

    /// The unit, for lists of parameters.
    pub fn unit(&self) -> &'static str {
        match self {
            Kind::Nanoseconds { .. } => "ns",
            Kind::Bytes { .. } | Kind::Multiple { .. } | Kind::MultipleOrZero { .. } => "B",
            Kind::Count { .. } | Kind::PowerOfTwo { .. } | Kind::Thousandths { .. } => "1",
            Kind::Choice(_) | Kind::Flag | Kind::Text => "-",
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// What is accepted instead, in words.
    pub fn read(&self, text: &str) -> Result<Setting, String> {
        let text = text.trim();
        let number = |n: Option<u64>, fits: &dyn Fn(u64) -> bool| n.filter(|n| fits(*n)).map(Setting::Number);
        let value = match *self {
            Kind::Count { min, max } => {
                number(text.replace('_', "").parse().ok(), &|n| (min..=max).contains(&n))
            }
            Kind::PowerOfTwo { min, max } => {
                number(text.parse().ok(), &|n| n.is_power_of_two() && (min..=max).contains(&n))
            }
            Kind::Multiple { of, max } => {
                number(parse_bytes(text).ok(), &|n| n > 0 && n <= max && n.is_multiple_of(of))
            }
            Kind::MultipleOrZero { of, max } => {
                number(parse_bytes(text).ok(), &|n| n <= max && n.is_multiple_of(of))
            }
            Kind::Thousandths { min, max } => number(thousandths(text), &|n| (min..=max).contains(&n)),
            Kind::Nanoseconds { min_ps, max_ps } => {
                let has_unit = text.contains(|c: char| c.is_ascii_alphabetic());
                let dur = if has_unit { parse_dur(text) } else { parse_dur(&format!("{text} ns")) };
                if dur.as_ref().is_err_and(|e| e.is_too_fine) {
                    let accepts = self.accepts();
                    return Err(format!("\"{text}\" is finer than a picosecond; give {accepts}"));
                }
                number(dur.ok().map(Dur::as_ps), &|n| (min_ps..=max_ps).contains(&n))
            }
            Kind::Bytes { min, max } => {
                number(parse_bytes(text).ok(), &|n| n.is_power_of_two() && (min..=max).contains(&n))
            }
            Kind::Choice(words) => words.contains(&text).then(|| Setting::Text(text.into())),
            Kind::Flag => text.parse().ok().map(Setting::Flag),
            Kind::Text => Some(Setting::Text(text.into())),
        };
        value.ok_or_else(|| format!("\"{text}\" is not accepted; give {}", self.accepts()))
    }

    /// A value as it would be written.
    pub fn show(&self, value: &Setting) -> String {
        match (self, value) {
            (Kind::Nanoseconds { .. } | Kind::Thousandths { .. }, Setting::Number(ps)) => {
                format!("{}", *ps as f64 / 1e3)
            }
            (_, Setting::Number(n)) => n.to_string(),
            (_, Setting::Text(t)) => t.clone(),
            (_, Setting::Flag(f)) => f.to_string(),
        }
    }
}

/// A number with a point, in thousandths; none where it has more digits than that.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = part.len() <= 3 && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let part = format!("{part:0<3}").parse::<u64>().ok().filter(|_| digits)?;
    whole.parse::<u64>().ok().filter(|_| !whole.starts_with('+'))?.checked_mul(1000)?.checked_add(part)
}

fn size(bytes: u64) -> String {
    for (unit, scale) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= scale && bytes.is_multiple_of(scale) {
            return format!("{} {unit}", bytes / scale);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_or_of_another_kind_are_refused_with_what_is_accepted() {
        let count = Kind::Count { min: 1, max: 64 };
        assert_eq!(count.read("8"), Ok(Setting::Number(8)));
        for bad in ["0", "65", "-1", "4.5", "many", ""] {
            assert!(count.read(bad).unwrap_err().contains("from 1 to 64"), "{bad}");
        }
        let ns = Kind::Nanoseconds { min_ps: 0, max_ps: 1_000_000 };
        assert_eq!(ns.read("0.5"), Ok(Setting::Number(500)));
        assert_eq!(ns.read("1 us"), Ok(Setting::Number(1_000_000)));
        assert!(ns.read("2 us").is_err() && ns.read("1 GiB").is_err());
        for fine in ["0.0001", "175.0000001", "0.1 ps", "0.0000001us"] {
            let refusal = ns.read(fine).unwrap_err();
            assert!(
                refusal.contains("finer than a picosecond; give nanoseconds from 0 to 1000"),
                "{refusal}"
            );
        }
        assert!(Kind::Bytes { min: 64, max: 4096 }.read("100").is_err());
        let array = Kind::Multiple { of: 4096, max: 1 << 20 };
        for (text, value) in [("4096", 4096), ("12 KiB", 12 << 10), ("1MiB", 1 << 20)] {
            assert_eq!(array.read(text), Ok(Setting::Number(value)), "{text}");
        }
        for bad in ["0", "6 KiB", "2 MiB", "4096.5", "4096 ns"] {
            assert!(array.read(bad).unwrap_err().contains("a multiple of 4096 bytes up to 1 MiB"), "{bad}");
        }
        let stride = Kind::MultipleOrZero { of: 64, max: 1 << 20 };
        for (text, value) in [("0", 0), ("64", 64), ("4 KiB", 4096)] {
            assert_eq!(stride.read(text), Ok(Setting::Number(value)), "{text}");
        }
        for bad in ["100", "2 MiB", "-64", "64 ns", ""] {
            let refusal = stride.read(bad).unwrap_err();
            assert!(
                refusal.contains("a multiple of 64 bytes up to 1 MiB (65536, \"64 KiB\"), or 0"),
                "{refusal}"
            );
        }
        let ipc = Kind::Thousandths { min: 500, max: 3000 };
        for (text, value) in [("0.5", 500), ("3", 3000), ("1.25", 1250), ("1.001", 1001)] {
            assert_eq!(ipc.read(text), Ok(Setting::Number(value)));
            assert_eq!(ipc.show(&Setting::Number(value)), text);
        }
        for bad in ["0.4999", "3.001", "-1", "1.", "1.2345", "+1.5", "", "one"] {
            assert!(ipc.read(bad).unwrap_err().contains("from 0.5 to 3"), "{bad}");
        }
    }
}
