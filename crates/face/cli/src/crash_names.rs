//! Where recorded files are in the folder that a check gets.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use trace::names::path_of;

/// Recorded paths, and where they are in the folder of all files: without the folders that all have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    common: Vec<OsString>,
}

/// The parts of a path that name something; what leads out of a folder does not.
fn parts(path: &Path) -> Vec<OsString> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_os_string()),
            Component::ParentDir => _ = parts.pop(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    parts
}

/// A symbolic link: its path, and what it leads to.
pub(crate) struct Link<'a> {
    pub(crate) path: &'a str,
    pub(crate) to: &'a str,
}

impl Names {
    /// For all of these paths, and those of links that lead to one of them or to a folder of one: any other link, such as a lock
    /// that a program keeps elsewhere, changes nothing.
    pub(crate) fn new(paths: impl Iterator<Item = PathBuf>, links: &[Link<'_>]) -> Names {
        let paths: BTreeSet<Vec<OsString>> =
            paths.filter(|p| !p.as_os_str().is_empty()).map(|path| parts(&path)).collect();
        let leads = |link: &&Link<'_>| {
            let path = path_of(link.path);
            let to = parts(&path.parent().unwrap_or(&path).join(path_of(link.to)));
            !to.is_empty() && paths.iter().any(|path| path.starts_with(&to))
        };
        let leading = links.iter().filter(leads).map(|link| parts(&path_of(link.path)));
        let folders = paths.iter().cloned().chain(leading).map(|mut parts| {
            parts.pop();
            parts
        });
        let shorter = |a: Vec<OsString>, b: Vec<OsString>| {
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            a[..same].to_vec()
        };
        Names { common: folders.reduce(shorter).unwrap_or_default() }
    }

    /// The folder that all have in common.
    pub(crate) fn common(&self) -> PathBuf {
        Path::new("/").join(self.common.iter().collect::<PathBuf>())
    }

    /// Whether a recorded path is in that folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        parts(&path_of(path)).starts_with(&self.common)
    }

    /// Where a recorded path is in the folder.
    pub(crate) fn relative(&self, path: &str) -> PathBuf {
        self.relative_path(&path_of(path))
    }

    /// The same, of a path as the system has it.
    pub(crate) fn relative_path(&self, path: &Path) -> PathBuf {
        let parts = parts(path);
        let own = parts.strip_prefix(&self.common[..]).unwrap_or(&parts[..]);
        own.iter().collect()
    }

    /// What a link leads to where the folder is `files`: to the files there, and not to those of the program.
    pub(crate) fn leads_to(&self, to: &Path, files: &Path) -> PathBuf {
        let parts = parts(to);
        match parts.strip_prefix(&self.common[..]) {
            Some(own) if to.is_absolute() => files.join(own.iter().collect::<PathBuf>()),
            Some(_) | None => to.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str], links: &[(&str, &str)]) -> Names {
        let links: Vec<Link<'_>> = links.iter().map(|(path, to)| Link { path, to }).collect();
        Names::new(paths.iter().map(PathBuf::from), &links)
    }

    #[test]
    fn files_keep_their_names_below_the_folder_that_they_share() {
        let all = names(&["/srv/a/db/data", "/srv/a/db/log/1", "/srv/a/db/x"], &[]);
        assert_eq!(all.relative("/srv/a/db/data"), Path::new("data"));
        assert_eq!(all.relative("/srv/a/db/log/../log/1"), Path::new("log/1"));
        assert!(all.has("/srv/a/db/y") && !all.has("/srv/a/y"));
        let one = names(&["/srv/a/kv.pm"], &[]);
        assert_eq!(one.relative("/srv/a/kv.pm"), Path::new("kv.pm"));
        let far = names(&["a", "/b/c"], &[]);
        assert_eq!(far.relative("../../b/c"), Path::new("b/c"), "nothing leads out of the folder");
    }

    #[test]
    fn only_links_that_lead_to_files_are_in_the_folder_that_they_share() {
        let files = ["/srv/a/rel/1/data", "/srv/a/rel/1/log"];
        for to in ["rel/1", "/srv/a/rel/1/data", "./rel"] {
            assert_eq!(names(&files, &[("/srv/a/current", to)]).common(), Path::new("/srv/a"), "{to}");
        }
        for to in ["127.0.0.1:+77", "/srv/b", "rel/2"] {
            assert_eq!(names(&files, &[("/srv/a/lock", to)]).common(), Path::new("/srv/a/rel/1"), "{to}");
        }
    }

    #[test]
    fn a_link_leads_to_the_files_of_the_image() {
        let all = names(&["/srv/a/1", "/srv/a/2"], &[]);
        let to = |path: &str| all.leads_to(Path::new(path), Path::new("/t/files"));
        assert_eq!([to("/srv/a/1"), to("1"), to("/etc/x")], ["/t/files/1", "1", "/etc/x"].map(PathBuf::from));
    }
}
