//! Source places of a recording's code offsets, from addr2line.

use crate::record_symbols::Symbols;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use trace::hosts::CALLED;
use trace::{About, Object};

/// Names all locations that addr2line knows. Code offsets that it does not know stay numbers; of other locations the file is
/// named, and the function or the address.
pub(crate) fn name(about: &mut About, locations: &[u32]) {
    name_by(about, locations, place);
}

/// The same, with where a function was called into which another one was expanded in line.
pub(crate) fn name_with_callers(about: &mut About, locations: &[u32]) {
    name_by(about, locations, named_with_caller);
}

fn named_with_caller(frames: &[Frame<'_>]) -> Option<String> {
    let (own, rest) = innermost(frames)?;
    let caller = innermost(rest).and_then(|(caller, _)| spelled(caller));
    Some(spelled(own)? + &caller.map(|caller| format!("{CALLED}{caller}")).unwrap_or_default())
}

/// What frames are called, the innermost first: each a function and its place.
type Named = fn(&[Frame<'_>]) -> Option<String>;

/// A function, and its place as addr2line has it.
type Frame<'a> = (&'a str, &'a str);

fn name_by(about: &mut About, locations: &[u32], named: Named) {
    let mut objects: Vec<Object> = about.objects.clone();
    objects.push(about.program.clone());
    objects.retain(|o| !o.path.is_empty());
    objects.sort_by_key(|o| o.first);
    for (index, object) in objects.iter().enumerate() {
        let end = objects.get(index + 1).map_or(u32::MAX, |next| next.first);
        let own = locations.iter().copied().filter(|l| (object.first..end).contains(l));
        // A return address is after the call: one byte before is in it.
        let address = |l: u32| u64::from(l - object.first).wrapping_add(object.bias).wrapping_sub(1);
        let own: Vec<(u32, u64)> = own.map(|l| (l, address(l))).collect();
        name_in(about, &object.path, &own, named, |_, _| None);
    }
    for (path, places) in std::mem::take(&mut about.code) {
        let own: Vec<(u32, u64)> = locations.iter().filter_map(|l| Some((*l, *places.get(l)?))).collect();
        let file = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = OnceCell::new();
        let symbols = || known.get_or_init(|| Symbols::of(&path));
        name_in(about, &path, &own, named, |function, address| {
            Some(if function.starts_with('?') || !symbols().have(address) {
                format!("{file}+{address:#x}")
            } else {
                format!("{file} {function}")
            })
        });
        let begin_of = |address| symbols().begin_of(address);
        tell_apart(about, &file, &own, begin_of);
    }
    shorten(about, locations);
}

/// Places of one file of which no line is known, and that are in one function, are told apart by where they are in it.
fn tell_apart(about: &mut About, file: &str, places: &[(u32, u64)], begin_of: impl Fn(u64) -> Option<u64>) {
    let without_line = format!("{file} ");
    let mut functions: BTreeMap<String, Vec<(u32, u64)>> = BTreeMap::new();
    for (location, address) in places {
        let name = about.locations.get(location).filter(|name| name.starts_with(&without_line));
        if let Some(name) = name {
            functions.entry(name.clone()).or_default().push((*location, *address));
        }
    }
    for (name, places) in functions {
        if places.iter().all(|(_, address)| *address == places[0].1) {
            continue;
        }
        for (location, address) in places {
            let within = begin_of(address).map(|begin| format!("{name}+{:#x}", address - begin));
            about.locations.insert(location, within.unwrap_or_else(|| format!("{file}+{address:#x}")));
        }
    }
}

/// Files stand under their own names; of several of one name, each with as many of its folders as tell it from the others.
fn shorten(about: &mut About, locations: &[u32]) {
    let own = || locations.iter().filter_map(|location| Some((*location, about.locations.get(location)?)));
    let paths: BTreeSet<&str> = own()
        .flat_map(|(_, place)| place.split(CALLED))
        .filter_map(|frame| Some(path_of(frame)?.0))
        .collect();
    let shorter: BTreeMap<&str, String> = paths.iter().map(|path| (*path, apart(path, &paths))).collect();
    let frame = |frame: &str| match path_of(frame) {
        Some((path, rest)) => format!("{}{rest}", shorter[path]),
        None => frame.into(),
    };
    let named: Vec<(u32, String)> = own()
        .map(|(l, place)| (l, place.split(CALLED).map(frame).collect::<Vec<_>>().join(CALLED)))
        .collect();
    about.locations.extend(named);
}

/// A path at the beginning of a place, and what follows it, the line first.
fn path_of(frame: &str) -> Option<(&str, &str)> {
    let colons = frame.match_indices(':').map(|(at, _)| at);
    let is_line = |at: &usize| frame[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let end = colons.into_iter().find(is_line).filter(|end| frame[..*end].contains('/'))?;
    Some(frame.split_at(end))
}

/// The end of `path` that no other of `paths` has.
fn apart(path: &str, paths: &BTreeSet<&str>) -> String {
    let ends = path.rmatch_indices('/').map(|(at, _)| &path[at..]);
    let is_alone = |end: &&str| paths.iter().filter(|other| other.ends_with(end)).count() == 1;
    ends.into_iter().find(is_alone).map_or(path, |end| &end[1..]).into()
}

/// Names the locations of one file, given with their addresses there; where no line is known as `unknown` says.
fn name_in(
    about: &mut About,
    path: &str,
    places: &[(u32, u64)],
    named: Named,
    unknown: impl Fn(&str, u64) -> Option<String>,
) {
    places.chunks(2000).for_each(|chunk| name_some(about, path, chunk, named, &unknown));
}

fn name_some(
    about: &mut About,
    path: &str,
    places: &[(u32, u64)],
    named: Named,
    unknown: &impl Fn(&str, u64) -> Option<String>,
) {
    let mut command = Command::new("addr2line");
    command.args(["-a", "-i", "-f", "-C", "-e", path]).stderr(Stdio::null());
    let Ok(done) = command.args(places.iter().map(|(_, address)| format!("{address:x}"))).output() else {
        return;
    };
    let text = String::from_utf8_lossy(&done.stdout);
    // For each address a line with it, and for each frame, the innermost first, a function and a place.
    let mut lines = text.lines().peekable();
    for (location, address) in places {
        if lines.next().is_none() {
            return;
        }
        let mut frames = Vec::new();
        while let Some(function) = lines.next_if(|line| !line.starts_with("0x")) {
            frames.push((function, lines.next().unwrap_or("?")));
        }
        let function = frames.first().map_or("?", |(function, _)| *function);
        about.sources.extend(frames.iter().filter_map(|(_, at)| source(at)));
        if let Some(place) = named(&frames).or_else(|| unknown(function, *address)) {
            about.locations.insert(*location, place);
        }
    }
}

/// The whole path of a place's file, where it is of the program.
fn source(at: &str) -> Option<String> {
    let (path, _) = at.rsplit_once(':')?;
    (path.starts_with('/') && !is_of_library(at)).then(|| path.to_string())
}

fn place(frames: &[Frame<'_>]) -> Option<String> {
    spelled(innermost(frames)?.0)
}

/// The innermost frame that is known and in no library (`is_of_library`), and those around it.
fn innermost<'a, 'b>(frames: &'b [Frame<'a>]) -> Option<(Frame<'a>, &'b [Frame<'a>])> {
    let is_known = |(_, at): &(&str, &str)| !at.starts_with('?') && !at.ends_with(":?");
    let is_own = |frame: &(&str, &str)| is_known(frame) && !is_of_library(frame.1);
    let at = frames.iter().position(is_own).or_else(|| frames.iter().position(is_known))?;
    Some((frames[at], &frames[at + 1..]))
}

fn spelled((function, at): Frame<'_>) -> Option<String> {
    let at = at.split(" (discriminator").next().unwrap_or(at);
    Some(format!("{at} {function}"))
}

/// Whether a place is in a header of the compiler, in the libraries of C++ or Rust, or in a crate that makes calls of the kernel
/// functions, and no more.
fn is_of_library(at: &str) -> bool {
    const CRATES: [&str; 5] = ["/libc-", "/rustix-", "/nix-", "/memmap2-", "/fs-err-"];
    let file = at.split(':').next().unwrap_or(at);
    let is_of_rust = ["/rustc/", "/rustc-", "/rustlib/src/rust/"]
        .iter()
        .any(|folder| file.split_once(folder).is_some_and(|(_, rest)| rest.contains("library/")));
    file.ends_with("intrin.h")
        || file.contains("/include/c++/")
        || ["/lib/gcc/", "/lib/clang/"].iter().any(|f| file.contains(f)) && file.contains("/include")
        || is_of_rust
        || file.starts_with("/rust/deps/")
        || file
            .split_once("/registry/src/")
            .is_some_and(|(_, file)| CRATES.iter().any(|name| file.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let given = [
            (1, "/srv/a/log.c:5 put"),
            (2, "/srv/b/log.c:7 ns::get(int) < /srv/x y/main.cpp:3 main"),
            (3, "/srv/a/log.c:9 put"),
            (4, "libz.so deflate"),
            (5, "kv.c:5 put"),
            (6, "./src/put.c:3 one"),
        ];
        let mut about = About::default();
        about.locations.extend(given.map(|(location, place)| (location, place.to_string())));
        shorten(&mut about, &[1, 2, 3, 4, 5, 6]);
        let named: Vec<&str> = about.locations.values().map(String::as_str).collect();
        let expected = [
            "a/log.c:5 put",
            "b/log.c:7 ns::get(int) < main.cpp:3 main",
            "a/log.c:9 put",
            "libz.so deflate",
            "kv.c:5 put",
            "put.c:3 one",
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn places_of_one_function_without_lines_are_told_apart() {
        let given = [
            (1, "libz.so deflate"),
            (2, "libz.so deflate"),
            (3, "libz.so inflate"),
            (4, "/srv/z.c:7 deflate"),
            (5, "/srv/z.c:7 deflate"),
            (6, "libz.so+0x40"),
        ];
        let mut about = About::default();
        about.locations.extend(given.map(|(location, place)| (location, place.to_string())));
        let places = [(1, 0x1010), (2, 0x1024), (3, 0x2000), (4, 0x3000), (5, 0x3004), (6, 0x40)];
        tell_apart(&mut about, "libz.so", &places, |address| Some(address / 0x1000 * 0x1000));
        let named: Vec<&str> = about.locations.values().map(String::as_str).collect();
        let [_, _, others @ ..] = given.map(|(_, place)| place);
        assert_eq!(named, [&["libz.so deflate+0x10", "libz.so deflate+0x24"], &others[..]].concat());
    }

    #[test]
    fn a_place_is_the_innermost_frame_that_is_the_programs() {
        let intrinsic = ("_mm_clwb", "/usr/lib/gcc/x86_64-linux-gnu/12/include/clwbintrin.h:41");
        let flush = ("flush", "/srv/x/kv.c:52 (discriminator 3)");
        assert_eq!(
            place(&[intrinsic, flush, ("put", "/srv/x/kv.c:90")]).as_deref(),
            Some("/srv/x/kv.c:52 flush")
        );
        assert!(place(&[intrinsic]).is_some_and(|p| p.ends_with("clwbintrin.h:41 _mm_clwb")));
        let atomic = ("std::__atomic_base<int>::fetch_add", "/usr/include/c++/12/bits/atomic_base.h:618");
        assert_eq!(place(&[atomic, ("count", "/srv/x/a.cpp:7")]).as_deref(), Some("/srv/x/a.cpp:7 count"));
        let hash = "/rustc/59807616e1/library/std/src/os/unix/fs.rs:256";
        let standard = ("std::os::unix::fs::FileExt::write_all_at", hash);
        let wrapper =
            ("rustix::io::pwrite", "/srv/cargo/registry/src/index-1/rustix-1.0.7/src/io/read_write.rs:120");
        let put = ("p::put", "/srv/p/src/main.rs:9");
        assert_eq!(place(&[standard, wrapper, put]).as_deref(), Some("/srv/p/src/main.rs:9 p::put"));
        let crate_of_program = ("redb::write", "/srv/cargo/registry/src/index-1/redb-2.6.0/src/file.rs:7");
        assert!(
            place(&[standard, crate_of_program, put]).is_some_and(|p| p.ends_with("file.rs:7 redb::write"))
        );
        let installed =
            ("core::ptr::write", "/opt/rustup/lib/rustlib/src/rust/library/core/src/ptr/mod.rs:7");
        assert_eq!(place(&[installed, put]).as_deref(), Some("/srv/p/src/main.rs:9 p::put"));
        assert_eq!((source(standard.1), source(wrapper.1)), (None, None));
        assert_eq!(place(&[("main", "??:0")]), None);
        assert_eq!(source(flush.1).as_deref(), Some("/srv/x/kv.c"));
        assert_eq!((source(intrinsic.1), source("??:0"), source("kv.c:5")), (None, None, None));
        let with_caller = named_with_caller(&[intrinsic, flush, ("put", "/srv/x/kv.c:90")]);
        assert_eq!(with_caller.as_deref(), Some("/srv/x/kv.c:52 flush < /srv/x/kv.c:90 put"));
        assert_eq!(named_with_caller(&[flush]).as_deref(), Some("/srv/x/kv.c:52 flush"));
        assert_eq!(place(&[("_start", ":?")]), None);
        assert_eq!(place(&[]), None);
    }
}
