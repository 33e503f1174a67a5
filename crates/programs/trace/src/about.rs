//! What a trace says beside its records: where it comes from, its files, names, and what it lacks.

use crate::error::TraceError;
use crate::tables::{parse_locations, write_locations};
use std::collections::{BTreeMap, BTreeSet};

/// A file of the recorded program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Device and inode, `device:inode`.
    pub identity: String,
    /// Its path when it was first seen.
    pub path: String,
    /// Its size in bytes when it was first seen.
    pub bytes: u64,
}

/// Bytes that the recording does not explain: after the program's end the file held others than replay gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The file's number.
    pub file: u32,
    /// The first such byte.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A part of the program that was loaded: the program itself or a shared library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its first [`Record::location`](crate::Record::location).
    pub first: u32,
    /// Address in the object's own file of that location.
    pub bias: u64,
    /// Its file.
    pub path: String,
}

/// What a trace says beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Where the trace comes from: the command, or the imported tool and file.
    pub source: String,
    /// What the trace lacks, in words; empty when nothing.
    pub lacks: String,
    /// Whether it tells of pages and of nothing smaller: such a trace has no time at line fidelity.
    pub pages: bool,
    /// Source places by code offset.
    pub locations: BTreeMap<u32, String>,
    /// Source files of these places, whole paths.
    pub sources: BTreeSet<String>,
    /// Files by number.
    pub files: BTreeMap<u32, File>,
    /// What files lead to that are symbolic links, by number: they have nothing in them, and are as long as that.
    pub links: BTreeMap<u32, String>,
    /// Names of files by number: what link, unlink and rename speak of. One that ends in a slash is a folder's: with it all
    /// names in that folder change.
    pub names: BTreeMap<u64, String>,
    /// Folders of these, and those above them, that were there before the program ran.
    pub folders: BTreeSet<String>,
    /// Folders that the program made.
    pub made_folders: BTreeSet<String>,
    /// Texts of what was seen and is not modelled, by number.
    pub unseen: BTreeMap<u64, String>,
    /// Bytes that the recording does not explain.
    pub differs: Vec<Differs>,
    /// Files, by device and inode, that other processes change or make durable.
    pub elsewhere: BTreeSet<String>,
    /// The program became another one (exec), which is not in it.
    pub becomes: bool,
    /// Further remarks.
    pub notes: Vec<String>,
    /// The program itself; its first location is 0.
    pub program: Object,
    /// Further parts of the program.
    pub objects: Vec<Object>,
    /// Where code is whose locations are no offsets: by file, addresses in it by location. Places are named from it.
    pub code: BTreeMap<String, BTreeMap<u32, u64>>,
    /// Where each process was a host of its own: the threads of each.
    pub hosts: Vec<Vec<u16>>,
    /// Of one process of several: its number, that of the process it was forked from (its own where it was not), and the kernel's.
    pub process: Option<(u32, u32, u32)>,
}

impl About {
    /// Takes one text of a file; unknown keys are left out.
    ///
    /// # Errors
    /// When the value is not what the key asks for.
    pub(crate) fn read(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        let bad = || TraceError::foreign(format!("its text \"{key}\" is not understood: {value:.60}"));
        match key {
            "source" => self.source = value.into(),
            "lacks" => self.lacks = value.into(),
            "pages" => self.pages = true,
            "locations" => self.locations = parse_locations(value),
            "code-source" => _ = self.sources.insert(value.into()),
            "note" => self.notes.push(value.into()),
            "file" => {
                let (number, file) = file(value).ok_or_else(bad)?;
                self.files.entry(number).or_insert(file);
            }
            "link" => {
                let (number, to) = numbered(value).ok_or_else(bad)?;
                self.links.insert(u32::try_from(number).map_err(|_| bad())?, to);
            }
            "name" => self.names.extend([numbered(value).ok_or_else(bad)?]),
            "folder" => _ = self.folders.insert(value.into()),
            "made-folder" => _ = self.made_folders.insert(value.into()),
            "unseen" => self.unseen.extend([numbered(value).ok_or_else(bad)?]),
            "differs" => self.differs.push(differs(value).ok_or_else(bad)?),
            "becomes" => self.becomes = value == "1",
            "elsewhere" => _ = self.elsewhere.insert(value.into()),
            "program" => self.program.path = value.into(),
            "bias" => self.program.bias = u64::from_str_radix(value.trim(), 16).map_err(|_| bad())?,
            "object" => self.objects.push(object(value).ok_or_else(bad)?),
            "code" => {
                let (path, places) = code(value).ok_or_else(bad)?;
                self.code.entry(path).or_default().extend(places);
            }
            "host" => self.hosts.push(numbers(value).ok_or_else(bad)?),
            "process" => match numbers(value).as_deref() {
                Some([own, from, kernel]) => self.process = Some((*own, *from, *kernel)),
                _ => return Err(bad()),
            },
            _ => {}
        }
        Ok(())
    }

    /// Keys and values that [`About::read`] makes the same of; a key may come more than once.
    pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("source", self.source.clone()), ("lacks", self.lacks.clone())];
        all.extend(self.pages.then(|| ("pages", String::new())));
        all.push(("locations", write_locations(&self.locations)));
        all.extend(self.sources.iter().map(|path| ("code-source", path.clone())));
        if !self.program.path.is_empty() {
            all.push(("program", self.program.path.clone()));
            all.push(("bias", format!("{:x}", self.program.bias)));
        }
        let file = |(n, f): (&u32, &File)| format!("{n}\n{}\n{}\n{}", f.identity, f.path, f.bytes);
        all.extend(self.files.iter().map(|f| ("file", file(f))));
        all.extend(self.links.iter().map(|(n, text)| ("link", format!("{n}\n{text}"))));
        all.extend(self.names.iter().map(|(n, text)| ("name", format!("{n}\n{text}"))));
        all.extend(self.folders.iter().map(|path| ("folder", path.clone())));
        all.extend(self.made_folders.iter().map(|path| ("made-folder", path.clone())));
        all.extend(self.unseen.iter().map(|(n, text)| ("unseen", format!("{n}\n{text}"))));
        let differs = |d: &Differs| format!("{} {} {}", d.file, d.offset, d.bytes);
        all.extend(self.differs.iter().map(|d| ("differs", differs(d))));
        all.extend(self.elsewhere.iter().map(|identity| ("elsewhere", identity.clone())));
        all.extend(self.becomes.then(|| ("becomes", "1".into())));
        all.extend(self.notes.iter().map(|text| ("note", text.clone())));
        let object = |o: &Object| format!("{:x} {:x} {}", o.first, o.bias, o.path);
        all.extend(self.objects.iter().map(|o| ("object", object(o))));
        let place = |(location, address): (&u32, &u64)| format!("\n{location:x} {address:x}");
        let code = |(path, places): (&String, &BTreeMap<u32, u64>)| {
            path.clone() + &places.iter().map(place).collect::<String>()
        };
        all.extend(self.code.iter().map(|of_file| ("code", code(of_file))));
        let host = |threads: &Vec<u16>| threads.iter().map(u16::to_string).collect::<Vec<_>>().join(" ");
        all.extend(self.hosts.iter().map(|threads| ("host", host(threads))));
        all.extend(self.process.map(|(own, from, kernel)| ("process", format!("{own} {from} {kernel}"))));
        all
    }

    /// The files that are the last which had their device and inode: one that lost its last name gives them to another.
    pub fn last_files(&self) -> BTreeSet<u32> {
        let last: BTreeMap<&str, u32> = self.files.iter().map(|(n, f)| (&*f.identity, *n)).collect();
        last.into_values().collect()
    }

    /// Whether the program made the file without a name (`O_TMPFILE`): it has those that calls give it, and none before.
    pub fn is_made_nameless(&self, number: u32) -> bool {
        self.files.get(&number).is_some_and(|f| f.path.is_empty())
    }

    /// Files that other processes change or make durable, too.
    pub fn files_elsewhere(&self) -> impl Iterator<Item = u32> {
        let files = self.files.iter().filter(|(_, file)| self.elsewhere.contains(&file.identity));
        files.map(|(number, _)| *number)
    }

    /// The path of a file, as far as it is known; see [`crate::space::is_memory`] for the others.
    pub fn path(&self, number: u32) -> &str {
        self.files.get(&number).map_or("", |f| &f.path)
    }
}

/// Number, identity, path and size, a line each; a path may have line breaks.
fn file(value: &str) -> Option<(u32, File)> {
    let (number, rest) = value.split_once('\n')?;
    let (identity, rest) = rest.split_once('\n')?;
    let (path, bytes) = rest.rsplit_once('\n')?;
    let number = number.trim().parse().ok().filter(|n| *n < crate::record::MEMORY)?;
    let file = File { identity: identity.into(), path: path.into(), bytes: bytes.trim().parse().ok()? };
    (file.bytes <= 1 << crate::FILE_SHIFT).then_some((number, file))
}

fn numbered(value: &str) -> Option<(u64, String)> {
    let (number, text) = value.split_once(['\n', ' '])?;
    Some((number.parse().ok()?, text.into()))
}

fn differs(value: &str) -> Option<Differs> {
    let mut words = value.split_whitespace();
    let file = words.next()?.parse().ok()?;
    let (offset, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Differs { file, offset, bytes })
}

fn numbers<N: std::str::FromStr>(value: &str) -> Option<Vec<N>> {
    value.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// First location and bias in hexadecimal, and the path.
fn object(value: &str) -> Option<Object> {
    let (first, rest) = value.split_once(' ')?;
    let (bias, path) = rest.split_once(' ')?;
    let first = u32::from_str_radix(first, 16).ok()?;
    Some(Object { first, bias: u64::from_str_radix(bias, 16).ok()?, path: path.into() })
}

/// A path, and on each further line a location and an address in hexadecimal.
fn code(value: &str) -> Option<(String, Vec<(u32, u64)>)> {
    let mut lines = value.lines();
    let path = lines.next()?.into();
    let place = |line: &str| {
        let (location, address) = line.split_once(' ')?;
        Some((u32::from_str_radix(location, 16).ok()?, u64::from_str_radix(address, 16).ok()?))
    };
    Some((path, lines.map(place).collect::<Option<_>>()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> About {
        About {
            pages: true,
            source: "./kv 5".into(),
            lacks: "time".into(),
            locations: BTreeMap::from([(9, "x.c:1 f".into())]),
            sources: BTreeSet::from(["/srv/a b/x.c".into(), "/srv/y.c".into()]),
            files: BTreeMap::from([(
                3,
                File { identity: "8:77".into(), path: "/tmp/a\nb".into(), bytes: 8192 },
            )]),
            links: BTreeMap::from([(3, "../b c".into())]),
            names: BTreeMap::from([(1, "/tmp/a journal".into())]),
            folders: BTreeSet::from(["/tmp".into()]),
            made_folders: BTreeSet::from(["/tmp/a\nb".into()]),
            unseen: BTreeMap::from([(0, "vmsplice into the file".into())]),
            differs: vec![Differs { file: 3, offset: 64, bytes: 8 }],
            elsewhere: BTreeSet::from(["8:2".into()]),
            becomes: true,
            notes: vec!["libx.so has no hooks".into()],
            program: Object { first: 0, bias: 0x1000, path: "/bin/kv".into() },
            objects: vec![Object { first: 0x1000, bias: 0x40_0000, path: "/lib/a b.so".into() }],
            code: BTreeMap::from([("/bin/b c".into(), BTreeMap::from([(8, 0x1100), (16, 0x1103)]))]),
            hosts: vec![vec![0, 2], vec![1]],
            process: Some((1, 0, 4711)),
        }
    }

    #[test]
    fn texts_come_back_as_they_were() {
        let mut back = About::default();
        for (key, value) in sample().texts() {
            back.read(key, &value).unwrap();
        }
        assert_eq!(back, sample());
    }

    #[test]
    fn texts_that_are_not_understood_are_named() {
        for (key, value) in [
            ("code", "/x\n8"),
            ("file", "1\n8:7\n/x"),
            ("file", "1\n8:7\n/x\n99999999999999"),
            ("name", "x"),
            ("link", "x\ny"),
            ("host", "0 -1"),
            ("process", "1 2"),
        ] {
            let e = About::default().read(key, value).expect_err(value).to_string();
            assert!(e.contains(key), "{e}");
        }
        assert!(About::default().read("file", &format!("{}\n8:7\n/x\n0", 1 << 17)).is_err());
    }

    #[test]
    fn the_last_file_of_an_inode_is_the_one_that_is_left() {
        let file = |identity: &str| File { identity: identity.into(), ..File::default() };
        let files = BTreeMap::from([(0, file("8:1")), (1, file("8:2")), (2, file("8:1")), (5, file("8:1"))]);
        let about = About { files, ..About::default() };
        assert_eq!(about.last_files(), BTreeSet::from([1, 5]));
    }
}
