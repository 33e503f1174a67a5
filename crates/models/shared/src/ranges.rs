//! Ranges of lines that hardware keeps coherent between hosts.

use std::ops::RangeInclusive;

/// Lines that hardware keeps coherent, as `shared.coherent_ranges` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoherentRanges(Vec<RangeInclusive<u64>>);

/// The word for no range.
const NONE: &str = "none";

impl CoherentRanges {
    /// Reads `none`, or ranges such as `0-7,16-23`, of lines from 0 to `lines` - 1.
    ///
    /// # Errors
    /// What is wrong, and what is accepted.
    pub fn read(text: &str, lines: u64) -> Result<CoherentRanges, String> {
        if text.trim() == NONE {
            return Ok(CoherentRanges::default());
        }
        let mut ranges = text.split(',').map(range).collect::<Result<Vec<_>, _>>()?;
        ranges.sort_by_key(|range| *range.start());
        if let Some(range) = ranges.iter().find(|range| *range.end() >= lines) {
            return Err(format!(
                "{} goes past the memory, which has {lines} lines (shared.memory_bytes)",
                shown(range)
            ));
        }
        match ranges.windows(2).find(|pair| pair[0].end() >= pair[1].start()) {
            Some(pair) => Err(format!("{} and {} overlap", shown(&pair[0]), shown(&pair[1]))),
            None => Ok(CoherentRanges(ranges)),
        }
    }

    /// Whether hardware keeps a line coherent.
    pub fn has(&self, line: u64) -> bool {
        self.0.iter().any(|range| range.contains(&line))
    }
}

fn shown(range: &RangeInclusive<u64>) -> String {
    format!("{}-{}", range.start(), range.end())
}

fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let wrong =
        || format!("\"{}\" is not accepted; give none, or ranges of lines, such as 0-7,16-23", text.trim());
    let number = |text: &str| text.trim().parse().ok().filter(|_| !text.trim().starts_with('+'));
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_of_the_memory_and_apart_from_each_other() {
        let read = |text: &str| CoherentRanges::read(text, 64);
        let two = read("16-23, 0-7").unwrap();
        let coherent: Vec<u64> = (0..64).filter(|line| two.has(*line)).collect();
        assert_eq!(coherent, (0..8).chain(16..24).collect::<Vec<u64>>());
        assert!(!(0..64).any(|line| read("none").unwrap().has(line)));
        assert!(read("63-63").unwrap().has(63));
        assert_eq!(read("0-7,7-9").unwrap_err(), "0-7 and 7-9 overlap");
        assert_eq!(read("8-9,0-63").unwrap_err(), "0-63 and 8-9 overlap");
        assert!(read("0-64").unwrap_err().contains("0-64 goes past the memory, which has 64 lines"));
        for bad in ["", "8", "7-0", "a-b", "0-7,", "-1-3", "+1-3"] {
            assert!(read(bad).unwrap_err().contains("give none, or ranges of lines, such as"), "{bad}");
        }
    }
}
