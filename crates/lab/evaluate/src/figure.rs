//! What a figure shows, as rows; the face draws it.

use serde_json::{Value, json};

/// One bar or point.
#[derive(Clone, Debug)]
pub struct Row {
    /// The workload, empty where the figure is about one.
    pub workload: String,
    /// The machine.
    pub machine: String,
    /// The place on the horizontal axis, where that is not the workload.
    pub x: Option<f64>,
    /// The value.
    pub value: f64,
    /// A second value: the 99th percentile.
    pub high: Option<f64>,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// File name without ending.
    pub name: &'static str,
    /// Title.
    pub title: String,
    /// What the reader sees, and which figure of the paper it stands beside.
    pub caption: String,
    /// `grouped`, `capped` or `lines`.
    pub kind: &'static str,
    /// Label of the vertical axis.
    pub axis: &'static str,
    /// Label of the horizontal axis, for lines.
    pub x: &'static str,
    /// Machines in their order.
    pub order: Vec<String>,
    /// The data.
    pub rows: Vec<Row>,
}

impl Figure {
    pub(crate) fn to_json(&self) -> Value {
        let row = |r: &Row| {
            let mut v = json!({"machine": r.machine, "value": r.value});
            if !r.workload.is_empty() {
                v["workload"] = r.workload.clone().into();
            }
            if let Some(x) = r.x {
                v["x"] = x.into();
            }
            if let Some(high) = r.high {
                v["high"] = high.into();
            }
            v
        };
        json!({
            "name": self.name, "title": self.title, "caption": self.caption, "kind": self.kind, "axis": self.axis,
            "x": self.x, "order": self.order, "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number.
    Number(f64),
}

/// A table, drawn by nobody.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What it is about.
    pub title: String,
    /// What the reader sees.
    pub caption: String,
    /// The head of each column; the first is the machine's.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// For JSON: numbers are numbers.
    pub fn to_json(&self) -> Value {
        let cell = |c: &Cell| match c {
            Cell::Text(text) => json!(text),
            Cell::Number(number) => json!(number),
        };
        let rows: Vec<Vec<Value>> = self.rows.iter().map(|r| r.iter().map(cell).collect()).collect();
        json!({"title": self.title, "caption": self.caption, "head": self.head, "rows": rows})
    }
}

/// A row.
pub(crate) fn row(workload: &str, machine: &str, x: Option<f64>, value: f64) -> Row {
    Row { workload: workload.into(), machine: machine.into(), x, value, high: None }
}

/// A figure without its rows.
pub(crate) struct Lines<'a> {
    pub(crate) name: &'static str,
    pub(crate) title: &'a str,
    pub(crate) caption: &'a str,
    pub(crate) axis: &'static str,
    pub(crate) x: &'static str,
    pub(crate) order: &'a [&'a str],
}

impl Lines<'_> {
    pub(crate) fn figure(self, kind: &'static str, rows: Vec<Row>) -> Figure {
        let Lines { name, title, caption, axis, x, order } = self;
        let order = order.iter().map(ToString::to_string).collect();
        Figure { name, title: title.into(), caption: caption.into(), kind, axis, x, order, rows }
    }
}
