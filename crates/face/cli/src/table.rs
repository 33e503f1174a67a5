//! Tables for people, as wide as the terminal.

use crate::lines::{PIPED, folded, width};

/// A last column that is text is wrapped, but not into less than this.
const LEAST_TEXT: usize = 24;

/// A table: the first columns are text and to the left, then numbers to the right, then text again.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    left: usize,
    text_from: usize,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        Table { rows: vec![head.into_iter().map(Into::into).collect()], left: 1, text_from: usize::MAX }
    }

    /// Of text alone, the head first.
    pub(crate) fn of_text(rows: Vec<Vec<String>>) -> Table {
        Table { rows, left: usize::MAX, text_from: 0 }
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
        print!("{}", self.text(width().min(self.piped())));
    }

    /// Where there is no terminal, a last column of text is wrapped, if the others leave it room; numbers stay in their rows.
    fn piped(&self) -> usize {
        let widths = self.widths();
        let others: Vec<usize> = (0..widths.len().saturating_sub(1)).collect();
        let room = wide(&others, &widths) + 2 + LEAST_TEXT <= PIPED;
        if self.is_text(others.len()) && room { PIPED } else { usize::MAX }
    }

    fn is_text(&self, column: usize) -> bool {
        column < self.left || column >= self.text_from
    }

    /// The table in lines of at most `width`, where that can be: a last column of text is wrapped, or stands below its row
    /// where it finds no room; numbers that find none stand in another block below, each with the first column; and where
    /// not even two columns are as narrow, every cell has a line of its own.
    pub(crate) fn text(&self, width: usize) -> String {
        let mut widths = self.widths();
        let Some(last) = widths.len().checked_sub(1) else { return String::new() };
        let all: Vec<usize> = (0..=last).collect();
        if wide(&all, &widths) <= width {
            return self.block(&all, &widths);
        }
        if self.is_text(last) {
            let others = wide(&all, &widths) - widths[last];
            if others + LEAST_TEXT <= width {
                widths[last] = width - others;
                return self.block(&all, &widths);
            }
            let fits = last > 0 && wide(&all[..last], &widths) <= width;
            return if fits { self.below(&all[..last], &widths, width) } else { self.cells(width) };
        }
        let (mut blocks, mut block) = (Vec::new(), vec![0]);
        for column in 1..=last {
            block.push(column);
            if wide(&block, &widths) > width && block.len() > 2 {
                block.pop();
                blocks.push(std::mem::replace(&mut block, vec![0, column]));
            }
        }
        blocks.push(block);
        if blocks.iter().any(|block| wide(block, &widths) > width) {
            return self.cells(width);
        }
        blocks.iter().map(|block| self.block(block, &widths)).collect::<Vec<_>>().join("\n")
    }

    /// The longest line of each column; headings among rows belong to none.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let rows = || self.rows.iter().filter(|r| r.len() > 1 || columns == 1);
        (0..columns).map(|c| rows().filter_map(|r| r.get(c)).map(|s| longest(s)).max().unwrap_or(0)).collect()
    }

    fn block(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text += &self.line(row, columns, widths);
            if index == 0 {
                text += &rule(columns, widths);
            }
        }
        text
    }

    /// Each row's last cell below the others.
    fn below(&self, columns: &[usize], widths: &[usize], width: usize) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text += &self.line(row, columns, widths);
            let last = row.get(columns.len()).filter(|cell| !cell.is_empty());
            last.into_iter().for_each(|cell| text += &indented(cell, width));
            if index == 0 {
                text += &rule(columns, widths);
            }
        }
        text
    }

    /// A line for each cell with the name of its column, under the first of its row.
    fn cells(&self, width: usize) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        let names = head.iter().skip(1).map(|name| longest(name)).max().unwrap_or(0);
        let mut text = String::new();
        for row in rows {
            text += &lined(folded(&row[0], width));
            let cells = head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
            for (name, cell) in cells {
                let mut paragraphs = cell.split('\n');
                let first = paragraphs.next().unwrap_or_default();
                text += &lined(folded(&format!("  {name:<names$}  {first}"), width));
                paragraphs.for_each(|more| text += &indented(more, width));
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
        line += &folded(&row[*last], widths[*last]).join(&indent);
        format!("{}\n", line.trim_end())
    }
}

/// The longest line of a cell.
fn longest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// How wide columns are together.
fn wide(columns: &[usize], widths: &[usize]) -> usize {
    columns.iter().map(|c| widths[*c]).sum::<usize>() + 2 * columns.len().saturating_sub(1)
}

fn rule(columns: &[usize], widths: &[usize]) -> String {
    let rules: Vec<String> = columns.iter().map(|c| "-".repeat(widths[*c])).collect();
    rules.join("  ") + "\n"
}

fn lined(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A cell that stands below its row.
fn indented(cell: &str, width: usize) -> String {
    const INDENT: &str = "    ";
    let lines = folded(cell, width.saturating_sub(INDENT.len()));
    lined(lines.into_iter().map(|line| format!("{INDENT}{line}")).collect())
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
    fn without_a_terminal_text_is_wrapped_and_numbers_are_not() {
        let mut table = statistics();
        table.row(["time.idle", "1", "ns", &"a long meaning ".repeat(40)]);
        assert_eq!(table.piped(), PIPED);
        let mut numbers = Table::new(["machine"; 40]);
        numbers.row(["12,345,678"; 40]);
        assert_eq!(numbers.piped(), usize::MAX);
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

    #[test]
    fn text_that_finds_no_room_stands_below_its_row() {
        assert_eq!(
            statistics().text(40),
            "statistic             value  unit\n    meaning\n--------------------  -----  ----\n\
             cpu.fences            1,007\n    fences of all programs, those of\n    libraries included\n\
             memory.bytes_written   76.1  kB\n    bytes\n"
        );
    }

    #[test]
    fn where_nothing_fits_side_by_side_each_cell_has_its_line() {
        let mut table = Table::new(["file", "bytes", "stores"]);
        table.row(["/a/folder/with/a/long/name/kv.pm", "65,536", "12"]);
        assert_eq!(table.text(30), "/a/folder/with/a/long/name/kv.pm\n  bytes   65,536\n  stores  12\n");
    }
}
