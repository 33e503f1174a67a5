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
            Part::Text(text) => folded(text, width).join("\n") + "\n",
            Part::Empty => "\n".into(),
            Part::Rows(rows) => Table::of_text(rows.clone()).text(width),
        }
    }
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
            _ => parts.push(Part::Text(line.into())),
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
            "# Of two\nOne paragraph on two lines.\n\n- a list\n- of two\n\na  b\n-  ---------\n1  two words\n"
        );
        let narrow = readable(&page.replace("two words", "many words that are no table any more"), 20);
        assert!(narrow.lines().all(|line| line.len() <= 20), "{narrow}");
    }
}
