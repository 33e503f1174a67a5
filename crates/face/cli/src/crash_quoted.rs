//! The words in braces of a check, filled in as the shell takes them where they stand: bare, in single or in double quotes.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where something of a shell's text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// In parentheses, too: of a command in `$(...)` the text is as any other.
    Bare,
    Single,
    Double,
    /// In `${...}`, in double quotes or not.
    Braces {
        double: bool,
    },
    /// In backquotes, where backslashes are taken away once more.
    Backquotes,
}

/// A command with its words in braces filled in. What is in a comment, or behind `<<`, is not told from other text: there a path is
/// only right as it is.
pub(crate) fn filled(command: &str, values: &[(&str, &Path)]) -> String {
    let mut text = String::new();
    let mut within = vec![In::Bare];
    let (mut rest, mut begins_word) = (command, true);
    while let Some(c) = rest.chars().next() {
        let is_quoted = matches!(within.last(), Some(In::Single | In::Double | In::Braces { .. }));
        let (taken, filled) = if let Some((word, path)) = values.iter().find(|(w, _)| rest.starts_with(w)) {
            (word.len(), quoted(path, &within))
        } else if c == '#' && begins_word && !is_quoted {
            let end = rest.find('\n').unwrap_or(rest.len());
            (end, rest[..end].into())
        } else {
            let taken = step(rest, c, &mut within);
            (taken, rest[..taken].into())
        };
        begins_word = [" ", "\t", "\n", ";", "&", "|", "(", ")", "`"].contains(&&rest[..taken]);
        text += &filled;
        rest = &rest[taken..];
    }
    text
}

/// Goes on by one character, or by two that belong together; how many bytes they are.
fn step(rest: &str, c: char, within: &mut Vec<In>) -> usize {
    let place = within.last().copied().unwrap_or(In::Bare);
    let next = rest[c.len_utf8()..].chars().next();
    let is_quoted = matches!(place, In::Double | In::Braces { double: true });
    let opens = match (place, c, next) {
        (In::Single, '\'', _)
        | (In::Double, '"', _)
        | (In::Backquotes, '`', _)
        | (In::Braces { .. }, '}', _) => {
            within.pop();
            return 1;
        }
        (In::Single, _, _) => return c.len_utf8(),
        (_, '\\', Some(next)) if next != '{' => return 1 + next.len_utf8(),
        (_, '$', Some('(')) => Some((In::Bare, 2)),
        (_, '$', Some('{')) => Some((In::Braces { double: is_quoted }, 2)),
        (_, '`', _) => Some((In::Backquotes, 1)),
        (_, '"', _) => Some((In::Double, 1)),
        (_, '\'', _) if !is_quoted => Some((In::Single, 1)),
        (_, '(', _) if !is_quoted => Some((In::Bare, 1)),
        (In::Bare, ')', _) if within.len() > 1 => {
            within.pop();
            None
        }
        (In::Bare | In::Double | In::Braces { .. } | In::Backquotes, _, _) => None,
    };
    let Some((opened, taken)) = opens else { return c.len_utf8() };
    within.push(opened);
    taken
}

/// A path for a shell: as it is where nothing in it means anything there.
fn quoted(path: &Path, within: &[In]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    let place = within.last().copied().unwrap_or(In::Bare);
    let is_double = matches!(place, In::Double | In::Braces { double: true });
    let mut text = match path.to_str() {
        Some(text) if text.chars().all(is_plain) => return text.into(),
        Some(text) if place == In::Double => escaped(text, "\\\"$`"),
        Some(text) if is_double => escaped(text, "\\\"$`}"),
        Some(text) => format!("'{}'", text.replace('\'', "'\\''")),
        None if is_double => printed(path),
        None => format!("\"{}\"", printed(path)),
    };
    if place == In::Single {
        // Out of the quotes that it stands in, and in again.
        text = format!("'{text}'");
    }
    let backquotes = within.iter().filter(|place| **place == In::Backquotes).count();
    (0..backquotes).fold(text, |text, _| escaped(&text, "\\$`"))
}

/// With a backslash before each of these.
fn escaped(text: &str, those: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        if those.contains(c) {
            all.push('\\');
        }
        all.push(c);
    }
    all
}

/// One that is no text, in double quotes: the shell makes it of its bytes, but for the line breaks at the end, which it would leave out.
fn printed(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|b| *b != b'\n').map_or(0, |at| at + 1);
    let mut text = String::new();
    for byte in &bytes[..end] {
        match byte {
            b'/' | b'.' | b'_' | b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => text.push((*byte).into()),
            _ => _ = write!(text, "\\{byte:03o}"),
        }
    }
    format!("$(printf '{text}'){}", "\n".repeat(bytes.len() - end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::process::Command;

    /// Commands that print the path, with what is printed before and after it.
    const COMMANDS: [(&str, &str, &str); 20] = [
        ("printf %s {image}", "", ""),
        ("printf %s \"{image}\"", "", ""),
        ("printf %s '{image}'", "", ""),
        ("printf %s a\"b $X{image} c\"d{image}", "ab ", " cd"),
        ("printf %s 'it \"is '{image}'$x `'", "it \"is ", "$x `"),
        ("printf %s \"it's {image}\"", "it's ", ""),
        ("printf %s it\\'s\\ {image}", "it's ", ""),
        ("printf %s \"\\\"{image}\\\\\"", "\"", "\\"),
        ("# it's {image}\nprintf %s {image} # it's", "", ""),
        ("(printf %s \"$(printf '%s|' {image})\")", "", "|"),
        ("printf %s \"$(printf '%s|' \"{image}\")\"", "", "|"),
        ("printf %s \"$(printf '%s|' '{image}')\"\"{image}\"", "", "|"),
        ("printf %s \"a$(echo $((1 + (2))))'\"{image}", "a3'", ""),
        ("printf '%s' \"`printf '%s|' {image}`\"", "", "|"),
        ("X=`printf '%s|' \"{image}\"`; printf %s \"$X\"", "", "|"),
        ("X=`printf '%s|' '{image}'`; printf %s \"$X\"", "", "|"),
        ("printf %s \"${NOT_THERE-{image}}\"", "", ""),
        ("printf %s ${NOT_THERE-{image}}", "", ""),
        ("printf %s \"${#NOT_THERE}{image}\"", "0", ""),
        ("X={image}; printf %s \"$X\"", "", ""),
    ];

    fn run(command: &str) -> Vec<u8> {
        let done = Command::new("sh").args(["-c", command]).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{command}: {done:?}");
        done.stdout
    }

    #[test]
    fn whatever_a_path_is_the_shell_takes_it_as_it_is() {
        let parts: [&[u8]; 16] = [
            b" ",
            b"\n",
            b"'",
            b"\"",
            b"\\",
            b"$",
            b"$(x)",
            b"`",
            b"{image}",
            b"{folder}",
            b"}",
            b"#",
            b"*;&|<>()",
            "caf\u{e9} \u{1f600}".as_bytes(),
            b"\xe9",
            b"plain",
        ];
        // A chance that is the same each time.
        let mut state = 1_u64;
        let mut chance = |of: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % of
        };
        let mut names: Vec<Vec<u8>> = parts.iter().map(|part| [b"/d/a", *part].concat()).collect();
        names.extend((0..20).map(|_| {
            let some: Vec<&[u8]> = (0..=chance(6)).map(|_| parts[chance(parts.len())]).collect();
            [b"/d/", &some.concat()[..]].concat()
        }));
        for name in &names {
            let path = Path::new(OsStr::from_bytes(name));
            for (command, before, after) in COMMANDS {
                let times = command.matches("{image}").count() - usize::from(command.starts_with('#'));
                let command = filled(command, &[("{image}", path), ("{folder}", Path::new("/d"))]);
                let mut wanted = [before.as_bytes(), name, after.as_bytes()].concat();
                if times > 1 {
                    wanted.extend(name);
                }
                let said = run(&command);
                assert_eq!(said, wanted, "{command}: {}", String::from_utf8_lossy(&said));
            }
        }
    }

    #[test]
    fn a_plain_path_stands_as_it_is_everywhere() {
        let values = [("{image}", Path::new("/d/caf\u{e9}-1.db")), ("{acknowledged}", Path::new("7"))];
        let command = "A=1 ./c '{image}' \"{acknowledged}\" <<E\nit's {image}\nE\n{none} ${image}";
        let wanted = command.replace("{image}", "/d/caf\u{e9}-1.db").replace("{acknowledged}", "7");
        assert_eq!(filled(command, &values), wanted);
    }
}
