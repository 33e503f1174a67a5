//! A page of the project's Markdown, for a terminal: paragraphs and tables as wide as that.

use crate::lines::folded;
use crate::table::Table;

/// What stands between two empty lines, as far as its lines belong together.
enum Part {
    /// Lines that are one paragraph, or a heading.
    Text(String),
    /// The rows of a table.
    Rows(Vec<Vec<String>>),
    Empty,
}

/// The page in lines of at most `width`.
pub(crate) fn readable(page: &str, width: usize) -> String {
    parts(page).iter().map(|part| part.text(width)).collect()
}

impl Part {
    fn text(&self, width: usize) -> String {
        match self {
            Part::Text(text) if text.starts_with('#') => heading(text),
            Part::Text(text) => folded(&plain(text), width).join("\n") + "\n",
            Part::Empty => "\n".into(),
            Part::Rows(rows) => {
                let rows = rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
                Table::of_text(rows).text(width)
            }
        }
    }
}

/// A heading with a line below it.
fn heading(text: &str) -> String {
    let title = plain(text.trim_start_matches('#').trim());
    let rule = if text.starts_with("##") { "-" } else { "=" };
    format!("{title}\n{}\n", rule.repeat(title.chars().count()))
}

/// What is read of a text: without the marks of code and weight, of a link what it is called.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['[', '`']) {
        out += &rest[..at].replace("**", "");
        rest = &rest[at..];
        let code = rest.strip_prefix('`').and_then(|inner| inner.split_once('`'));
        let linked = rest.strip_prefix('[').and_then(|inner| inner.split_once("]("));
        let linked = linked.and_then(|(name, to)| Some((name, to.split_once(')')?.1)));
        if let Some((inner, after)) = code {
            out += inner;
            rest = after;
        } else if let Some((name, after)) = linked {
            out += &plain(name);
            rest = after;
        } else {
            out += &rest[..1];
            rest = &rest[1..];
        }
    }
    out + &rest.replace("**", "")
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in page.lines() {
        let is_list = line.trim_start().starts_with("- ");
        match parts.last_mut() {
            _ if line.trim().is_empty() => parts.push(Part::Empty),
            Some(Part::Rows(rows)) if line.starts_with('|') => rows.extend(row(line)),
            _ if line.starts_with('|') => parts.push(Part::Rows(row(line).into_iter().collect())),
            Some(Part::Text(text)) if !is_list && !text.starts_with('#') => {
                text.push(' ');
                text.push_str(line.trim());
            }
            None | Some(Part::Text(_) | Part::Rows(_) | Part::Empty) => parts.push(Part::Text(line.into())),
        }
    }
    parts
}

/// The cells of a table's line; the line below its head has none.
fn row(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    let cells: Vec<String> = inner.split('|').map(|cell| cell.trim().to_string()).collect();
    let is_rule = cells.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
    (!is_rule).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_tables_drawn() {
        let page = "# Of two\nOne paragraph\non two lines.\n\n- a list\n- of two\n\n| a | b |\n|---|---|\n| 1 | two words |\n";
        assert_eq!(
            readable(page, 40),
            "Of two\n======\nOne paragraph on two lines.\n\n- a list\n- of two\n\na  b\n-  ---------\n1  two words\n"
        );
        let narrow = readable(&page.replace("two words", "many words that are no table any more"), 20);
        assert!(narrow.lines().all(|line| line.len() <= 20), "{narrow}");
    }
    #[test]
    fn marks_are_left_out_and_code_is_as_it_stands() {
        assert_eq!(plain("**a** [b `c_d`](x#y), `2 ** 3` [e] and [f"), "a b c_d, 2 ** 3 [e] and [f");
        assert_eq!(readable("## Of `two`\n", 40), "Of two\n------\n");
    }
}
