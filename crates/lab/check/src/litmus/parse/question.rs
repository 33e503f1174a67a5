//! `exists (x=0 /\ [y]=1)`, `~exists (...)`, `forall (...)`.

use super::super::{Condition, Location, Question, Test};
use super::{Piece, SyntaxError};

/// How deep conditions may nest.
const DEPTH: usize = 32;

pub(super) fn begins(text: &str) -> bool {
    ["exists", "~exists", "~ exists", "forall"].iter().any(|w| text.starts_with(w))
}

pub(super) fn parse(test: &Test, lines: &[Piece<'_>]) -> Result<Question, SyntaxError> {
    let tokens = tokens(lines)?;
    let mut reader = Reader { test, tokens: &tokens, at: 0 };
    let negative = reader.take("~");
    let word = reader.next("exists, ~exists or forall")?;
    if !matches!(word.text, "exists" | "forall") || (negative && word.text != "exists") {
        return Err(word.error("expected exists, ~exists or forall"));
    }
    let condition = reader.or(0)?;
    if let Some(extra) = reader.tokens.get(reader.at) {
        return Err(extra.error(format!("unexpected `{}` after the condition", extra.text)));
    }
    Ok(match (negative, word.text) {
        (true, _) => Question::NotExists(condition),
        (false, "forall") => Question::ForAll(condition),
        _ => Question::Exists(condition),
    })
}

fn tokens<'a>(lines: &[Piece<'a>]) -> Result<Vec<Piece<'a>>, SyntaxError> {
    let mut tokens = Vec::new();
    for line in lines {
        let mut at = 0;
        while at < line.text.len() {
            let rest = &line.text[at..];
            let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\'');
            let length = match rest.chars().next() {
                Some(c) if c.is_whitespace() => {
                    at += c.len_utf8();
                    continue;
                }
                Some('/' | '\\') if rest.starts_with("/\\") || rest.starts_with("\\/") => 2,
                Some('(' | ')' | '=' | '~' | '[' | ']') => 1,
                Some(c) if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                Some(c) => return Err(line.part(at, at + c.len_utf8()).error(format!("unexpected `{c}`"))),
                None => break,
            };
            tokens.push(line.part(at, at + length));
            at += length;
        }
    }
    Ok(tokens)
}

struct Reader<'a, 'b> {
    test: &'b Test,
    tokens: &'b [Piece<'a>],
    at: usize,
}

impl<'a> Reader<'a, '_> {
    fn take(&mut self, text: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|t| t.text == text);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self, wanted: &str) -> Result<Piece<'a>, SyntaxError> {
        let last = self.tokens.last().copied().unwrap_or(Piece { text: "", line: 1, column: 1 });
        let token = self.tokens.get(self.at).copied();
        self.at += 1;
        token.ok_or_else(|| last.error(format!("the condition ends early: expected {wanted}")))
    }

    fn expect(&mut self, text: &str) -> Result<(), SyntaxError> {
        let token = self.next(text)?;
        if token.text == text {
            Ok(())
        } else {
            Err(token.error(format!("expected `{text}`, found `{}`", token.text)))
        }
    }

    fn or(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        let mut some = vec![self.and(depth)?];
        while self.take("\\/") {
            some.push(self.and(depth)?);
        }
        Ok(if some.len() == 1 { some.remove(0) } else { Condition::Or(some) })
    }

    fn and(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        let mut all = vec![self.factor(depth)?];
        while self.take("/\\") {
            all.push(self.factor(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::And(all) })
    }

    fn factor(&mut self, depth: usize) -> Result<Condition, SyntaxError> {
        let token = self.next("a condition")?;
        if depth > DEPTH {
            return Err(token.error(format!("conditions nest deeper than {DEPTH}")));
        }
        match token.text {
            "true" => Ok(Condition::True),
            "~" => Ok(Condition::Not(Box::new(self.factor(depth + 1)?))),
            "(" => {
                let inner = self.or(depth + 1)?;
                self.expect(")")?;
                Ok(inner)
            }
            "[" => {
                let name = self.next("a location")?;
                self.expect("]")?;
                self.equals(name)
            }
            _ => self.equals(token),
        }
    }

    /// A location of the test: one that stands nowhere else would be zero, and say nothing.
    fn location(&self, name: Piece<'a>) -> Result<Location, SyntaxError> {
        let all = &self.test.locations;
        let place = all.iter().position(|l| l == name.text).map(Location);
        let missing = || format!("`{}` is no location of this test; it has {}", name.text, all.join(", "));
        place.ok_or_else(|| name.error(missing()))
    }

    fn equals(&mut self, name: Piece<'a>) -> Result<Condition, SyntaxError> {
        let location = self.location(name)?;
        self.expect("=")?;
        let value = self.next("a number")?;
        let number = value.text.parse();
        let number = number.map_err(|_| value.error(format!("`{}` is no number", value.text)))?;
        Ok(Condition::Equals(location, number))
    }
}
