//! What `coreplane crash` refuses to judge of a recorded program, and why.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash_names::Names;
use crate::crash_options::{RESULT, folder};
use crate::crash_recorded::Recorded;
use crate::output;
use crate::record_gone::GONE;
use check::crash::{Facts, FileState, Gap, GapKind, Persistency};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use trace::names::{path_of, shown, shown_path};
use trace::space::LARGEST_FILE;
use trace::{About, Call};

/// What goes on in spite of gaps.
const ACCEPT: &str = " (--accept-unseen goes on all the same)";

/// Gaps that are told one by one.
const SHOWN: usize = 8;

/// There is no verdict, and `why`: kept, too, where a result would be.
fn no_verdict(args: &CrashArgs, why: &str) -> Failure {
    let text = format!("{}: {why}", args.workload);
    if let Some(folder) = folder(args) {
        let refused = json!({"machine": args.machine, "workload": args.workload, "refused": text});
        // It is printed all the same, and what is there stays.
        _ = output::write(folder, RESULT, format!("{refused:#}\n").as_bytes());
    }
    Failure::BadInput(text)
}

/// A trace of accesses without what was stored.
pub(crate) fn without_values(args: &CrashArgs, about: &About) -> Result<(), Failure> {
    if !about.lacks.contains("value") {
        return Ok(());
    }
    let why = format!("its stores have no values (it lacks {}); it serves for timing only", about.lacks);
    Err(no_verdict(args, &why))
}

/// Nothing that a power failure could lose, or nothing that the recording explains.
pub(crate) fn without_stores(args: &CrashArgs, about: &About, facts: &Facts) -> Result<(), Failure> {
    let is_observed = facts.gaps.iter().any(|gap| gap.kind == GapKind::Observed);
    if facts.stores > 0 || (is_observed && args.accept_unseen) {
        return Ok(());
    }
    if let [first, rest @ ..] = &facts.gaps[..] {
        let (accept, name) = (if is_observed { ACCEPT } else { "" }, |file| shown(about.path(file)));
        let why = format!(
            "the recording explains no store to a file or to persistent memory, so there is no image{accept}: {}{}",
            gap_of(first, &name),
            list(&rest.iter().collect::<Vec<_>>(), &name)
        );
        return Err(no_verdict(args, &why));
    }
    if about.lacks.contains("its end (") {
        let why = format!(
            "what is left of the recording has no store to persistent memory, and it lacks {}: what the program stored is not known, so there is no image",
            about.lacks
        );
        return Err(no_verdict(args, &why));
    }
    let why = "the trace has no store to persistent memory (its program mapped no file for writing and wrote to none), \
               so there is no image";
    Err(no_verdict(args, why))
}

/// Stores that nothing makes durable: either the program has that mistake everywhere, or the recorder does not see how
/// it does it.
pub(crate) fn never_durable(
    args: &CrashArgs,
    recorded: &Recorded<'_>,
    calls: &BTreeMap<Call, u64>,
    model: Persistency,
) -> Result<(), Failure> {
    if model == Persistency::Strict || !recorded.facts.persists_nothing() {
        return Ok(());
    }
    let begun = calls.get(&Call::MsyncAsync).map_or(String::new(), |times| {
        format!(" Its msync with MS_ASYNC ({times} times) makes nothing durable: Linux does nothing then.")
    });
    let advice = match recorded.is_emptied() {
        true => "; --from-start judges what the program found",
        false if recorded.facts.acknowledges_writes() => {
            "; a check that asks what was {acknowledged} judges it"
        }
        false => "",
    };
    let why = format!(
        "the program stores to {} and the recording has not one flush (clwb, clflushopt, clflush), fence (sfence, \
         mfence) or sync (msync with MS_SYNC, fsync, fdatasync, sync, O_SYNC): under {} every store could be \
         lost.{begun} Either the program makes nothing durable, or it does so in a way that the recorder does not see{advice}",
        recorded.shown(),
        model.name()
    );
    Err(no_verdict(args, &why))
}

/// Whether a gap belongs to a file that counts: the one that the check is about, others of which the program makes
/// anything durable, and those of which a name is not known, when they were written to or are links. Another file of which it never
/// makes anything durable, such as one of locks, holds nothing that it expects to find again.
fn counts(recorded: &Recorded<'_>, gap: &Gap) -> bool {
    let fact = |file: u32| recorded.facts.files.get(&file);
    let is_whole = gap.kind == GapKind::Unseen && gap.bytes.1 >= LARGEST_FILE;
    let named = |file: u32| is_whole && (recorded.is_link(file) || fact(file).is_some_and(|f| f.stored));
    let durable = |file: u32| fact(file).is_some_and(|f| f.durable);
    gap.file.is_some_and(|file| file == recorded.number || durable(file) || named(file))
}

/// A gap, in words.
pub(crate) fn gap_text(recorded: &Recorded<'_>, gap: &Gap) -> String {
    gap_of(gap, &|file| recorded.shown_file(file))
}

/// The same, where files are called what `name` gives.
fn gap_of(gap: &Gap, name: &dyn Fn(u32) -> String) -> String {
    let (offset, bytes) = gap.bytes;
    let place = match gap.file {
        None => String::new(),
        Some(file) if bytes == 0 || bytes >= LARGEST_FILE => format!(" ({})", name(file)),
        Some(file) => format!(" ({bytes} bytes of {} from {offset:#x} on)", name(file)),
    };
    let site = if gap.site.is_empty() { String::new() } else { format!(" at {}", gap.site) };
    match gap.kind {
        GapKind::Unseen => format!("not modelled: {}{site}{place}", gap.what),
        GapKind::Observed => format!(
            "stored by code without hooks or in a system call that is not recorded, found{site}{place}"
        ),
        GapKind::Elsewhere => {
            format!(
                "another process changes it or makes it durable, and when is not in this recording{place}"
            )
        }
        GapKind::Differs if bytes >= LARGEST_FILE => {
            format!("{}: {GONE}", gap.file.map_or_else(String::new, name))
        }
        GapKind::Differs => format!("the program left other bytes than its recording gives{place}"),
    }
}

fn list(gaps: &[&Gap], name: &dyn Fn(u32) -> String) -> String {
    let mut text: String = gaps.iter().take(SHOWN).map(|gap| format!("\n  {}", gap_of(gap, name))).collect();
    if gaps.len() > SHOWN {
        text += &format!("\n  and {} more", gaps.len() - SHOWN);
    }
    text
}

/// A recording that does not explain what its files hold.
pub(crate) fn unseen(args: &CrashArgs, recorded: &Recorded<'_>) -> Result<(), Failure> {
    let gaps: Vec<&Gap> = recorded.facts.gaps.iter().filter(|g| counts(recorded, g)).collect();
    let Some(first) = gaps.first().filter(|_| !args.accept_unseen) else { return Ok(()) };
    let why = format!(
        "the recording does not explain all that happened to its files, so no verdict would be sure{ACCEPT}: {}{}",
        gap_text(recorded, first),
        list(&gaps[1..], &|file| recorded.shown_file(file))
    );
    Err(no_verdict(args, &why))
}

/// What the recorder noted, what was accepted or belongs to no file, and marks that come too early: said with the result.
pub(crate) fn remarks(recorded: &Recorded<'_>) -> Vec<String> {
    let gaps = recorded.facts.gaps.iter().map(|gap| gap_text(recorded, gap));
    recorded.noted().iter().cloned().chain(gaps).chain(recorded.unjudged()).collect()
}

/// A check that fails where no power fails says nothing of power failures.
pub(crate) fn uncut(args: &CrashArgs, recorded: &Recorded<'_>, message: &str) -> Failure {
    let gaps: Vec<&Gap> = recorded.facts.gaps.iter().collect();
    let lacks = || {
        recorded.lacks().map_or(String::new(), |(folder, first, is_made)| {
            let folder = folder.display();
            if is_made {
                return format!(
                    "; folders without a file, as {first}, which the program made, are in no image: with --beside {folder} they are there \
                     whatever is lost"
                );
            }
            format!(
                "; what it only read, and folders without a file, as {first} perhaps, are not there without --beside {folder}"
            )
        })
    };
    let seen = if gaps.is_empty() {
        format!(
            ". The recording says of nothing that it was not seen: try the command on the files as the program left \
             them. No image has the modes, owners and extended attributes of files. {}{}",
            recorded.folder_text(),
            lacks()
        )
    } else {
        format!(". Not seen:{}", list(&gaps, &|file| recorded.shown_file(file)))
    };
    let why = format!(
        "the end of the recording does not satisfy the check, before any power failure, so the check could tell \
         nothing of one: {message}{seen}"
    );
    no_verdict(args, &why)
}

/// Power cannot be cut from the start on where the check fails then.
pub(crate) fn from_start(args: &CrashArgs, message: &str) -> Failure {
    let why = format!("--from-start: what the program found does not satisfy the check: {message}");
    no_verdict(args, &why)
}

/// The recorded path of the file that the check is about.
pub(crate) fn choose(
    args: &CrashArgs,
    about: &About,
    facts: &Facts,
    files: &[FileState],
    names: &Names,
) -> Result<(u32, String), Failure> {
    let known = |f: &&FileState| facts.files.get(&f.number).is_some_and(|f| f.stored) || f.size > 0;
    let there: Vec<&FileState> = files.iter().filter(|f| !f.names.is_empty()).filter(known).collect();
    let list = |all: &mut dyn Iterator<Item = &String>| {
        all.map(|n| shown_path(&names.relative(n))).collect::<Vec<_>>().join(", ")
    };
    if let Some(asked) = &args.file {
        let is_it = |name: &str| name == asked || names.relative(name) == Path::new(asked);
        // By its name, or as the program or its user called it from another folder.
        let leads = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::RootDir);
        let end: PathBuf = Path::new(asked).components().filter(leads).collect();
        let ends = |name: &str| !end.as_os_str().is_empty() && path_of(name).ends_with(&end);
        let all = || there.iter().flat_map(|f| f.names.iter().map(|name| (f.number, name)));
        let mut found: Vec<(u32, &String)> = all().filter(|(_, name)| is_it(name)).collect();
        if found.is_empty() {
            found = all().filter(|(_, name)| ends(name)).collect();
        }
        let why = match found[..] {
            [(number, name)] => return Ok((number, name.clone())),
            [] => format!("the recording has {}", list(&mut there.iter().flat_map(|f| &f.names))),
            [_, _, ..] => {
                format!("several have that name: {}", list(&mut found.iter().map(|(_, name)| *name)))
            }
        };
        return Err(Failure::BadInput(format!("--file {asked}: {why}")));
    }
    let fact = |f: &FileState| facts.files.get(&f.number);
    // A link is never what is meant, unless it is asked for.
    let there: Vec<&FileState> = there.into_iter().filter(|f| !about.links.contains_key(&f.number)).collect();
    let durable = there.iter().find(|f| fact(f).is_some_and(|f| f.durable));
    let stored = || there.iter().find(|f| fact(f).is_some_and(|f| f.stored));
    let chosen = durable.or_else(stored).or(there.first());
    let chosen = chosen.and_then(|f| Some((f.number, f.names.first()?.clone())));
    chosen.ok_or_else(|| no_verdict(args, "the program left no file behind, so there is no image"))
}
