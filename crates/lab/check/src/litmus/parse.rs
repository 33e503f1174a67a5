//! Litmus files as herd7 writes them, for x86-64 and AArch64, and for hosts with x86's instructions.
//!
//! ```text
//! X86_64 name
//! "a comment"
//! Lines=x y          locations that share a cache line (each has its own otherwise)
//! Coherent=x         of hosts: locations whose lines hardware keeps coherent
//! Stops=P0           of hosts: those that may stop at any time
//! Links=P0           of hosts: those whose links may fail and come back at any time
//! Power=none         of hosts: the condition is about the media after a power failure that flushes none, device (as without) or global
//! Energy=short       of hosts: of what is flushed then, any part
//! Dirty=c            of hosts: the location that is one higher where the device counts a dirty shutdown
//! { x=0; y=0; 0:rdi=x; }
//!  P0            | P1            ;
//!  mov [x],$1    | mov eax,[x]   ;
//! exists (x=0 /\ y=1)
//! ```

mod code;
mod header;
mod question;

use super::{Isa, Location, Test};
use code::Assembler;

/// What is wrong with a litmus file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong, and what is accepted.
    pub message: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// A piece of the file and where it stands.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Piece<'a> {
    fn error(self, message: impl Into<String>) -> SyntaxError {
        SyntaxError { line: self.line, column: self.column, message: message.into() }
    }

    /// The part from byte `from` to byte `to`, without blanks around it.
    fn part(self, from: usize, to: usize) -> Piece<'a> {
        let text = &self.text[from..to];
        let blanks = text.len() - text.trim_start().len();
        let column = self.column + self.text[..from + blanks].chars().count();
        Piece { text: text.trim(), line: self.line, column }
    }

    fn trim(self) -> Piece<'a> {
        self.part(0, self.text.len())
    }

    fn split(self, at: char) -> Vec<Piece<'a>> {
        let mut from = 0;
        let mut parts = Vec::new();
        for (index, _) in self.text.match_indices(at) {
            parts.push(self.part(from, index));
            from = index + at.len_utf8();
        }
        parts.push(self.part(from, self.text.len()));
        parts
    }

    /// Both sides of the first `at`.
    fn cut(self, at: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let index = self.text.find(at)?;
        Some((self.part(0, index), self.part(index + at.len_utf8(), self.text.len())))
    }
}

/// The most locations, threads and bytes of a test.
const LIMITS: (usize, usize, usize) = (32, 8, 1 << 16);

/// Reads a test.
///
/// # Errors
/// Where the text is not a litmus test, with line and column.
pub fn parse(text: &str) -> Result<Test, SyntaxError> {
    let whole = |line| Piece { text: "", line, column: 1 };
    if text.len() > LIMITS.2 {
        return Err(whole(1).error(format!("longer than {} bytes", LIMITS.2)));
    }
    let plain = without_comments(super::spec::without_mark(text));
    let lines: Vec<Piece<'_>> = plain
        .lines()
        .enumerate()
        .map(|(i, text)| Piece { text, line: i + 1, column: 1 }.trim())
        .filter(|p| !p.text.is_empty())
        .collect();
    let Some((first, rest)) = lines.split_first() else {
        return Err(whole(1).error("empty: a test begins with X86_64, AArch64, RELEASE or HOSTS, and a name"));
    };
    let (isa, name) = heading(*first)?;
    let (test, assembler) = (empty(isa, name), Assembler::new(isa));
    let mut file = File { test, assembler, lines: Vec::new(), initialised: Vec::new() };
    let rest = file.prelude(rest)?;
    let rest = file.initial(rest, *first)?;
    let rest = file.programs(rest, *first)?;
    file.finish(rest, lines.last().copied().unwrap_or(*first))
}

/// Comments become blanks, so that columns stay.
fn without_comments(text: &str) -> String {
    let (mut plain, mut depth) = (String::with_capacity(text.len()), 0);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let pair = (c, chars.peek().copied());
        if pair == ('(', Some('*')) || pair == ('*', Some(')')) && depth > 0 {
            depth = if c == '(' { depth + 1 } else { depth - 1 };
            chars.next();
            plain.push_str("  ");
        } else if depth > 0 && c != '\n' {
            plain.push(' ');
        } else {
            plain.push(c);
        }
    }
    plain
}

fn heading(first: Piece<'_>) -> Result<(Isa, String), SyntaxError> {
    let mut words = first.text.split_whitespace();
    let isa = match words.next().unwrap_or_default() {
        "X86_64" | "X86" => Isa::X86_64,
        "AArch64" | "ARM8" => Isa::AArch64,
        "RELEASE" => Isa::Release,
        "HOSTS" => Isa::Hosts,
        other => {
            return Err(first.error(format!(
                "`{other}` is no instruction set here; accepted: X86_64, AArch64, RELEASE, HOSTS"
            )));
        }
    };
    let name = words.collect::<Vec<_>>().join(" ");
    if name.is_empty() { Err(first.error("the test has no name")) } else { Ok((isa, name)) }
}

fn empty(isa: Isa, name: String) -> Test {
    Test {
        isa,
        name,
        metadata: Vec::new(),
        locations: Vec::new(),
        initial: Vec::new(),
        lines: Vec::new(),
        threads: Vec::new(),
        registers: Vec::new(),
        question: super::Question::Exists(super::Condition::True),
    }
}

struct File<'a> {
    test: Test,
    assembler: Assembler,
    lines: Vec<Piece<'a>>,
    /// Locations that the initial state has said something of.
    initialised: Vec<Location>,
}

impl<'a> File<'a> {
    /// Comments in quotes and `Key=Value` lines, up to the initial state.
    fn prelude<'b>(&mut self, lines: &'b [Piece<'a>]) -> Result<&'b [Piece<'a>], SyntaxError> {
        for (index, line) in lines.iter().enumerate() {
            if line.text.starts_with('{') {
                return Ok(&lines[index..]);
            }
            if line.text.starts_with('"') {
                continue;
            }
            let Some((key, value)) = line.cut('=') else {
                return Err(
                    line.error("expected `Key=Value`, a comment in quotes, or the initial state in {}")
                );
            };
            header::check(key)?;
            if key.text == "Lines" {
                self.lines.extend(value.split(','));
            }
            self.test.metadata.push((key.text.to_string(), value.text.to_string()));
        }
        Ok(&[])
    }

    fn initial<'b>(
        &mut self,
        lines: &'b [Piece<'a>],
        first: Piece<'a>,
    ) -> Result<&'b [Piece<'a>], SyntaxError> {
        if lines.is_empty() {
            return Err(first.error("the initial state, { x=0; ... }, is missing"));
        }
        for (index, line) in lines.iter().enumerate() {
            let start = usize::from(index == 0);
            let end = line.text.find('}').unwrap_or(line.text.len());
            for item in line.part(start.min(end), end).split(';') {
                if !item.text.is_empty() {
                    self.initial_item(item)?;
                }
            }
            if end < line.text.len() {
                return Ok(&lines[index + 1..]);
            }
        }
        Err(lines[0].error("the initial state is not closed with }"))
    }

    /// `x=1`, `0:rdi=x`, `0:eax=3`; a type before the location is skipped.
    fn initial_item(&mut self, item: Piece<'a>) -> Result<(), SyntaxError> {
        let (left, right) = match item.cut('=') {
            Some((left, right)) => (left, Some(right)),
            None => (item, None),
        };
        if let Some((thread, register)) = left.cut(':') {
            let Some(right) = right else { return Err(item.error("expected `thread:register=value`")) };
            let thread: usize =
                thread.text.parse().map_err(|_| thread.error(format!("`{}` is no thread", thread.text)))?;
            if thread >= LIMITS.1 {
                return Err(left.error(format!("at most {} threads", LIMITS.1)));
            }
            let number = right.text.parse::<i64>().ok();
            let location = if number.is_none() { Some(self.location(right)?) } else { None };
            return self.assembler.bind(thread, register, number, location);
        }
        let name = left.text.rsplit([' ', '*']).next().unwrap_or(left.text);
        let place = left.text.len() - name.len();
        let location = self.location(left.part(place, left.text.len()))?;
        if self.initialised.contains(&location) {
            return Err(left.error(format!("`{name}` stands in the initial state twice")));
        }
        self.initialised.push(location);
        if let Some(right) = right {
            let value =
                right.text.parse().map_err(|_| right.error(format!("`{}` is no number", right.text)))?;
            self.test.initial[location.0] = value;
        }
        Ok(())
    }

    /// The location called so; made when it is new.
    fn location(&mut self, name: Piece<'a>) -> Result<Location, SyntaxError> {
        add_location(&mut self.test, name)
    }

    /// The table of instructions: a column for each thread.
    fn programs<'b>(
        &mut self,
        lines: &'b [Piece<'a>],
        first: Piece<'a>,
    ) -> Result<&'b [Piece<'a>], SyntaxError> {
        let Some((heads, rows)) = lines.split_first() else {
            return Err(first.error("the program, with a line `P0 | P1 ;`, is missing"));
        };
        let columns = row(*heads)?;
        for (index, column) in columns.iter().enumerate() {
            if column.text != format!("P{index}") {
                return Err(column.error(format!("expected P{index}, found `{}`", column.text)));
            }
        }
        if columns.len() > LIMITS.1 {
            return Err(heads.error(format!("at most {} threads", LIMITS.1)));
        }
        self.assembler.threads(columns.len(), *heads)?;
        for (index, line) in rows.iter().enumerate() {
            if question::begins(line.text) {
                return Ok(&rows[index..]);
            }
            let cells = row(*line)?;
            if cells.len() > columns.len() {
                return Err(line.error(format!("{} columns, but {} threads", cells.len(), columns.len())));
            }
            for (thread, cell) in cells.iter().enumerate().filter(|(_, c)| !c.text.is_empty()) {
                self.assembler.line(&mut self.test, thread, *cell)?;
            }
        }
        Ok(&[])
    }

    fn finish(mut self, rest: &[Piece<'a>], last: Piece<'a>) -> Result<Test, SyntaxError> {
        self.assembler.finish(&mut self.test)?;
        if rest.is_empty() {
            return Err(last.error("the question is missing: exists, ~exists or forall, and a condition"));
        }
        self.test.question = question::parse(&self.test, rest)?;
        self.cache_lines()?;
        match self.test.refused().filter(|_| self.test.isa == Isa::Hosts) {
            Some(text) => Err(last.error(text)),
            None => Ok(self.test),
        }
    }

    fn cache_lines(&mut self) -> Result<(), SyntaxError> {
        let mut group: Vec<usize> = (0..self.test.locations.len()).collect();
        for piece in std::mem::take(&mut self.lines) {
            let mut together = None;
            for name in piece.text.split_whitespace() {
                let Some(l) = self.test.locations.iter().position(|n| n == name) else {
                    return Err(piece.error(format!("Lines: `{name}` is no location of this test")));
                };
                group[l] = *together.get_or_insert(group[l]);
            }
        }
        let mut used: Vec<usize> = group.clone();
        used.sort_unstable();
        used.dedup();
        self.test.lines = group.iter().map(|g| used.iter().position(|u| u == g).unwrap_or(0)).collect();
        Ok(())
    }
}

fn row(line: Piece<'_>) -> Result<Vec<Piece<'_>>, SyntaxError> {
    let Some(end) = line.text.rfind(';') else {
        return Err(line.error("a line of the program ends with ;"));
    };
    Ok(line.part(0, end).split('|'))
}

fn add_location(test: &mut Test, name: Piece<'_>) -> Result<Location, SyntaxError> {
    if let Some(index) = test.locations.iter().position(|l| l == name.text) {
        return Ok(Location(index));
    }
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    if !name.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.text.chars().all(letter)
    {
        return Err(name.error(format!("`{}` is no location", name.text)));
    }
    if test.locations.len() == LIMITS.0 {
        return Err(name.error(format!("at most {} locations", LIMITS.0)));
    }
    test.locations.push(name.text.to_string());
    test.initial.push(0);
    Ok(Location(test.locations.len() - 1))
}
