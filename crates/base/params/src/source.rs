//! Where a value comes from, and within what it could be another.

use crate::{Kind, Setting};

/// Where a value comes from. A row, and a machine's file, say it in a line: one of these words, a colon, and the place
/// or the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// `paper: ASAP Table II`: printed there.
    Paper(&'a str),
    /// `artifact: 60 % of the queue`: in what the paper's authors published besides.
    Artifact(&'a str),
    /// `datasheet: JESD79-4`: in a document of the part, or of the software that it stands for.
    Datasheet(&'a str),
    /// `measured: RDMA reads of 64 B in 2.42 us`: on a real machine.
    Measured(&'a str),
    /// `fitted to nearpm.micro: why`: chosen so that published claims come out, which then say nothing for the model.
    Fitted { claims: &'a str, how: &'a str },
    /// `open 5..50: why`: nobody has published it. It lies in an interval, or is one of some: `open lru|clock: why`.
    Open(Open<'a>),
}

/// What an open parameter may be, and why it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// What it may be.
    pub among: Among<'a>,
    /// Why that, and why nothing more is known.
    pub reason: &'a str,
}

/// The values that an open parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among<'a> {
    /// Everything from the first to the second.
    Interval(&'a str, &'a str),
    /// One of some, which stand with `|` between them. One alone is asked for, and never varied.
    Choices(&'a str),
}

/// What a source may be, in words.
pub const SOURCES: &str = "paper: PLACE, artifact: PLACE, datasheet: PLACE, measured: WHAT, fitted to CLAIM: HOW, open LOW..HIGH: WHY or open A|B: WHY";

/// The same as a regular expression, for a JSON Schema. Whether `open` can be read hangs on its key.
pub const SOURCES_PATTERN: &str =
    r"^\s*(artifact\s*$|artifact\s*: |fitted to \S|(paper|datasheet|measured)\s*: \s*\S|open \S.*: \s*\S)";

impl<'a> Source<'a> {
    /// Reads the line.
    ///
    /// # Errors
    /// What is accepted instead, in words.
    pub fn read(text: &'a str) -> Result<Source<'a>, String> {
        let refused = || format!("\"{text}\" is no source; give {SOURCES}");
        // A word of an interval may have a colon in it, but none with a space after it.
        let (head, rest) = text.split_once(": ").unwrap_or((text, ""));
        let (head, rest) = (head.trim(), rest.trim());
        if let Some(claims) = head.strip_prefix("fitted to ") {
            return Ok(Source::Fitted { claims, how: rest });
        }
        if let Some(among) = head.strip_prefix("open ") {
            let among = match among.split_once("..") {
                Some((low, high)) => Among::Interval(low.trim(), high.trim()),
                None => Among::Choices(among.trim()),
            };
            let said = !rest.is_empty();
            return said.then_some(Source::Open(Open { among, reason: rest })).ok_or_else(refused);
        }
        match head {
            "artifact" => Ok(Source::Artifact(rest)),
            _ if rest.is_empty() => Err(refused()),
            "paper" => Ok(Source::Paper(rest)),
            "datasheet" => Ok(Source::Datasheet(rest)),
            "measured" => Ok(Source::Measured(rest)),
            _ => Err(refused()),
        }
    }

    /// Its first word.
    pub fn word(&self) -> &'static str {
        match self {
            Source::Paper(_) => "paper",
            Source::Artifact(_) => "artifact",
            Source::Datasheet(_) => "datasheet",
            Source::Measured(_) => "measured",
            Source::Fitted { .. } => "fitted",
            Source::Open(_) => "open",
        }
    }

    /// What it may be, where it is open.
    pub fn open(&self) -> Option<Open<'a>> {
        match self {
            Source::Open(open) => Some(*open),
            Source::Paper(_)
            | Source::Artifact(_)
            | Source::Datasheet(_)
            | Source::Measured(_)
            | Source::Fitted { .. } => None,
        }
    }
}

impl<'a> Among<'a> {
    /// The ends of an interval, or every choice.
    pub fn texts(&self) -> Vec<&'a str> {
        match self {
            Among::Interval(low, high) => vec![low, high],
            Among::Choices(words) => words.split('|').map(str::trim).collect(),
        }
    }

    /// The ends of an interval, the lower one first, or every choice, as `kind` reads them.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn read(&self, kind: Kind) -> Result<Vec<Setting>, String> {
        let all = self.texts().into_iter().map(|text| kind.read(text)).collect::<Result<Vec<_>, _>>()?;
        if matches!(self, Among::Interval(..)) {
            let numbers: Vec<u64> = all.iter().filter_map(Setting::as_number).collect();
            let [low, high] = numbers[..] else {
                return Err("only numbers have an interval; give choices with | between them".into());
            };
            if low >= high {
                return Err("an interval goes from the lower value to the higher".into());
            }
        }
        Ok(all)
    }

    /// Whether `value` is one of them, and whether `kind` accepts them.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self, kind: Kind, value: &Setting) -> Result<(), String> {
        let all = self.read(kind)?;
        let inside = match self {
            Among::Choices(_) => all.contains(value),
            Among::Interval(..) => {
                let ends = [all.first(), all.last()].map(|end| end.and_then(Setting::as_number));
                let number = value.as_number();
                number.is_some() && ends[0] <= number && number <= ends[1]
            }
        };
        let text = || format!("{} is not among its own {}", kind.show(value), self.texts().join(", "));
        if inside { Ok(()) } else { Err(text()) }
    }

    /// Whether there is more than one.
    pub fn varies(&self) -> bool {
        self.texts().len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_of_six_kinds_or_refused() {
        let kinds = [
            ("paper: ASAP Table II", "paper"),
            ("artifact", "artifact"),
            ("artifact: 60 % of the queue", "artifact"),
            ("datasheet: JESD79-4", "datasheet"),
            ("measured: 3.11 us", "measured"),
            ("fitted to nearpm.micro", "fitted"),
            ("open 5..50: not published", "open"),
            ("open hdd|ssd: both are named", "open"),
        ];
        for (text, word) in kinds {
            assert_eq!(Source::read(text).unwrap().word(), word, "{text}");
        }
        for text in
            ["", "-", "paper", "paper:", "estimate: one cycle", "open 5..50", "open: none", "Linux: x"]
        {
            assert!(Source::read(text).unwrap_err().contains("open LOW..HIGH"), "{text}");
        }
        let fitted = Source::Fitted { claims: "a.b, c.d", how: "by hand" };
        assert_eq!(Source::read("fitted to a.b, c.d: by hand"), Ok(fitted));
    }

    #[test]
    fn an_open_value_stands_in_its_own_interval() {
        let ns = Kind::Nanoseconds { min_ps: 0, max_ps: 1_000_000 };
        let check = |among: Among<'_>, kind: Kind, value: &str| among.check(kind, &kind.read(value).unwrap());
        assert_eq!(check(Among::Interval("5", "50 ns"), ns, "50"), Ok(()));
        assert!(check(Among::Interval("5", "50"), ns, "51").unwrap_err().contains("51 is not among"));
        assert!(check(Among::Interval("5", "2 us"), ns, "50").unwrap_err().contains("not accepted"));
        assert!(check(Among::Interval("50", "5"), ns, "20").unwrap_err().contains("from the lower"));
        let words = Kind::Choice(&["hdd", "ssd", "nvme"]);
        assert_eq!(check(Among::Choices("hdd|ssd"), words, "ssd"), Ok(()));
        assert!(check(Among::Choices("hdd|ssd"), words, "nvme").is_err());
        assert!(check(Among::Interval("hdd", "ssd"), words, "ssd").unwrap_err().contains("only numbers"));
        assert!(check(Among::Choices("hdd|tape"), words, "hdd").is_err());
        assert!(!Among::Choices("hdd").varies() && Among::Choices("hdd|ssd").varies());
    }
}
