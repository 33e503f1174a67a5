//! Tables for people, as wide as the terminal.

use std::io::IsTerminal;

/// A last column that is text is wrapped, but not into less than this.
const LEAST_TEXT: usize = 24;

/// A table: the first columns are text and to the left, then numbers to the right, then text again.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    left: usize,
    text_from: usize,
}

/// The columns that there are: of the terminal, or as `COLUMNS` says. Nothing that is read by another program is wrapped.
pub(crate) fn width() -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "how wide a line may be is the host's business, and no result's"
    )]
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || {
        let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        size.map(|(columns, _)| usize::from(columns.0))
    };
    told.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

impl Table {
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        Table { rows: vec![head.into_iter().map(Into::into).collect()], left: 1, text_from: usize::MAX }
    }

    /// The first `columns` columns are text.
    pub(crate) fn left(mut self, columns: usize) -> Table {
        self.left = columns;
        self
    }

    /// Columns from this one on are text too.
    pub(crate) fn text_from(mut self, column: usize) -> Table {
        self.text_from = column;
        self
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn print(&self) {
        print!("{}", self.text(width()));
    }

    fn is_text(&self, column: usize) -> bool {
        column < self.left || column >= self.text_from
    }

    /// The table in lines of at most `width`, where that can be: a last column of text is wrapped, and numbers that find
    /// no room stand in another block below, each with the first column.
    pub(crate) fn text(&self, width: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns)
            .map(|c| {
                self.rows
                    .iter()
                    .filter(|r| r.len() > 1 || columns == 1)
                    .filter_map(|r| r.get(c))
                    .map(|s| longest(s))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let all = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if all(&widths) <= width || columns == 0 {
            return self.block(&(0..columns).collect::<Vec<_>>(), &widths);
        }
        if self.is_text(columns - 1) {
            let others = all(&widths) - widths[columns - 1];
            widths[columns - 1] = width.saturating_sub(others).max(LEAST_TEXT);
            return self.block(&(0..columns).collect::<Vec<_>>(), &widths);
        }
        let (mut blocks, mut block) = (Vec::new(), vec![0]);
        for column in 1..columns {
            let used: usize = block.iter().map(|c| widths[*c] + 2).sum();
            if used + widths[column] > width && block.len() > 1 {
                blocks.push(std::mem::replace(&mut block, vec![0]));
            }
            block.push(column);
        }
        blocks.push(block);
        blocks.iter().map(|block| self.block(block, &widths)).collect::<Vec<_>>().join("\n")
    }

    fn block(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text += &self.line(row, columns, widths);
            if index == 0 {
                let rules: Vec<String> = columns.iter().map(|c| "-".repeat(widths[*c])).collect();
                text += &(rules.join("  ") + "\n");
            }
        }
        text
    }

    /// A row, its last cell on as many lines as it takes.
    fn line(&self, row: &[String], columns: &[usize], widths: &[usize]) -> String {
        let columns: Vec<usize> = columns.iter().copied().filter(|c| *c < row.len()).collect();
        let Some((last, first)) = columns.split_last() else { return "\n".into() };
        if row.len() == 1 && widths.len() > 1 {
            // A heading among rows.
            return format!("{}\n", row[0]);
        }
        let mut line = String::new();
        for column in first {
            let (cell, w) = (&row[*column], widths[*column]);
            line += &if self.is_text(*column) { format!("{cell:<w$}  ") } else { format!("{cell:>w$}  ") };
        }
        if !self.is_text(*last) {
            return format!("{line}{:>w$}\n", row[*last], w = widths[*last]);
        }
        let indent = format!("\n{}", " ".repeat(line.chars().count()));
        line += &wrapped(&row[*last], widths[*last]).join(&indent);
        format!("{}\n", line.trim_end())
    }
}

/// The longest line of a cell.
fn longest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// `text` in lines of at most `width`, broken between words; a line break in it stays one.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut used) = (String::new(), 0);
        for word in paragraph.split_whitespace() {
            let long = word.chars().count();
            if used > 0 && used + 1 + long > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += long;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics() -> Table {
        let mut table = Table::new(["statistic", "value", "unit", "meaning"]).text_from(2);
        table.row(["cpu.fences", "1,007", "", "fences of all programs, those of libraries included"]);
        table.row(["memory.bytes_written", "76.1", "kB", "bytes"]);
        table
    }

    #[test]
    fn the_last_column_is_wrapped_and_nothing_is_wider_than_the_terminal() {
        let text = statistics().text(64);
        assert!(text.lines().all(|line| line.chars().count() <= 64), "{text}");
        assert_eq!(
            text,
            "statistic             value  unit  meaning\n\
             --------------------  -----  ----  -----------------------------\n\
             cpu.fences            1,007        fences of all programs, those\n\
             \u{20}                                  of libraries included\n\
             memory.bytes_written   76.1  kB    bytes\n"
        );
        assert!(statistics().text(usize::MAX).lines().nth(2).is_some_and(|l| l.ends_with("included")));
    }

    #[test]
    fn numbers_that_find_no_room_stand_in_another_block() {
        let mut table = Table::new(["machine", "time", "reads", "writes"]);
        table.row(["intel", "1,000", "20,000", "30,000"]);
        assert_eq!(
            table.text(24),
            "machine   time   reads\n-------  -----  ------\nintel    1,000  20,000\n\nmachine  writes\n-------  ------\nintel    30,000\n"
        );
    }
}
