//! `coreplane litmus`.

use crate::Failure;
use crate::args::{LitmusArgs, MethodChoice};
use crate::lines::say;
use crate::output::{self, Table};
use check::litmus::{
    self, Block, ImageValues, MODELS, Method, Model, Options, Question, SPECS, Test, Unfinished,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub(crate) fn litmus(args: &LitmusArgs) -> Result<(), Failure> {
    let tests = tests(&texts(&args.files)?)?;
    let rows = look(args, &tests)?;
    if output::is_json(&args.common) {
        output::print_json(&Value::Array(rows.iter().map(Row::json).collect()));
    } else {
        print(&rows, args.files.is_empty());
    }
    let wrong: Vec<String> =
        rows.iter().filter(|r| !r.ok).map(|r| format!("{} under {}", r.test.name, r.model)).collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::DoesNotHold(format!("not as asked: {}", wrong.join(", "))))
    }
}

/// What each model says of each test.
pub(crate) fn look<'a>(args: &LitmusArgs, tests: &'a [(String, Test)]) -> Result<Vec<Row<'a>>, Failure> {
    let models = models(args.model.as_deref())?;
    let method = match args.method {
        MethodChoice::View => Method::View,
        MethodChoice::Operational => Method::Operational,
    };
    let options = Options { method, failed_rmw_fences: args.failed_rmw_fences };
    let mut rows = Vec::new();
    let bar = crate::progress::bar(&args.common, tests.len(), "litmus");
    for (file, test) in tests {
        bar.step();
        let before = rows.len();
        for (name, model) in &models {
            // Unless asked for, a model of persistent caches says nothing new.
            if args.model.is_none() && *model == Model::Strict {
                continue;
            }
            match litmus::images(test, *model, options) {
                Ok(images) => rows.push(Row::new(file, test, name, images, options)?),
                Err(Unfinished::WrongModel) => {}
                Err(e) => return Err(Failure::BadInput(format!("{file}: {}: {e}", test.name))),
            }
        }
        if rows.len() == before && !args.files.is_empty() {
            let model = args.model.as_deref().unwrap_or_default();
            return Err(Failure::BadInput(format!(
                "{file}: {}: --model {model} is for another instruction set",
                test.name
            )));
        }
    }
    Ok(rows)
}

fn models(name: Option<&str>) -> Result<Vec<(&'static str, Model)>, Failure> {
    let Some(name) = name else { return Ok(MODELS.to_vec()) };
    let pairs = MODELS.iter().map(|(n, model)| (*n, (*n, *model)));
    Ok(vec![output::named("--model", name, pairs)?])
}

/// Names and texts of files; the project's own specifications where none is given.
pub(crate) fn texts(files: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for path in files {
        let name = path.display().to_string();
        let bytes = read(path).map_err(|e| {
            let is_machine = machine::Description::preset(&name).is_ok();
            let instead = if is_machine {
                "; litmus tests are files, asked of persistency models (--model): of a machine's protocol, explore tries every order"
            } else {
                ""
            };
            Failure::BadInput(format!("{name}: {e}{instead}"))
        })?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::BadInput(format!("{name}: not text in UTF-8, so no litmus file")))?;
        texts.push((name, text));
    }
    if texts.is_empty() {
        texts.extend(SPECS.iter().map(|(name, text)| (name.to_string(), text.to_string())));
    }
    Ok(texts)
}

/// A file's bytes, or those of standard input.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The tests in texts, each with its text's name.
pub(crate) fn tests(texts: &[(String, String)]) -> Result<Vec<(String, Test)>, Failure> {
    let mut tests = Vec::new();
    for (name, text) in texts {
        for Block { lines_before, text } in litmus::blocks(text) {
            let test = litmus::parse(&text).map_err(|e| {
                Failure::BadInput(format!("{name}:{}:{}: {}", e.line + lines_before, e.column, e.message))
            })?;
            tests.push((name.clone(), test));
        }
    }
    Ok(tests)
}

/// What one model says of one test.
pub(crate) struct Row<'a> {
    file: &'a str,
    test: &'a Test,
    model: &'static str,
    images: BTreeSet<ImageValues>,
    reachable: bool,
    holds: bool,
    expected: Option<String>,
    ok: bool,
}

impl<'a> Row<'a> {
    fn new(
        file: &'a str,
        test: &'a Test,
        model: &'static str,
        images: BTreeSet<ImageValues>,
        options: Options,
    ) -> Result<Row<'a>, Failure> {
        let (reachable, holds) = (test.question.reachable(&images), test.question.holds(&images));
        // Expectations are about the models as they are, not about their variants.
        let plain = !options.failed_rmw_fences && model != "strict";
        let expected =
            test.metadata(&format!("Expect.{model}")).or(test.metadata("Expect")).filter(|_| plain);
        let ok = match expected {
            Some(text) => as_expected(file, test, text, reachable, images.len())?,
            // A question whether something exists is answered either way; a claim holds or does not.
            None => holds || matches!(test.question, Question::Exists(_)),
        };
        let expected = expected.map(String::from);
        Ok(Row { file, test, model, images, reachable, holds, expected, ok })
    }

    pub(crate) fn json(&self) -> Value {
        let named = |image: &ImageValues| {
            let pairs = self.test.locations.iter().zip(image).map(|(l, v)| (l.clone(), json!(v)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        };
        json!({
            "file": self.file,
            "name": self.test.name,
            "model": self.model,
            "images": self.images.iter().map(named).collect::<Vec<_>>(),
            "image_count": self.images.len(),
            "reachable": self.reachable,
            "holds": self.holds,
            "expected": self.expected,
            "ok": self.ok,
        })
    }
}

/// `allowed 4`, `forbidden`, ...
fn as_expected(file: &str, test: &Test, text: &str, reachable: bool, count: usize) -> Result<bool, Failure> {
    let mut words = text.split_whitespace();
    let (word, number) = (words.next().unwrap_or_default(), words.next());
    let bad = || {
        Failure::BadInput(format!(
            "{file}: {}: Expect={text}: give `allowed` or `forbidden`, and the number of images",
            test.name
        ))
    };
    let allowed = match word.to_ascii_lowercase().as_str() {
        "allowed" => true,
        "forbidden" => false,
        _ => return Err(bad()),
    };
    let images = number.map(str::parse::<usize>).transpose().map_err(|_| bad())?;
    Ok(allowed == reachable && images.is_none_or(|n| n == count))
}

fn print(rows: &[Row<'_>], brief: bool) {
    let mut table = Table::new(["test", "model", "asked image", "expected", "images", ""]).left(4);
    for r in rows {
        let asked = if r.reachable { "reachable" } else { "unreachable" };
        let expected = r.expected.clone().unwrap_or_default();
        let ok = if r.ok { "" } else { "WRONG" };
        let count = r.images.len().to_string();
        table.row([r.test.name.clone(), r.model.into(), asked.into(), expected, count, ok.into()]);
    }
    table.print();
    if brief {
        let wrong = rows.iter().filter(|r| !r.ok).count();
        println!("\n{} rows, {wrong} not as expected", rows.len());
        return;
    }
    for r in rows {
        say!("\n{} under {}: {} images", r.test.name, r.model, r.images.len());
        for image in &r.images {
            let pairs = r.test.locations.iter().zip(image).map(|(l, v)| format!("{l}={v}"));
            say!("  {}", pairs.collect::<Vec<_>>().join(" "));
        }
    }
}
