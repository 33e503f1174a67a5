//! Pages that were read or written, by the processor's accessed bits: cleared through `/proc/PID/clear_refs`, counted by
//! mapping in `/proc/PID/smaps`.

use crate::compare::PAGE;
use std::io;
use std::ops::Range;

/// A mapping with its pages in memory, and those accessed since the bits were cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) range: Range<u64>,
    pub(crate) name: String,
    pub(crate) resident: u64,
    pub(crate) accessed: u64,
}

/// Clears the bits of all pages of a process.
///
/// # Errors
/// When the kernel has no such file (`CONFIG_PROC_PAGE_MONITOR`), or does not let the tracker write to it.
pub(crate) fn clear(pid: i32) -> io::Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    // The first leaves the processor's copies of translations alone: what stays in them is used without its bit being set
    // again. The second (soft-dirty bits) drops these copies.
    std::fs::write(&path, "1").and_then(|()| std::fs::write(&path, "4"))
}

/// The mappings, in order of address.
///
/// # Errors
/// When the kernel does not tell.
pub(crate) fn read(pid: i32) -> io::Result<Vec<Seen>> {
    let text = std::fs::read(format!("/proc/{pid}/smaps"))?;
    let found = parsed(&String::from_utf8_lossy(&text));
    if found.iter().any(|s| s.resident > 0) || text.is_empty() {
        return Ok(found);
    }
    Err(io::Error::other("smaps has no resident pages"))
}

fn parsed(text: &str) -> Vec<Seen> {
    let mut found: Vec<Seen> = Vec::new();
    for line in text.lines() {
        let count = |rest: &str| {
            let kilobytes: Option<u64> = rest.trim().strip_suffix(" kB").and_then(|n| n.parse().ok());
            kilobytes.unwrap_or(0) * 1024 / PAGE as u64
        };
        if let (Some(rest), Some(last)) = (line.strip_prefix("Rss:"), found.last_mut()) {
            last.resident = count(rest);
        } else if let (Some(rest), Some(last)) = (line.strip_prefix("Referenced:"), found.last_mut()) {
            last.accessed = count(rest);
        } else {
            found.extend(head(line));
        }
    }
    found
}

fn head(line: &str) -> Option<Seen> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    // Rights, offset, device and number stand before the name, which may have spaces.
    let name = rest.splitn(5, ' ').nth(4).unwrap_or("").trim();
    let name = if name.is_empty() { "anonymous" } else { name };
    Some(Seen { range, name: name.to_string(), resident: 0, accessed: 0 })
}

/// The mapping that page number `page` is of; they are in order of address.
pub(crate) fn mapping_of(seen: &[Seen], page: u64) -> Option<&Seen> {
    let address = page * PAGE as u64;
    let at = seen.partition_point(|s| s.range.end <= address);
    seen.get(at).filter(|s| s.range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_pages_by_mapping() {
        let text = "\
55e000-560000 rw-p 00001000 08:01 42                         /a file/x (deleted)
Size:                  8 kB
Rss:                   8 kB
Referenced:            4 kB
VmFlags: rd wr mr mw me ac
560000-570000 rw-p 00000000 00:00 0 
Rss:                  64 kB
Referenced:            0 kB
";
        let found = parsed(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].resident, found[0].accessed),
            ("/a file/x (deleted)", 2, 1)
        );
        assert_eq!((found[1].name.as_str(), found[1].resident, found[1].accessed), ("anonymous", 16, 0));
        assert_eq!(mapping_of(&found, 0x560).map(|s| s.range.start), Some(0x560000));
        assert_eq!(mapping_of(&found, 0x570), None);
    }
}
