//! Parameters: one table says what each is, its unit, default, source and meaning; everything else (reading
//! files and `--set`, error messages, `show`, the JSON Schema) follows from it.

use std::collections::BTreeMap;
use units::{Dur, parse_bytes, parse_dur};

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number in a range.
    Count { min: u64, max: u64 },
    /// A power of two in a range.
    PowerOfTwo { min: u64, max: u64 },
    /// A multiple of a number, from that on.
    Multiple { of: u64, max: u64 },
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
    /// Where the default comes from: `paper`, `artifact`, `datasheet`, `estimate`, with the place.
    pub source: &'static str,
    /// What it means.
    pub meaning: &'static str,
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

impl Kind {
    /// What is accepted, in words.
    pub fn accepts(&self) -> String {
        match *self {
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::PowerOfTwo { min, max } => format!("a power of two from {min} to {max}"),
            Kind::Multiple { of, max } => format!("a multiple of {of} up to {max}"),
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
            Kind::Bytes { .. } => "B",
            Kind::Count { .. }
            | Kind::PowerOfTwo { .. }
            | Kind::Multiple { .. }
            | Kind::Thousandths { .. } => "1",
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
                number(text.parse().ok(), &|n| n > 0 && n <= max && n.is_multiple_of(of))
            }
            Kind::Thousandths { min, max } => number(thousandths(text), &|n| (min..=max).contains(&n)),
            Kind::Nanoseconds { min_ps, max_ps } => {
                let dur = parse_dur(text).or_else(|_| parse_dur(&format!("{text} ns")));
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

/// Values for a table of parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, Setting>,
}

impl Settings {
    /// Every parameter at its default.
    ///
    /// # Panics
    /// When a default of the table is not accepted by its own kind; a test reads every table.
    pub fn defaults<'a>(table: impl IntoIterator<Item = &'a Param>) -> Settings {
        let read = |p: &Param| (p.key, p.kind.read(p.default).unwrap_or_else(|e| panic!("{}: {e}", p.key)));
        Settings { values: table.into_iter().map(read).collect() }
    }

    /// Sets one value.
    pub fn set(&mut self, key: &'static str, value: Setting) {
        self.values.insert(key, value);
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// The number called `key`.
    ///
    /// # Panics
    /// When the table has no such number: a mistake in the program, not in its input.
    pub fn number(&self, key: &str) -> u64 {
        match self.values.get(key) {
            Some(Setting::Number(n)) => *n,
            other => panic!("no number {key}: {other:?}"),
        }
    }

    /// The number called `key` as a count of things in memory.
    pub fn count(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    /// The duration called `key`.
    pub fn dur(&self, key: &str) -> Dur {
        Dur::ps(self.number(key))
    }

    /// The flag called `key`.
    pub fn flag(&self, key: &str) -> bool {
        match self.values.get(key) {
            Some(Setting::Flag(f)) => *f,
            other => panic!("no flag {key}: {other:?}"),
        }
    }

    /// The word called `key`.
    pub fn text(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(Setting::Text(t)) => t,
            other => panic!("no text {key}: {other:?}"),
        }
    }
}

/// The words of `known` nearest to `word`, at most three, for a message about an unknown name.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = &word.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = known.into_iter().map(|k| (distance(word, k), k)).collect();
    ranked.sort();
    // What was only written in other letters, nothing else is meant.
    if let Some((0, same)) = ranked.first() {
        return vec![same];
    }
    let limit = word.len() / 2 + 1;
    ranked.into_iter().filter(|(d, k)| *d <= limit || k.contains(word)).take(3).map(|(_, k)| k).collect()
}

/// Levenshtein's edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearest_does_not_hang_on_the_case_of_letters() {
        assert_eq!(nearest("CCEH", ["queue", "cceh", "echo"]), ["cceh"]);
        assert_eq!(nearest("PMEM", ["queue"]), [""; 0]);
    }

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
        assert!(Kind::Bytes { min: 64, max: 4096 }.read("100").is_err());
        let ipc = Kind::Thousandths { min: 500, max: 3000 };
        for (text, value) in [("0.5", 500), ("3", 3000), ("1.25", 1250), ("1.001", 1001)] {
            assert_eq!(ipc.read(text), Ok(Setting::Number(value)));
            assert_eq!(ipc.show(&Setting::Number(value)), text);
        }
        for bad in ["0.4999", "3.001", "-1", "1.", "1.2345", "+1.5", "", "one"] {
            assert!(ipc.read(bad).unwrap_err().contains("from 0.5 to 3"), "{bad}");
        }
    }

    #[test]
    fn the_nearest_names_are_offered() {
        assert_eq!(nearest("asap-rb", ["intel", "asap-rp", "asap-ep"]), ["asap-rp", "asap-ep"]);
        assert!(nearest("zzzzzz", ["intel"]).is_empty());
    }
}
