//! Names that are not UTF-8: a byte that is no part of a character stands as one of Unicode's last private characters, so that
//! every name is a text of its own, and comes back byte by byte.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The character of a byte is so much further: of 0x80 to 0xFF, U+10FE80 to U+10FEFF.
const FROM: u32 = 0x10_FE00;

/// The byte that a character stands for.
fn byte(c: char) -> Option<u8> {
    (u32::from(c)).checked_sub(FROM).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| *byte >= 0x80)
}

/// The text of bytes.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().len() == bytes.len() {
            return Cow::Borrowed(chunk.valid());
        }
        text += chunk.valid();
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(FROM + u32::from(*byte))));
    }
    Cow::Owned(text)
}

/// Whether a name is UTF-8.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| byte(c).is_some())
}

/// A path without its folders.
pub fn own_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The same, or the whole path where another of `others` has that name too.
pub fn name_among<'p, 'o>(path: &'p str, others: impl IntoIterator<Item = &'o str>) -> &'p str {
    let is_taken = |other: &str| other != path && own_name(other) == own_name(path);
    if others.into_iter().any(is_taken) { path } else { own_name(path) }
}

/// The shortest end of each path that no other has.
pub fn endings<'p>(paths: impl IntoIterator<Item = &'p str>) -> BTreeMap<String, String> {
    let mut open: BTreeSet<&str> = paths.into_iter().collect();
    let mut all = BTreeMap::new();
    let mut folders = 0;
    while !open.is_empty() {
        let end =
            |path: &'p str| path.rmatch_indices('/').nth(folders).map_or(path, |(at, _)| &path[at + 1..]);
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        open.iter().for_each(|path| *times.entry(end(path)).or_default() += 1);
        open.retain(|path| {
            let end = end(path);
            let is_shared = times[end] > 1 && end != *path;
            if !is_shared {
                all.insert((*path).into(), end.into());
            }
            is_shared
        });
        folders += 1;
    }
    all
}

/// A name as it is shown: `\xe9` for a byte that is no part of a character, `\n` for a line break, `\x1b` for others that move
/// what is printed.
pub fn shown(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match byte(c).or_else(|| u8::try_from(c).ok().filter(u8::is_ascii_control)) {
            Some(b'\n') => all.push_str("\\n"),
            Some(byte) => _ = write!(all, "\\x{byte:02x}"),
            None => all.push(c),
        }
    }
    all
}

/// The same of one that the system has.
pub fn shown_path(path: &Path) -> String {
    shown(&text_of(path.as_os_str().as_bytes()))
}

/// A name as the system has it.
pub fn path_of(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    for c in text.chars() {
        match byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_the_shortest_end_that_no_other_has() {
        let paths = [
            "/d/pg_xact/0000",
            "/d/sub/0000",
            "/e/sub/0000",
            "/d/log",
            "sub/0000",
            "/log/x",
            "x",
            "",
            "/d/log",
        ];
        let ends = endings(paths);
        let told: Vec<&str> = paths.iter().map(|path| ends[*path].as_str()).collect();
        assert_eq!(
            told,
            ["pg_xact/0000", "d/sub/0000", "e/sub/0000", "log", "sub/0000", "log/x", "x", "", "log"]
        );
    }

    #[test]
    fn names_come_back_byte_by_byte_whatever_they_are() {
        let names: [&[u8]; 5] = [b"caf\xe9.db", b"\xff\xfe", "caf\u{e9}".as_bytes(), b"a\\xe9", b"\xe2\x82"];
        for name in names {
            let text = text_of(name);
            assert_eq!(path_of(&text).as_os_str().as_bytes(), name);
            assert_eq!(is_plain(&text), std::str::from_utf8(name).is_ok());
        }
        assert_eq!(shown(&text_of(b"/d/caf\xe9.db")), "/d/caf\\xe9.db");
        assert_eq!(shown("a\nb\x1b[2J"), "a\\nb\\x1b[2J");
        assert_ne!(text_of(b"a\xe9"), text_of(b"a\\xe9"));
    }
}
