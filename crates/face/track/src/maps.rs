//! The mappings of a process, from `/proc/PID/maps`.

use std::ops::Range;

/// A writable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// Backed by a file, or shared: a page that was never seen may hold anything.
    pub(crate) backed: bool,
}

/// Writable mappings of ordinary memory, in order of address; a line that is none is passed over.
pub(crate) fn writable(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let (start, end) = range.split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    let name = fields.nth(3).unwrap_or("");
    // Devices, and what the kernel shows to every process, are not memory of the program.
    let foreign =
        (name.starts_with("/dev/") && !name.starts_with("/dev/shm/") && !name.starts_with("/dev/zero"))
            || ["[vvar]", "[vvar_vclock]", "[vsyscall]", "[vdso]"].contains(&name);
    let usable = rights.starts_with("rw") && !foreign && range.start < range.end;
    let backed = name.starts_with('/') || rights.ends_with('s');
    usable.then_some(Mapping { range, backed })
}

/// Where the kernel's own code for user space is: it has a system call instruction.
pub(crate) fn kernel_code(text: &str) -> Option<Range<u64>> {
    let line = text.lines().find(|l| l.ends_with("[vdso]"))?;
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_a_program_writes() {
        let text = "\
55d000-55e000 r--p 00000000 08:01 42 /usr/bin/x
55e000-560000 rw-p 00001000 08:01 42 /usr/bin/x (deleted)
600000-700000 rw-p 00000000 00:00 0 [heap]
700000-710000 rw-s 00000000 00:01 7 /dev/shm/pool
710000-720000 rw-s 00000000 00:05 9 /dev/dri/card0
720000-721000 ---p 00000000 00:00 0
7ff000-800000 r-xp 00000000 00:00 0 [vdso]
rubbish
zz-yy rw-p 0 0 0";
        let found = writable(text);
        let starts: Vec<(u64, bool)> = found.iter().map(|m| (m.range.start, m.backed)).collect();
        assert_eq!(starts, [(0x55e000, true), (0x600000, false), (0x700000, true)]);
        assert_eq!(kernel_code(text), Some(0x7ff000..0x800000));
    }
}
