//! Machines by name, or from files with what these extend.

use machine::{ConfigError, Description, Reader};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// What files say, by the names under which they were read.
pub type Texts = BTreeMap<String, String>;

/// The most files that extend each other.
const MOST_FILES: usize = 16;

/// A machine by name, or from a file.
pub(crate) fn machine(name: &str) -> Result<Description, ConfigError> {
    machine_of(name, &mut Texts::new())
}

/// The same. Files of which `texts` has the text are not read again, and the texts of others are added: with them the machine is
/// the same once more, whatever has become of its files.
pub(crate) fn machine_of(name: &str, texts: &mut Texts) -> Result<Description, ConfigError> {
    let path = Path::new(name);
    if !name.ends_with(".toml") && !texts.contains_key(name) && !can_be_read(path) {
        return Description::preset(name);
    }
    let files = Files(RefCell::new(std::mem::take(texts)));
    let machine = files.machine(path, &[]);
    *texts = files.0.into_inner();
    machine
}

/// Whether a path is a file's, or that of something which is open already, as what a shell makes of `<(...)`. Any other pipe would be waited for.
pub(crate) fn can_be_read(path: &Path) -> bool {
    let is_open = ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|open| path.starts_with(open));
    std::fs::metadata(path).is_ok_and(|about| about.is_file() || (is_open && !about.is_dir()))
}

/// What a text file of the user's says.
pub(crate) fn text_of(path: &Path) -> Result<String, ConfigError> {
    let name = path.to_string_lossy();
    let bytes = std::fs::read(path).map_err(|e| ConfigError(format!("{name}: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let before = String::from_utf8_lossy(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        let file = Reader { file: &name, text: &before };
        file.error(before.len(), "is not UTF-8; give a text file in UTF-8")
    })
}

struct Files(RefCell<Texts>);

impl Files {
    /// A machine from a file that `below` extend, the last one directly. A file says which it extends from its own folder.
    fn machine(&self, path: &Path, below: &[&Path]) -> Result<Description, ConfigError> {
        let name = path.to_string_lossy();
        if below.contains(&path) || below.len() == MOST_FILES {
            return Err(ConfigError(format!("{name} extends itself, or {MOST_FILES} files each other")));
        }
        let text = self.text(path)?;
        let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        let files = [below, &[path]].concat();
        Description::parse_above(&stem, &name, &text, &|parent| {
            let is_file = Path::new(parent).extension().is_some_and(|e| e == "toml");
            if is_file {
                self.machine(&path.with_file_name(parent), &files)
            } else {
                Description::preset(parent)
            }
        })
    }

    fn text(&self, path: &Path) -> Result<String, ConfigError> {
        let name = path.to_string_lossy();
        if let Some(text) = self.0.borrow().get(&*name) {
            return Ok(text.clone());
        }
        let text = text_of(path)?;
        self.0.borrow_mut().insert(name.into_owned(), text.clone());
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_the_same_again_without_its_files() {
        let text = |text: &str| text.to_string();
        let mut texts = Texts::from([
            (text("gone/a.toml"), text("extends = \"b.toml\"\n")),
            (text("gone/b.toml"), text("extends = \"intel\"\n[memory.pm]\nread_ns = 123\n")),
        ]);
        let machine = machine_of("gone/a.toml", &mut texts).unwrap();
        assert_eq!((machine.name.as_str(), machine.settings.number("memory.pm.read_ns")), ("a", 123_000));
        assert_eq!(texts.len(), 2);
        let missing = machine_of("gone/c.toml", &mut texts).unwrap_err().to_string();
        assert!(missing.starts_with("gone/c.toml: "), "{missing}");
    }
}
