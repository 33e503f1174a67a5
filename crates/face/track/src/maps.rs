//! The mappings of a process, from `/proc/PID/maps`.

use crate::compare::PAGE;
use std::ops::Range;

/// A mapping of ordinary memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// The program may write to it now.
    pub(crate) writable: bool,
    /// It may, or might when the mappings were read before: it may have made read-only what it wrote.
    pub(crate) was_writable: bool,
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
    /// Whether it may have been written since its mappings were read before. Memory that nobody shares may have been writable
    /// in between: of such, only pages that are not the file's are looked at.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.was_writable || self.shared.is_none()
    }

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

/// Mappings of ordinary memory, in order of address, after those of `before`; a line that is none is passed over.
pub(crate) fn ordinary(text: &str, before: &[Mapping]) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = text.lines().filter_map(mapping).collect();
    for mapping in &mut found {
        let at = before.partition_point(|b| b.range.end <= mapping.range.start);
        let mut same = before[at..].iter().take_while(|b| b.range.start < mapping.range.end);
        mapping.was_writable = mapping.writable || same.any(|b| b.writable);
    }
    found
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
    let usable = !foreign && range.start < range.end;
    let writable = rights.starts_with("rw");
    let backed = name.starts_with('/') || rights.ends_with('s');
    let (major, minor) = device.split_once(':')?;
    let device = u64::from_str_radix(major, 16).ok()? << 32 | u64::from_str_radix(minor, 16).ok()?;
    let object = Object { device, number, system_v: name.starts_with("/SYSV") };
    let shared = rights.ends_with('s').then_some((object, offset / PAGE as u64));
    usable.then_some(Mapping { range, writable, was_writable: writable, backed, shared })
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
    fn takes_what_a_program_may_have_written() {
        let text = "\
55d000-55e000 r--p 00000000 08:01 42 /usr/bin/x
55e000-560000 rw-p 00001000 08:01 42 /usr/bin/x (deleted)
600000-700000 rw-p 00000000 00:00 0 [heap]
700000-710000 rw-s 00003000 00:01 7 /dev/shm/pool
710000-720000 rw-s 00000000 00:05 9 /dev/dri/card0
720000-721000 ---p 00000000 00:00 0
721000-722000 r--s 00000000 00:01 7 /dev/shm/pool
7ff000-800000 r-xp 00000000 00:00 0 [vdso]
rubbish
zz-yy rw-p 0 0 0";
        let found = ordinary(text, &[]);
        let starts = |of: &dyn Fn(&Mapping) -> bool| -> Vec<u64> {
            found.iter().filter(|m| of(m)).map(|m| m.range.start).collect()
        };
        assert_eq!(starts(&|m| m.writable), [0x55e000, 0x600000, 0x700000]);
        assert_eq!(starts(&|m| m.writable && m.backed), [0x55e000, 0x700000]);
        assert_eq!(starts(&|m| !m.is_looked_at()), [0x721000]);
        let shared = |page| mapping_of(&found, page).and_then(|m| m.shared_page(page)).map(|s| s.page);
        assert_eq!([shared(0x702), shared(0x601), shared(0x710)], [Some(5), None, None]);
        assert_eq!(kernel_code(text), Some(0x7ff000..0x800000));
    }

    #[test]
    fn what_was_writable_before_is_looked_at_once_more() {
        let before = ordinary("1000-3000 rw-s 0 0:1 7 /dev/shm/x\n3000-4000 r--s 0 0:1 8 /dev/shm/y", &[]);
        let now =
            ordinary("1000-2000 rw-s 0 0:1 7 /dev/shm/x\n2000-4000 r--s 1000 0:1 7 /dev/shm/x", &before);
        assert_eq!(now.iter().map(Mapping::is_looked_at).collect::<Vec<_>>(), [true, true]);
        assert!(!now[1].writable && !ordinary("2000-4000 r--s 1000 0:1 7 /x", &now[1..])[0].is_looked_at());
    }
}
