//! Source places of a recording's code offsets, from addr2line.

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
        name_in(about, &path, &own, named, |function, address| {
            Some(if function.starts_with('?') {
                format!("{file}+{address:#x}")
            } else {
                format!("{file} {function}")
            })
        });
    }
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
    (path.starts_with('/') && !is_header_of_compiler(at)).then(|| path.to_string())
}

fn place(frames: &[Frame<'_>]) -> Option<String> {
    spelled(innermost(frames)?.0)
}

/// The innermost frame that is known and in no header of the compiler or of the C++ library, and those around it.
fn innermost<'a, 'b>(frames: &'b [Frame<'a>]) -> Option<(Frame<'a>, &'b [Frame<'a>])> {
    let is_known = |(_, at): &(&str, &str)| !at.starts_with('?') && !at.ends_with(":?");
    let is_own = |frame: &(&str, &str)| is_known(frame) && !is_header_of_compiler(frame.1);
    let at = frames.iter().position(is_own).or_else(|| frames.iter().position(is_known))?;
    Some((frames[at], &frames[at + 1..]))
}

fn spelled((function, at): Frame<'_>) -> Option<String> {
    let at = at.split(" (discriminator").next().unwrap_or(at);
    let name = Path::new(at).file_name()?.to_string_lossy();
    Some(format!("{name} {function}"))
}

fn is_header_of_compiler(at: &str) -> bool {
    let file = at.split(':').next().unwrap_or(at);
    file.ends_with("intrin.h")
        || file.contains("/include/c++/")
        || ["/lib/gcc/", "/lib/clang/"].iter().any(|f| file.contains(f)) && file.contains("/include")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_innermost_frame_that_is_the_programs() {
        let intrinsic = ("_mm_clwb", "/usr/lib/gcc/x86_64-linux-gnu/12/include/clwbintrin.h:41");
        let flush = ("flush", "/srv/x/kv.c:52 (discriminator 3)");
        assert_eq!(place(&[intrinsic, flush, ("put", "/srv/x/kv.c:90")]).as_deref(), Some("kv.c:52 flush"));
        assert_eq!(place(&[intrinsic]).as_deref(), Some("clwbintrin.h:41 _mm_clwb"));
        let atomic = ("std::__atomic_base<int>::fetch_add", "/usr/include/c++/12/bits/atomic_base.h:618");
        assert_eq!(place(&[atomic, ("count", "/srv/x/a.cpp:7")]).as_deref(), Some("a.cpp:7 count"));
        assert_eq!(place(&[("main", "??:0")]), None);
        assert_eq!(source(flush.1).as_deref(), Some("/srv/x/kv.c"));
        assert_eq!((source(intrinsic.1), source("??:0"), source("kv.c:5")), (None, None, None));
        let with_caller = named_with_caller(&[intrinsic, flush, ("put", "/srv/x/kv.c:90")]);
        assert_eq!(with_caller.as_deref(), Some("kv.c:52 flush < kv.c:90 put"));
        assert_eq!(named_with_caller(&[flush]).as_deref(), Some("kv.c:52 flush"));
        assert_eq!(place(&[("_start", ":?")]), None);
        assert_eq!(place(&[]), None);
    }
}
