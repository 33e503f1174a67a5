//! Recorded page streams: which pages of a database each query read, as `python -m coreplane.tpch` writes them.

use std::sync::Arc;

/// The stream that comes with the project: TPC-H at scale factor 0.01 on SQLite 3.54 with ten pages of its own.
const SMALL: &[u8] = include_bytes!("../data/tpch-0.01.pages");
/// The other: the same queries at scale factor 0.1 on DuckDB 1.2.2, whose columns are compressed, blocks as a query reads them.
const COLUMNS: &[u8] = include_bytes!("../data/tpch-columns-0.1.pages");
const MAGIC: &str = "COREPLANE-PAGES 1";
/// Pages of a stream's database, at most.
const MOST_PAGES: u32 = 1 << 30;

/// A query's references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its name.
    pub name: String,
    /// Processor time for each reference, in ns.
    pub work_ns: u64,
    /// The pages that it read, in order.
    pub pages: Vec<u32>,
}

/// The page streams of some queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageStream {
    /// Pages of the database.
    pub pages: u32,
    /// The queries.
    pub queries: Vec<Query>,
}

impl PageStream {
    /// The one that comes with the project.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn small() -> Arc<PageStream> {
        Arc::new(PageStream::parse(SMALL).expect("a test reads the stream that comes with the project"))
    }

    /// The one of a store of columns that comes with the project.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn columns() -> Arc<PageStream> {
        Arc::new(PageStream::parse(COLUMNS).expect("a test reads the stream that comes with the project"))
    }

    /// From a file's bytes.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(bytes: &[u8]) -> Result<PageStream, String> {
        let mut rest = bytes;
        let mut number = 0;
        let mut line = || -> Result<&str, String> {
            number += 1;
            let end = rest.iter().take(200).position(|b| *b == b'\n');
            let end = end.ok_or_else(|| format!("line {number}: no line of the head of a page stream"))?;
            let text = std::str::from_utf8(&rest[..end]).map_err(|_| format!("line {number}: not text"))?;
            rest = &rest[end + 1..];
            Ok(text)
        };
        if line()? != MAGIC {
            return Err(format!("line 1: a page stream begins with \"{MAGIC}\""));
        }
        let pages = line()?.parse().ok().filter(|p| (1..=MOST_PAGES).contains(p));
        let pages: u32 =
            pages.ok_or_else(|| format!("line 2: give the number of pages, 1 to {MOST_PAGES}"))?;
        let mut heads = Vec::new();
        loop {
            let text = line()?;
            if text.is_empty() {
                break;
            }
            let head = head(text).ok_or_else(|| {
                format!("line {}: give a name, references, and ns for each", heads.len() + 3)
            })?;
            heads.push(head);
        }
        let mut queries = Vec::new();
        for (name, references, work_ns) in heads {
            let pages = numbers(&mut rest, references, pages).map_err(|e| format!("query {name}: {e}"))?;
            queries.push(Query { name, work_ns, pages });
        }
        match (rest.is_empty(), queries.is_empty()) {
            (false, _) => Err(format!("{} bytes behind the last query", rest.len())),
            (_, true) => Err("no query".into()),
            _ => Ok(PageStream { pages, queries }),
        }
    }
}

fn head(text: &str) -> Option<(String, usize, u64)> {
    let mut words = text.split(' ');
    let (name, references, work) = (words.next()?, words.next()?, words.next()?);
    let work: u64 = work.parse().ok().filter(|ns| *ns <= 1_000_000_000)?;
    words.next().is_none().then_some(())?;
    Some((name.to_string(), references.parse().ok()?, work))
}

/// `count` zigzag differences in LEB128, each page below `bound`.
fn numbers(rest: &mut &[u8], count: usize, bound: u32) -> Result<Vec<u32>, String> {
    // A difference takes a byte at least: a count that lies allocates no more than the file's length.
    let mut pages = Vec::with_capacity(count.min(rest.len()));
    let mut last: i64 = 0;
    for nth in 0..count {
        let value =
            varint(rest).ok_or_else(|| format!("reference {nth} of {count}: the file ends too early"))?;
        last += zigzag(value);
        let page = u32::try_from(last).ok().filter(|p| *p < bound);
        pages.push(page.ok_or_else(|| format!("reference {nth}: page {last} of {bound}"))?);
    }
    Ok(pages)
}

/// A difference, its sign in the lowest bit.
pub(crate) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub(crate) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    #[test]
    fn the_streams_that_come_with_the_project_have_22_queries() {
        for s in [PageStream::small(), PageStream::columns()] {
            assert_eq!(s.queries.len(), 22);
            assert!(s.queries.iter().all(|q| !q.pages.is_empty() && q.work_ns > 0));
        }
    }

    #[test]
    fn broken_files_are_told_and_never_panic() {
        let wrong = |bytes: &[u8]| PageStream::parse(bytes).unwrap_err();
        assert_eq!(wrong(b"no\n"), "line 1: a page stream begins with \"COREPLANE-PAGES 1\"");
        assert_eq!(wrong(b"COREPLANE-PAGES 1\n0\n"), "line 2: give the number of pages, 1 to 1073741824");
        let one = |text: &str| [b"COREPLANE-PAGES 1\n9\n" as &[u8], text.as_bytes()].concat();
        assert_eq!(wrong(&one("Q1 2\n\n")), "line 3: give a name, references, and ns for each");
        assert_eq!(wrong(&one("Q1 2 5\n\n\x04")), "query Q1: reference 1 of 2: the file ends too early");
        assert_eq!(wrong(&one("Q1 1 5\n\n\x14")), "query Q1: reference 0: page 10 of 9");
        assert_eq!(wrong(&one("Q1 1 5\n\n\x04\x04")), "1 bytes behind the last query");
        let mut random = Random::new(1, 0);
        for _ in 0..300 {
            let mut bytes = SMALL[..2000].to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next_u64() as u8;
            }
            _ = PageStream::parse(&bytes);
        }
    }
}
