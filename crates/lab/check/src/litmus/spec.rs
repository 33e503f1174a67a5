//! The tests that stand in the tree: Markdown whose `litmus` blocks say what is expected of them.

/// The specifications: file and text.
pub const SPECS: &[(&str, &str)] = &[
    ("docs/spec/litmus-x86.md", include_str!("../../../../../docs/spec/litmus-x86.md")),
    ("docs/spec/litmus-arm.md", include_str!("../../../../../docs/spec/litmus-arm.md")),
    ("docs/spec/litmus-release.md", include_str!("../../../../../docs/spec/litmus-release.md")),
    ("docs/spec/litmus-shared.md", include_str!("../../../../../docs/spec/litmus-shared.md")),
];

/// A litmus test inside a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Lines of the file before it.
    pub lines_before: usize,
    /// The test.
    pub text: String,
}

/// Text without the mark of its encoding, which some editors put before it and nobody sees.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The tests of a file: each block between ```` ```litmus ```` and ```` ``` ````, or the whole file where it has none.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let text = without_mark(text);
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start();
        match &mut open {
            None if fence.trim_end() == "```litmus" => {
                open = Some(Block { lines_before: index + 1, text: String::new() });
            }
            Some(_) if fence.starts_with("```") => found.extend(open.take()),
            Some(block) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    found.extend(open);
    if found.is_empty() { vec![Block { lines_before: 0, text: text.to_string() }] } else { found }
}
