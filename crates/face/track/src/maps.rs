//! The mappings of a process, from `/proc/PID/maps`.

use crate::compare::PAGE;
use std::ops::Range;

/// A writable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// Backed by a file, or shared: a page that was never seen may hold anything.
    pub(crate) backed: bool,
    /// What is mapped, and from which page on, where others see what is written.
    pub(crate) shared: Option<(Object, u64)>,
}

/// Memory that processes share: a file, or what the kernel keeps as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    device: u64,
    number: u64,
    /// System V's shared memory has numbers of its own.
    system_v: bool,
}

/// A page of memory that processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SharedPage {
    pub(crate) object: Object,
    pub(crate) page: u64,
}

impl Mapping {
    /// Which shared page is at page number `page`, if any is.
    pub(crate) fn shared_page(&self, page: u64) -> Option<SharedPage> {
        let (object, first) = self.shared?;
        Some(SharedPage { object, page: first + page - self.range.start / PAGE as u64 })
    }
}

/// The mapping that page number `page` is of; they are in order of address.
pub(crate) fn mapping_of(mappings: &[Mapping], page: u64) -> Option<&Mapping> {
    let address = page * PAGE as u64;
    let at = mappings.partition_point(|m| m.range.end <= address);
    mappings.get(at).filter(|m| m.range.contains(&address))
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
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (device, number) = (fields.next()?, fields.next()?.parse().ok()?);
    let name = fields.next().unwrap_or("");
    // Devices, and what the kernel shows to every process, are not memory of the program.
    let foreign =
        (name.starts_with("/dev/") && !name.starts_with("/dev/shm/") && !name.starts_with("/dev/zero"))
            || ["[vvar]", "[vvar_vclock]", "[vsyscall]", "[vdso]"].contains(&name);
    let usable = rights.starts_with("rw") && !foreign && range.start < range.end;
    let backed = name.starts_with('/') || rights.ends_with('s');
    let (major, minor) = device.split_once(':')?;
    let device = u64::from_str_radix(major, 16).ok()? << 32 | u64::from_str_radix(minor, 16).ok()?;
    let object = Object { device, number, system_v: name.starts_with("/SYSV") };
    let shared = rights.ends_with('s').then_some((object, offset / PAGE as u64));
    usable.then_some(Mapping { range, backed, shared })
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
700000-710000 rw-s 00003000 00:01 7 /dev/shm/pool
710000-720000 rw-s 00000000 00:05 9 /dev/dri/card0
720000-721000 ---p 00000000 00:00 0
7ff000-800000 r-xp 00000000 00:00 0 [vdso]
rubbish
zz-yy rw-p 0 0 0";
        let found = writable(text);
        let starts: Vec<(u64, bool)> = found.iter().map(|m| (m.range.start, m.backed)).collect();
        assert_eq!(starts, [(0x55e000, true), (0x600000, false), (0x700000, true)]);
        let shared = |page| mapping_of(&found, page).and_then(|m| m.shared_page(page)).map(|s| s.page);
        assert_eq!([shared(0x702), shared(0x601), shared(0x710)], [Some(5), None, None]);
        assert_eq!(kernel_code(text), Some(0x7ff000..0x800000));
    }
}
