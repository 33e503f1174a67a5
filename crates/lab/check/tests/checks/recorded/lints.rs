//! What is told of a recording without any crash.

use super::{Program, at, file_address};
use check::crash;
use std::collections::BTreeSet;
use trace::{Call, Kind};

#[test]
fn what_is_never_synced_or_flushed_is_told_and_a_sync_counts_as_a_flush() {
    let kinds =
        |p: &Program| crash::persistence_lint(&p.log()).into_iter().map(|f| f.kind).collect::<Vec<_>>();
    let mut p = Program::new(1);
    p.store(at(0), 1).call(Call::Msync, at(0), 4096);
    // A flush of other memory is what the fence waits for.
    p.flush(0x7000_0000).fence();
    assert_eq!(kinds(&p), Vec::<&str>::new());
    p.pwrite(0, 0, 1).store(at(0) + 64, 1).fence();
    assert_eq!(kinds(&p), ["idle-fence", "never-flushed", "never-synced"]);
    let mut p = Program::new(1);
    p.pwrite(0, 0, 1).fence();
    assert_eq!(kinds(&p), ["never-synced"], "a fence beside calls alone");
    p.store(at(0) + 64, 1).fence();
    assert_eq!(kinds(&p), ["idle-fence", "never-flushed", "never-synced"]);
    p.call(Call::Fsync, file_address(0, 0), 0);
    assert_eq!(kinds(&p), Vec::<&str>::new(), "who syncs what it stores and flushes nothing");
    p.flush(0x7000_0000).fence();
    assert_eq!(kinds(&p), ["idle-fence"]);
}

#[test]
fn lines_that_are_left_are_told_with_their_file_and_whether_anything_of_it_is_made_durable() {
    let left = |p: &Program| {
        let found = crash::persistence_lint(&p.log()).into_iter();
        found.map(|f| (f.kind, f.file, f.times, f.is_of_forgotten_file)).collect::<Vec<_>>()
    };
    let mut p = Program::new(2);
    p.pwrite(0, 0, 1).call(Call::Fsync, file_address(0, 0), 0);
    assert_eq!(left(&p), []);
    p.pwrite(1, 0, 1).pwrite(1, 64, 1).pwrite(0, 64, 1);
    let files = |p: &Program| p.trace.about.files.values().map(|f| f.path.clone()).collect::<Vec<_>>();
    let [kept, forgotten] = files(&p).try_into().unwrap();
    let told = left(&p);
    assert_eq!(
        told.iter().filter(|f| f.1.as_ref() == Some(&kept)).map(|f| (f.2, f.3)).collect::<Vec<_>>(),
        [(1, false)]
    );
    assert!(told.iter().filter(|f| f.1.as_ref() == Some(&forgotten)).all(|f| f.3), "{told:?}");
    assert_eq!(told.iter().map(|f| f.2).sum::<usize>(), 3);
    assert!(told.iter().all(|f| f.0 == "never-synced"));
}

/// As in failures: `part-1/log` and `part-2/log` where `log` alone would be either.
#[test]
fn files_are_named_by_the_shortest_end_that_is_theirs() {
    let mut p = Program::new(3);
    for (file, path) in
        p.trace.about.files.values_mut().zip(["/d/part-1/log", "/d/part-2/log", "/d/part-2/keys"])
    {
        file.path = path.into();
    }
    p.pwrite(0, 0, 1).pwrite(1, 0, 1).pwrite(2, 0, 1);
    let found = crash::persistence_lint(&p.log()).into_iter();
    let named = found.map(|f| f.name.unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(named, ["keys", "part-1/log", "part-2/log"].map(String::from).into());
}

#[test]
fn a_name_that_another_files_sync_alone_makes_durable_is_told() {
    let kinds = |calls: &[(Call, u32)]| {
        let mut p = Program::new(2);
        p.trace.about.names.extend([(1, "/d/f0".into()), (2, "/d/g".into())]);
        p.pwrite(0, 0, 1).call(Call::Fsync, file_address(0, 0), 0).rename(0, 1, 2);
        let operand = |call: Call| if call == Call::Unlink { 2 } else { 0 };
        calls.iter().for_each(|(call, file)| _ = p.call(*call, file_address(*file, 0), operand(*call)));
        crash::persistence_lint(&p.log()).into_iter().map(|f| (f.kind, f.file)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&[(Call::Fdatasync, 1)]), [("named-by-another-sync", Some("/d/g".into()))]);
    assert_eq!(kinds(&[]), [("name-not-synced", Some("/d/g".into()))]);
    assert_eq!(kinds(&[(Call::SyncFileRange, 1)]), kinds(&[]), "nothing is made durable by that");
    assert_eq!(kinds(&[(Call::Unlink, 0)]), [], "it is gone again");
    assert_eq!(kinds(&[(Call::Unlink, 0), (Call::Fdatasync, 1)]), [], "and is not told of later");
    for own in [(Call::SyncFolder, 0), (Call::Fsync, 0), (Call::Sync, 0)] {
        assert_eq!(kinds(&[own, (Call::Fdatasync, 1)]), [], "{own:?}");
    }
}

#[test]
fn a_sync_of_an_empty_file_is_one_of_another_file() {
    let mut p = Program::new(3);
    p.trace.about.files.get_mut(&1).unwrap().bytes = 0;
    p.trace.about.names.extend([(1, "/d/f0".into()), (2, "/d/g".into())]);
    p.pwrite(0, 0, 1).call(Call::Fsync, file_address(0, 0), 0).rename(0, 1, 2);
    p.call(Call::Fsync, file_address(1, 0), 0);
    let told = crash::persistence_lint(&p.log()).into_iter().map(|f| (f.kind, f.name));
    assert_eq!(told.collect::<Vec<_>>(), [("named-by-another-sync", Some("g".to_string()))]);
}

/// A recording tells which folder is synced, an old one does not. The right one may come after another, before a mark says that the name
/// is there.
#[test]
fn a_name_that_another_folders_sync_alone_makes_durable_is_told() {
    let kinds = |folders: &[Option<u64>], mark: bool| {
        let mut p = Program::new(2);
        let names = ["/d/f0", "/e/g", "/d/.", "/e/.", "/.", "/d", "/d/g/."];
        p.trace.about.names.extend((1..).zip(names.map(String::from)));
        p.pwrite(0, 0, 1).call(Call::Fsync, file_address(0, 0), 0).rename(0, 1, 2);
        for folder in folders {
            folder.iter().for_each(|name| _ = p.record(0, Kind::Operand, 0, *name));
            p.call(Call::SyncFolder, 0, 0);
            if mark {
                p.mark(1);
            }
        }
        crash::persistence_lint(&p.log()).into_iter().map(|f| (f.kind, f.file)).collect::<Vec<_>>()
    };
    let told = [("named-by-another-sync", Some("/e/g".to_string()))];
    for (right, mark) in [(4, true), (4, false)] {
        assert_eq!(kinds(&[Some(right)], mark), []);
        assert_eq!(kinds(&[Some(5), Some(right)], false), [], "before anybody is told");
        assert_eq!(kinds(&[Some(5), Some(right)], true), told);
    }
    assert_eq!(
        kinds(&[Some(3), Some(4)], true),
        told,
        "the old folder's sync is before the mark, and the new one's after it"
    );
    // The old folder's says that the name has gone from there.
    for wrong in [3, 5, 7] {
        assert_eq!([kinds(&[Some(wrong)], true), kinds(&[Some(wrong)], false)], [told.clone(), told.clone()]);
    }
    for unknown in [None, Some(6), Some(99), Some(u64::MAX)] {
        assert_eq!(kinds(&[unknown], true), [], "{unknown:?}");
    }
}

/// A folder that the program makes: what is in it is synced, and its own name by nothing but that.
#[test]
fn a_folder_whose_own_folder_nothing_syncs_is_told() {
    enum Step {
        Make(u64),
        Remove(u64),
        Named,
        File,
        Folder(Option<u64>),
        All,
        Mark,
    }
    use Step::{All, File, Folder, Make, Mark, Named, Remove};
    let told = |steps: &[Step]| {
        let mut p = Program::new(1);
        let names = ["/d/.", "/d/n/.", "/d/n/m/.", "/d/n/m/f", "/e/."];
        p.trace.about.names.extend((1..).zip(names.map(String::from)));
        p.pwrite(0, 0, 1);
        for step in steps {
            match step {
                Make(name) => p.call(Call::MakeFolder, 0, *name),
                Remove(name) => p.call(Call::RemoveFolder, 0, *name),
                Named => p.call(Call::Link, file_address(0, 0), 4),
                File => p.call(Call::Fsync, file_address(0, 0), 0),
                Folder(folder) => {
                    folder.iter().for_each(|name| _ = p.record(0, Kind::Operand, 0, *name));
                    p.call(Call::SyncFolder, 0, 0)
                }
                All => p.call(Call::Sync, 0, 0),
                Mark => p.mark(1),
            };
        }
        p.call(Call::Fsync, file_address(0, 0), 0);
        let found = crash::persistence_lint(&p.log()).into_iter();
        found.map(|f| (f.kind, f.file.unwrap_or_default())).collect::<Vec<_>>()
    };
    let finding = |folder: &str| ("named-by-another-sync", folder.to_string());
    assert_eq!(
        told(&[Make(2), Make(3), Named, File, Folder(Some(3)), Mark]),
        [finding("/d/n"), finding("/d/n/m")]
    );
    assert_eq!(told(&[Make(2), Make(3), Named, File, Folder(Some(2)), Mark]), [finding("/d/n")]);
    assert_eq!(told(&[Make(2), Folder(Some(2)), Mark, Folder(Some(1))]), [finding("/d/n")]);
    assert_eq!(told(&[Make(2), Folder(Some(2)), Folder(Some(5))]), [finding("/d/n")], "another folder's");
    for right in [Folder(Some(1)), Folder(None), All] {
        assert_eq!(told(&[Make(2), Folder(Some(2)), right, Mark]), []);
    }
    assert_eq!(told(&[Make(2), Folder(Some(2)), Remove(2), Mark]), [], "it is gone again");
    assert_eq!(told(&[Make(2), Mark, Folder(Some(1)), Folder(Some(2))]), [], "nothing was to be kept of it");
}
