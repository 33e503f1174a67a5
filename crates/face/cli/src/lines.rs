//! Lines for people, no wider than the terminal.

use std::fmt::Arguments;
use std::io::{IsTerminal, stderr, stdout};

/// A line goes on below what follows its first gap, if so many columns are left there.
const LEAST_BELOW_A_GAP: usize = 24;

/// The columns of tables and paragraphs: of the terminal, or as `COLUMNS` says wherever they go.
pub(crate) fn width() -> usize {
    columns().unwrap_or_else(terminal)
}

/// The columns of text where nothing says how wide it may be: a pager's, a file's.
pub(crate) const PIPED: usize = 120;

/// The columns of what is text throughout.
pub(crate) fn text_width() -> usize {
    match width() {
        usize::MAX => PIPED,
        told => told,
    }
}

/// The columns of the terminal; without end where there is none.
fn terminal() -> usize {
    let size = stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    size.map_or(usize::MAX, |(columns, _)| usize::from(columns.0))
}

fn columns() -> Option<usize> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how wide a line may be is the host's business, and no result's"
    )]
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    told.filter(|columns| *columns > 0)
}

/// The width of single lines: what another program reads of them is whole.
pub(crate) fn line_width() -> usize {
    if stdout().is_terminal() { width() } else { usize::MAX }
}

/// Prints as `println!` does; on a terminal its lines are no wider than that.
macro_rules! say {
    ($($text:tt)*) => { $crate::lines::print(format_args!($($text)*)) };
}
pub(crate) use say;

pub(crate) fn print(text: Arguments<'_>) {
    folded(&text.to_string(), line_width()).iter().for_each(|line| println!("{line}"));
}

/// Prints a text of several sentences, as wide as a table.
pub(crate) fn paragraph(text: &str) {
    folded(text, width()).iter().for_each(|line| println!("{line}"));
}

/// Says something beside the result, on standard error.
pub(crate) fn remark(text: &str) {
    beside(&format!("coreplane: {text}")).iter().for_each(|line| eprintln!("{line}"));
}

/// `text` in lines for standard error.
pub(crate) fn beside(text: &str) -> Vec<String> {
    let size = stderr().is_terminal().then(|| terminal_size::terminal_size_of(stderr())).flatten();
    folded(text, size.map_or(usize::MAX, |(columns, _)| usize::from(columns.0)))
}

/// `text` in lines of at most `width`, broken between words; a line break in it stays one. What goes on below stands
/// under the text that follows a gap in its line (`name   what it is`), or as far in as the line began and a little more.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let below = " ".repeat(hanging(line, width));
        let mut rest = line.trim_end().to_string();
        while let Some(end) = place_to_break(&rest, width) {
            let next = format!("{below}{}", rest[end..].trim_start());
            lines.push(rest[..end].trim_end().to_string());
            rest = next;
        }
        lines.push(rest);
    }
    lines
}

/// The byte at which a line that is too long is broken: before the last word that does not fit, or after the first of
/// all when it is too long itself; nowhere when it is alone.
fn place_to_break(line: &str, width: usize) -> Option<usize> {
    let (end, _) = line.char_indices().nth(width)?;
    let start = line.len() - line.trim_start().len();
    let fits = if line[end..].starts_with(' ') { Some(end) } else { line[..end].rfind(' ') };
    fits.filter(|at| *at > start).or_else(|| {
        let from = end.max(start);
        Some(from + line[from..].find(' ')?)
    })
}

/// How far in the further lines of a line begin.
fn hanging(line: &str, width: usize) -> usize {
    let text = line.trim_start();
    let begin = line.chars().count() - text.chars().count();
    let gap = text.find("  ").map(|at| {
        let after = text[at..].trim_start();
        begin + text.chars().count() - after.chars().count()
    });
    let below_gap = gap.filter(|column| *column + LEAST_BELOW_A_GAP <= width);
    below_gap.unwrap_or(if begin == 0 { 0 } else { begin + 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_under_the_text_after_a_gap_or_a_little_further_in() {
        let text = "images      55 of 199 possible; those left out look the same\n  the store at a.c:1 can persist before the store at a.c:2";
        assert_eq!(
            folded(text, 40),
            [
                "images      55 of 199 possible; those",
                "            left out look the same",
                "  the store at a.c:1 can persist before",
                "    the store at a.c:2"
            ]
        );
        assert_eq!(folded(text, usize::MAX), text.split('\n').collect::<Vec<_>>());
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone_and_whole() {
        assert_eq!(folded("at /a/long/path/to.c and more", 10), ["at", "/a/long/path/to.c", "and more"]);
        assert_eq!(folded("  --replay 'px86:12:0,3,4'", 12), ["  --replay", "    'px86:12:0,3,4'"]);
        assert_eq!(folded("one two three", 7), ["one two", "three"]);
        assert_eq!(folded("", 5), [""]);
    }
}
