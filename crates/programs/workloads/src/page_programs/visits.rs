//! Recorded visits of pages, as `python -m coreplane.visits` writes them.

use crate::pages::{varint, zigzag};

const MAGIC: &str = "COREPLANE-VISITS 1";
/// Pages of a recording, at most.
const MOST_PAGES: u64 = 1 << 26;

/// A visit of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageVisit {
    /// The page; pages from [`Visits::grown`] on do not grow with the operations.
    pub page: u32,
    /// Lines touched, 1 to 64.
    pub lines: u8,
    /// Whether it wrote.
    pub write: bool,
}

/// Operations of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Their name.
    pub name: String,
    /// How many.
    pub operations: u64,
    /// The program's time for each visit, in ns.
    pub work_ns: u64,
    /// What they visited.
    pub visits: Vec<PageVisit>,
}

/// A recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visits {
    /// Pages that operations made the program touch, numbered by first touch.
    pub grown: u32,
    /// Pages that it had touched before.
    pub fixed: u32,
    /// Operations in their order.
    pub phases: Vec<Phase>,
}

impl Visits {
    /// From a file's bytes.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(bytes: &[u8]) -> Result<Visits, String> {
        let end = bytes.windows(2).take(1 << 16).position(|w| w == b"\n\n");
        let end = end.ok_or("the head of a recording of visits ends with an empty line; there is none")?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "the head is not text")?;
        let mut rest = &bytes[end + 2..];
        let mut lines = head.lines();
        if lines.next() != Some(MAGIC) {
            return Err(format!("line 1: a recording of visits begins with \"{MAGIC}\""));
        }
        let sizes = lines.next().and_then(|l| l.split_once(' '));
        let sizes = sizes.and_then(|(g, f)| Some((g.parse::<u64>().ok()?, f.parse::<u64>().ok()?)));
        let (grown, fixed) = sizes
            .filter(|(g, f)| (1..=MOST_PAGES).contains(&(g.saturating_add(*f))))
            .ok_or(format!("line 2: give pages grown and fixed, together 1 to {MOST_PAGES}"))?;
        let mut phases = Vec::new();
        for (nth, line) in lines.enumerate() {
            let (name, operations, count, work_ns) = phase_head(line)
                .ok_or(format!("line {}: give a name, operations, visits, and ns for each", nth + 3))?;
            let visits = visits(&mut rest, count, grown + fixed).map_err(|e| format!("phase {name}: {e}"))?;
            phases.push(Phase { name, operations, work_ns, visits });
        }
        match (rest.is_empty(), phases.is_empty()) {
            (false, _) => Err(format!("{} bytes behind the last phase", rest.len())),
            (_, true) => Err("no phase".into()),
            _ => Ok(Visits { grown: grown as u32, fixed: fixed as u32, phases }),
        }
    }
}

fn phase_head(line: &str) -> Option<(String, u64, usize, u64)> {
    let mut words = line.split(' ');
    let name = words.next()?.to_string();
    let operations = words.next()?.parse().ok().filter(|n| (1..=1_000_000_000).contains(n))?;
    let (visits, work) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (words.next().is_none() && work <= 1_000_000_000).then_some((name, operations, visits, work))
}

fn visits(rest: &mut &[u8], count: usize, bound: u64) -> Result<Vec<PageVisit>, String> {
    // A visit takes two bytes at least: a count that lies allocates no more than the file's length.
    let mut all = Vec::with_capacity(count.min(rest.len() / 2));
    let mut last: i64 = 0;
    for nth in 0..count {
        let early = || format!("visit {nth} of {count}: the file ends too early");
        let value = varint(rest).ok_or_else(early)?;
        let (lines, after) = rest.split_first().ok_or_else(early)?;
        *rest = after;
        last += zigzag(value >> 1);
        let page = u64::try_from(last).ok().filter(|p| *p < bound);
        let page = page.ok_or_else(|| format!("visit {nth}: page {last} of {bound}"))? as u32;
        let lines =
            (*lines < 64).then_some(lines + 1).ok_or_else(|| format!("visit {nth}: {lines} lines"))?;
        all.push(PageVisit { page, lines, write: value & 1 == 1 });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    const SMALL: &[u8] = b"COREPLANE-VISITS 1\n3 2\nset 2 2 50\nget 1 1 7\n\n\x05\x00\x08\x3f\x00\x00";

    #[test]
    fn what_was_written_is_read() {
        let v = Visits::parse(SMALL).unwrap();
        assert_eq!((v.grown, v.fixed, v.phases.len()), (3, 2, 2));
        let [a, b] = [v.phases[0].visits[0], v.phases[0].visits[1]];
        assert_eq!(a, PageVisit { page: 1, lines: 1, write: true });
        assert_eq!(b, PageVisit { page: 3, lines: 64, write: false });
    }

    #[test]
    fn broken_files_are_told_and_never_panic() {
        let wrong = |bytes: &[u8]| Visits::parse(bytes).unwrap_err();
        assert!(wrong(b"x").contains("empty line"));
        assert!(wrong(b"no\n\n").starts_with("line 1: a recording of visits begins"));
        assert!(wrong(b"COREPLANE-VISITS 1\n0 0\n\n").starts_with("line 2"));
        assert!(wrong(b"COREPLANE-VISITS 1\n3 2\nset 2\n\n").starts_with("line 3"));
        assert!(
            wrong(&SMALL[..SMALL.len() - 1]).contains("phase get: visit 0 of 1: the file ends too early")
        );
        assert!(wrong(&[SMALL, b"x"].concat()).contains("1 bytes behind"));
        let mut random = Random::new(1, 0);
        for _ in 0..2000 {
            let mut bytes = SMALL.to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next_u64() as u8;
            }
            _ = Visits::parse(&bytes);
        }
    }
}
