//! What is mapped, as the kernel tells it, read without any memory of one's own.

/// A stretch of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping<'a> {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// As `r-xp`.
    pub(crate) rights: &'a str,
    pub(crate) name: &'a str,
    /// Where in its file it begins, and the file's number on its disk.
    pub(crate) offset: u64,
    pub(crate) inode: u64,
    /// Bytes that are in memory or swapped out, in KiB.
    pub(crate) there: u64,
    /// Two letters each, as `VmFlags` has them.
    pub(crate) flags: &'a str,
}

/// What a mapping is to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory of the process alone.
    Own,
    /// The process's own view of a file.
    File,
    /// The kernel's clock and its code.
    Kernel,
    /// Of every process at the same place.
    Everybodys,
    /// There is no image of it.
    Odd,
}

impl Mapping<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        self.to - self.from
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|one| one == flag)
    }

    pub(crate) fn kind(&self) -> Kind {
        // Sealed, a device's, without pages, huge pages of their own, watched by somebody, a shadow stack.
        const ODD: [&str; 8] = ["sl", "io", "pf", "ht", "um", "uw", "ui", "ss"];
        match self.name {
            "[vsyscall]" => return Kind::Everybodys,
            name if name == "[vdso]" || name.starts_with("[vvar") => {
                return if self.has("sl") { Kind::Odd } else { Kind::Kernel };
            }
            _ => {}
        }
        if ODD.iter().any(|flag| self.has(flag)) {
            return Kind::Odd;
        }
        let is_file = self.name.starts_with('/') && !self.name.starts_with("/dev/");
        if !self.rights.ends_with('p') {
            // What is shared and can only be read, as the C library does with tables, is as good as a copy.
            let is_table = is_file && !self.has("mw") && !self.rights.contains('w') && !self.flags.is_empty();
            return if is_table && !self.name.starts_with("/memfd:") { Kind::File } else { Kind::Odd };
        }
        match self.name {
            "" | "[heap]" | "[stack]" => Kind::Own,
            name if name.starts_with("[anon:") => Kind::Own,
            _ if is_file => Kind::File,
            _ => Kind::Odd,
        }
    }

    /// The rights as `mmap` takes them.
    pub(crate) fn protection(&self) -> u64 {
        let of = |letter, bit| if self.rights.contains(letter) { bit } else { 0 };
        of('r', 1) | of('w', 2) | of('x', 4)
    }
}

/// All mappings in `text`, the contents of `smaps` or of `maps`.
pub(crate) fn all(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    let mut lines = text.lines().peekable();
    std::iter::from_fn(move || {
        let mut mapping = loop {
            if let Some(mapping) = head(lines.next()?) {
                break mapping;
            }
        };
        while let Some(line) = lines.next_if(|line| head(line).is_none()) {
            more(&mut mapping, line);
        }
        Some(mapping)
    })
}

fn head(line: &str) -> Option<Mapping<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (from, to) = (number(from)?, number(to)?);
    // Rights, offset, device and inode, and after spaces the name, which may have some.
    let (rights, rest) = rest.split_once(' ')?;
    let mut fields = rest.splitn(4, ' ');
    let (offset, inode) = (number(fields.next()?)?, fields.nth(1)?.parse().ok()?);
    let name = fields.next().unwrap_or("").trim_start();
    Some(Mapping { from, to, rights, name, offset, inode, there: 0, flags: "" })
}

fn more<'a>(mapping: &mut Mapping<'a>, line: &'a str) {
    let Some((name, value)) = line.split_once(':') else { return };
    match name {
        "Rss" | "Swap" => {
            mapping.there += value.trim().split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        }
        "VmFlags" => mapping.flags = value.trim(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &str = "\
7fbd1db94000-7fbd1db96000 rw-p 00033000 fe:00 325835                     /lib/a file.so
Size:                  8 kB
Rss:                   4 kB
Swap:                  4 kB
VmFlags: rd wr mr mw me ac hg
7ffc03c57000-7ffc03c78000 rw-p 00000000 00:00 0                          [stack]
VmFlags: rd wr mr mw me gd ac
7ffc04000000-7ffc04001000 rw-s 00000000 00:00 0 
7ffc04002000-7ffc04003000 r--s 00000000 fe:00 3                          /lib/table
VmFlags: rd mr me ms
7ffc04004000-7ffc04005000 r--s 00000000 fe:00 3                          /lib/shared
VmFlags: rd mr mw me ms
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn mappings_are_read_with_what_the_kernel_says_of_them() {
        let read: Vec<_> = all(SOME).collect();
        assert_eq!((read[0].from, read[0].bytes(), read[0].there), (0x7fbd_1db9_4000, 0x2000, 8));
        assert_eq!((read[0].offset, read[0].inode), (0x33000, 325_835));
        assert_eq!((read[0].name, read[0].protection(), read[0].has("hg")), ("/lib/a file.so", 3, true));
        assert!(read[1].has("gd") && !read[1].has("d"));
        let kinds: Vec<_> = read.iter().map(Mapping::kind).collect();
        assert_eq!(kinds, [Kind::File, Kind::Own, Kind::Odd, Kind::File, Kind::Odd, Kind::Everybodys]);
    }

    #[test]
    fn this_process_has_nothing_odd() {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let odd: Vec<_> = all(&text).filter(|mapping| mapping.kind() == Kind::Odd).collect();
        assert_eq!(odd, []);
    }
}
