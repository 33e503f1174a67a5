//! A file of claims: what is wrong in it is refused with file, line, claim and key. A key that is none of a claim's, nor looks like
//! one, is a note of whoever wrote it.

use super::{Claim, Claims};
use crate::PAPERS;
use machine::Reader;
use protocol::params::nearest;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What a claim may say of itself.
const KEYS: [&str; 10] =
    ["id", "paper", "where", "says", "kind", "unit", "value", "values", "tolerance", "use"];
const KINDS: [&str; 4] = ["value", "ratio", "share", "order"];
const PURPOSES: [&str; 3] = ["input", "calibrate", "predict"];

/// Reads a file's text; `file` is its name.
pub(super) fn read(file: &str, text: &str) -> Result<Claims, String> {
    let file = Reader { file, text };
    let table = file.parse().map_err(|e| e.0)?;
    for (key, value) in table.get_ref() {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("claim", _) => {}
            ("schema", DeValue::Integer(n)) if n.as_str() == "1" => {}
            ("schema", _) => return Err(file.error(value.span().start, "schema: give 1").0),
            (key, _) if nearest(key, ["claim"]).is_empty() => {}
            (key, _) => {
                return Err(file.error(value.span().start, &format!("{key}: give [[claim]] records")).0);
            }
        }
    }
    let Some(DeValue::Array(records)) = table.get_ref().get("claim").map(Spanned::get_ref) else {
        return Err(format!("{}: has no [[claim]] records", file.file));
    };
    let mut list: Vec<Claim> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let record = Record::of(&file, index, record)?;
        let claim = record.claim()?;
        if list.iter().any(|c| c.id == claim.id) {
            return Err(record.error("id", "is there twice; give each claim its own"));
        }
        list.push(claim);
    }
    Ok(Claims { list })
}

/// One claim, as it stands in the file.
struct Record<'a> {
    file: &'a Reader<'a>,
    at: usize,
    name: String,
    table: &'a DeTable<'a>,
}

impl<'a> Record<'a> {
    fn of(
        file: &'a Reader<'a>,
        index: usize,
        record: &'a Spanned<DeValue<'a>>,
    ) -> Result<Record<'a>, String> {
        let DeValue::Table(table) = record.get_ref() else {
            return Err(file.error(record.span().start, "claim: give [[claim]] records").0);
        };
        let at = record.span().start;
        let name = match table.get("id").map(Spanned::get_ref) {
            Some(DeValue::String(id)) => id.to_string(),
            _ => (index + 1).to_string(),
        };
        let record = Record { file, at, name, table };
        let is_mistaken = |key: &str| !KEYS.contains(&key) && !nearest(key, KEYS).is_empty();
        let unknown = table.keys().find(|key| is_mistaken(key.get_ref()));
        match unknown {
            Some(key) => {
                Err(record.error(key.get_ref(), &format!("is not known; a claim has {}", KEYS.join(", "))))
            }
            None => Ok(record),
        }
    }

    /// Says of a key what is wrong, in its line if it has one.
    fn error(&self, key: &str, wrong: &str) -> String {
        let at = self.table.get_key_value(key).map_or(self.at, |(name, _)| name.span().start);
        self.file.error(at, &format!("claim {}: {key}: {wrong}", self.name)).0
    }

    fn value(&self, key: &str) -> Option<&'a DeValue<'a>> {
        self.table.get(key).map(Spanned::get_ref)
    }

    fn text(&self, key: &str) -> Result<String, String> {
        match self.value(key) {
            Some(DeValue::String(text)) if !text.is_empty() => Ok(text.to_string()),
            _ => Err(self.error(key, "give a text in quotes")),
        }
    }

    fn word(&self, key: &str, known: &[&str]) -> Result<String, String> {
        match self.value(key) {
            Some(DeValue::String(word)) if known.contains(&word.as_ref()) => Ok(word.to_string()),
            _ => Err(self.error(key, &format!("give one of {}", known.join(", ")))),
        }
    }

    fn claim(&self) -> Result<Claim, String> {
        let papers = PAPERS.map(|p| p.name);
        if self.table.contains_key("unit") {
            self.text("unit")?;
        }
        let values = self.values()?;
        Ok(Claim {
            id: self.text("id")?,
            paper: self.word("paper", &papers)?,
            place: self.text("where")?,
            says: self.text("says")?,
            kind: self.kind(&values)?,
            purpose: self.word("use", &PURPOSES)?,
            tolerance: self.tolerance(&values)?,
            values,
        })
    }

    /// A claim without a kind is a statement, such as one that gives parameters.
    fn kind(&self, values: &[f64]) -> Result<String, String> {
        let kind = match self.value("kind") {
            None => "order".into(),
            Some(_) => self.word("kind", &KINDS)?,
        };
        match (kind.as_str(), values) {
            ("order", []) => Ok(kind),
            ("order", _) => Err(self.error("kind", "give value, ratio or share, since it has a value")),
            (_, []) => Err(self.error("value", "give a number")),
            ("share", values) if values.iter().any(|v| !(0.0..=1.0).contains(v)) => {
                let key = if self.table.contains_key("value") { "value" } else { "values" };
                Err(self.error(key, "a share is from 0 to 1"))
            }
            _ => Ok(kind),
        }
    }

    fn values(&self) -> Result<Vec<f64>, String> {
        let one = |key: &str, value: &DeValue<'_>| {
            let published = number(value).filter(|v| *v != 0.0);
            published
                .ok_or_else(|| self.error(key, "give a number other than 0, since ours is divided by it"))
        };
        match (self.value("value"), self.value("values")) {
            (None, None) => Ok(Vec::new()),
            (Some(value), None) => Ok(vec![one("value", value)?]),
            (None, Some(DeValue::Array(all))) if !all.is_empty() => numbers(all, |v| one("values", v)),
            (None, Some(_)) => Err(self.error("values", "give a list of numbers")),
            (Some(_), Some(_)) => Err(self.error("value", "give either value or values")),
        }
    }

    fn tolerance(&self, values: &[f64]) -> Result<f64, String> {
        match self.value("tolerance") {
            None => Ok(0.0),
            Some(_) if values.is_empty() => Err(self.error("tolerance", "a claim without a value has none")),
            Some(given) => number(given)
                .filter(|t| (0.0..=1.0).contains(t))
                .ok_or_else(|| self.error("tolerance", "give a share from 0 to 1, such as 0.15")),
        }
    }
}

fn numbers(all: &DeArray<'_>, one: impl Fn(&DeValue<'_>) -> Result<f64, String>) -> Result<Vec<f64>, String> {
    all.iter().map(|v| one(v.get_ref())).collect()
}

/// A finite number.
fn number(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        // As a program would write it, too: 0x10.
        DeValue::Integer(i) => return i64::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        DeValue::Float(f) => f.as_str(),
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return None,
    };
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[claim]]\nid = \"a.b\"\npaper = \"asap\"\nwhere = \"x\"\nsays = \"y\"\nkind = \"ratio\"\nvalue = 2\ntolerance = 0.15\nuse = \"predict\"\n";

    #[test]
    fn a_claim_is_read_whole() {
        let claims = read("c.toml", &format!("schema = 1\n{GOOD}")).unwrap();
        let [claim] = claims.list.as_slice() else { panic!("{claims:?}") };
        assert_eq!((claim.id.as_str(), claim.tolerance, claim.values.as_slice()), ("a.b", 0.15, &[2.0][..]));
    }

    #[test]
    fn an_integer_is_one_in_any_base() {
        for (given, value) in
            [("0x1_0", 16.0), ("0o17", 15.0), ("0b101", 5.0), ("-1_000", -1000.0), ("+3", 3.0)]
        {
            let claims = read("c.toml", &GOOD.replacen("value = 2", &format!("value = {given}"), 1)).unwrap();
            assert_eq!(claims.list[0].values, [value], "{given}");
        }
        assert!(read("c.toml", &GOOD.replacen("value = 2", "value = 0x0", 1)).is_err());
    }

    /// What is changed of a good claim, and how it is refused.
    const WRONG: [(&str, &str, &str); 18] = [
        ("\"ratio\"", "\"bogus\"", ":6: claim a.b: kind: give one of value, ratio, share, order"),
        ("\"ratio\"", "3", ":6: claim a.b: kind: give one of value"),
        ("\"ratio\"", "\"order\"", ":6: claim a.b: kind: give value, ratio or share, since it has a value"),
        ("\"ratio\"", "\"share\"", ":7: claim a.b: value: a share is from 0 to 1"),
        ("value = 2\ntolerance = 0.15", "", ":1: claim a.b: value: give a number"),
        ("\"predict\"", "\"preditc\"", ":9: claim a.b: use: give one of input, calibrate, predict"),
        ("value = 2", "value = nan", ":7: claim a.b: value: give a number other than 0"),
        ("value = 2", "value = inf", ":7: claim a.b: value: give a number other than 0"),
        ("value = 2", "values = []", ":7: claim a.b: values: give a list of numbers"),
        ("value = 2", "values = [1, \"2\"]", ":7: claim a.b: values: give a number other than 0"),
        ("0.15", "-0.5", ":8: claim a.b: tolerance: give a share from 0 to 1, such as 0.15"),
        ("0.15", "\"15 %\"", ":8: claim a.b: tolerance: give a share from 0 to 1, such as 0.15"),
        ("0.15", "15", ":8: claim a.b: tolerance: give a share from 0 to 1, such as 0.15"),
        ("tolerance", "tolerence", ":8: claim a.b: tolerence: is not known; a claim has id, paper, where"),
        ("\"asap\"", "\"asp\"", ":3: claim a.b: paper: give one of asap, nearpm, nvdimmc"),
        ("\"x\"", "\"\"", ":4: claim a.b: where: give a text in quotes"),
        ("id = \"a.b\"", "", ":1: claim 1: id: give a text in quotes"),
        ("[[claim]]", "schema = 2\n[[claim]]", ":1: schema: give 1"),
    ];

    #[test]
    fn what_is_not_known_is_refused_with_its_line() {
        for (good, wrong, said) in WRONG {
            let refused = read("c.toml", &GOOD.replacen(good, wrong, 1)).unwrap_err();
            assert!(refused.starts_with(&format!("c.toml{said}")), "{wrong}: {refused}");
        }
        let twice = read("c.toml", &format!("{GOOD}{GOOD}")).unwrap_err();
        assert_eq!(twice, "c.toml:11: claim a.b: id: is there twice; give each claim its own");
        let noted = format!("[made]\nby = \"me\"\n{GOOD}figure = \"8\"\n");
        assert_eq!(read("c.toml", &noted).map(|claims| claims.list.len()), Ok(1));
        assert_eq!(read("c.toml", "").unwrap_err(), "c.toml: has no [[claim]] records");
        assert!(read("c.toml", "claims = []").unwrap_err().starts_with("c.toml:1: claims: give [[claim]]"));
        assert!(read("c.toml", "claim = [1]").unwrap_err().starts_with("c.toml:1: claim: give [[claim]]"));
        assert!(read("c.toml", "\nclaim = ").unwrap_err().starts_with("c.toml:2: not TOML: "));
    }
}
