//! Which code the symbols of a file speak of: addr2line gives all code behind a function that function's name, what follows it
//! without a symbol, too.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Where functions begin, and how many bytes each has; none where that is not known.
#[derive(Debug, Default)]
pub(crate) struct Symbols(BTreeMap<u64, u64>);

impl Symbols {
    /// Those of a file, as far as nm finds any.
    pub(crate) fn of(path: &str) -> Symbols {
        let mut all = Symbols::default();
        for of_linking in [&[][..], &["-D"]] {
            let mut command = Command::new("nm");
            command.args(of_linking).args(["-S", "--defined-only", path]).stderr(Stdio::null());
            let Ok(done) = command.output() else { continue };
            all.read(&String::from_utf8_lossy(&done.stdout));
        }
        all
    }

    /// Takes lines of nm: an address, the size where it is known, and the kind.
    fn read(&mut self, text: &str) {
        let number = |word: &str| u64::from_str_radix(word, 16).ok();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(first), Some(second)) = (words.next().and_then(number), words.next()) else { continue };
            let (bytes, kind) = match words.next() {
                Some(kind) if second.len() > 1 => (number(second), kind),
                Some(_) | None => (Some(0), second),
            };
            if let (Some(bytes), "T" | "t" | "W" | "w" | "i" | "u") = (bytes, kind) {
                self.0.entry(first).and_modify(|known| *known = bytes.max(*known)).or_insert(bytes);
            }
        }
    }

    /// Where the last function begins that does so before code.
    pub(crate) fn begin_of(&self, address: u64) -> Option<u64> {
        self.0.range(..=address).next_back().map(|(first, _)| *first)
    }

    /// Whether code is of the last function that begins before it, as far as is known.
    pub(crate) fn have(&self, address: u64) -> bool {
        let last = self.0.range(..=address).next_back();
        last.is_none_or(|(first, bytes)| *bytes == 0 || address - first < *bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_behind_a_functions_end_is_not_the_functions() {
        let mut symbols = Symbols::default();
        symbols.read(
            "0000000000001109 0000000000000012 T store_it\n000000000000111b 0000000000000004 T add\n\
             000000000000111b 0000000000000004 t other_name\n0000000000001200 t without_a_size\n\
             0000000000001130 0000000000000040 D data\n                 U write@GLIBC_2.2.5\nno symbols\n",
        );
        let inside = [0x1109, 0x111a, 0x111b, 0x111e, 0x1200, 0x1234, 0x10];
        assert!(inside.into_iter().all(|address| symbols.have(address)), "{symbols:?}");
        assert!(!symbols.have(0x111f) && !symbols.have(0x1131), "{symbols:?}");
        assert!(Symbols::default().have(0x1109), "nothing is known");
        assert_eq!([0x1000, 0x111e].map(|address| symbols.begin_of(address)), [None, Some(0x111b)]);
    }
}
