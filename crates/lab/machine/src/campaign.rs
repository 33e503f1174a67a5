//! Campaigns: which machines run which workloads with which settings, from a TOML file.
//!
//! ```toml
//! machines = ["hops-rp", "asap-rp"]
//! workloads = ["cceh", "queue"]
//! seeds = [1, 2]
//! [set]
//! workload.operations = 2000
//! [vary]
//! ordering.persist_buffer = [4, 8, 16, 32]
//! ```

use crate::describe::{Description, settable, unknown_key};
use crate::error::{ConfigError, suggestion};
use crate::memory_list::is_group;
use crate::params::begins;
use crate::reader::Reader;
use simulator::Simulator;
use std::collections::BTreeMap;
use std::fmt::Display;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The most runs of one campaign: more would be a mistake.
const MOST_RUNS: usize = 1_000_000;

const KEYS: [&str; 6] = ["about", "machines", "workloads", "seeds", "set", "vary"];

/// What a campaign asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Machines by name or file.
    pub machines: Vec<String>,
    /// Workloads by name or file.
    pub workloads: Vec<String>,
    /// Seeds; 1 alone unless said.
    pub seeds: Vec<u64>,
    /// What every run sets.
    pub set: Vec<Assignment>,
    /// What runs differ in: keys, with their line in the file, and the values of each.
    pub vary: Vec<(String, usize, Vec<String>)>,
    /// The line of the file where each machine and each workload is named.
    pub lines: BTreeMap<String, usize>,
}

/// A key, its value as text, and its line in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// A key of the machine or of the workload.
    pub key: String,
    /// What it is set to.
    pub value: String,
    /// Where that stands.
    pub line: usize,
}

/// One run of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// What is set, the values that vary last and in the order of [`Campaign::vary`].
    pub settings: Vec<Assignment>,
    /// The seed.
    pub seed: u64,
}

impl Campaign {
    /// A campaign from the text of a TOML file called `file`.
    ///
    /// # Errors
    /// When the text is no TOML, a key is unknown or missing, a list is empty, something is named twice, or there are
    /// more than a million runs: the message names file, line and what is accepted.
    pub fn parse(file: &str, text: &str) -> Result<Campaign, ConfigError> {
        let reader = Reader { file, text };
        let root = reader.parse()?;
        let table = root.get_ref();
        if let Some((name, _)) = table.iter().find(|(name, _)| !KEYS.contains(&&**name.get_ref())) {
            let near = suggestion(name.get_ref(), KEYS);
            let text = format!("unknown key \"{}\"{near} (accepted are {})", name.get_ref(), KEYS.join(", "));
            return Err(reader.error(name.span().start, &text));
        }
        if let Some(about) = table.get("about") {
            reader.string(about, "about")?;
        }
        let seeds = match table.get("seeds") {
            Some(value) => reader.seeds(value)?,
            None => vec![1],
        };
        let mut lines = BTreeMap::new();
        let campaign = Campaign {
            machines: reader.names(table, "machines", &mut lines)?,
            workloads: reader.names(table, "workloads", &mut lines)?,
            lines,
            seeds,
            set: reader.assignments(table)?,
            vary: reader.variations(table)?,
        };
        campaign.check().map_err(|text| ConfigError::new(format!("{file}: {text}")))?;
        Ok(campaign)
    }

    /// How many runs it has.
    pub fn len(&self) -> usize {
        self.counts().fold(1, usize::saturating_mul)
    }

    /// Never: each list has something.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every run: seeds change first, then the key that varies last, machines last.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        (0..self.len()).map(|index| self.point(index))
    }

    fn counts(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let varied = self.vary.iter().map(|(_, _, values)| values.len());
        [self.machines.len(), self.workloads.len()].into_iter().chain(varied).chain([self.seeds.len()])
    }

    fn point(&self, mut index: usize) -> Point {
        let mut digits: Vec<usize> = self
            .counts()
            .rev()
            .map(|count| {
                let digit = index % count;
                index /= count;
                digit
            })
            .collect();
        digits.reverse();
        let varied = self.vary.iter().zip(&digits[2..]).map(|((key, line, values), digit)| Assignment {
            key: key.clone(),
            value: values[*digit].clone(),
            line: *line,
        });
        Point {
            machine: self.machines[digits[0]].clone(),
            workload: self.workloads[digits[1]].clone(),
            settings: self.set.iter().cloned().chain(varied).collect(),
            seed: self.seeds[digits[digits.len() - 1]],
        }
    }

    fn check(&self) -> Result<(), String> {
        if let Some(a) = self.set.iter().find(|a| self.vary.iter().any(|(key, ..)| *key == a.key)) {
            return Err(format!("{}: stands under [set] and under [vary]", a.key));
        }
        if self.len() > MOST_RUNS {
            return Err(format!("{} runs: at most {MOST_RUNS} are accepted", self.len()));
        }
        Ok(())
    }
}

/// What the engine simulates.
const LINES: &str = "every cache line";

/// Whether machines, by the names that they were given by, simulate the same things: their times are shown side by side.
///
/// # Errors
/// When some simulate every cache line and others something else: the message names both.
pub fn comparable<'a>(machines: impl Iterator<Item = (&'a str, &'a Description)>) -> Result<(), ConfigError> {
    let what = |machine: &Description| machine.simulator().map_or(LINES, Simulator::simulates);
    let (lines, others): (Vec<_>, Vec<_>) = machines.partition(|(_, machine)| what(machine) == LINES);
    let Some((_, other)) = others.first().filter(|_| !lines.is_empty()) else { return Ok(()) };
    let names =
        |of: &[(&'a str, &Description)]| of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Err(ConfigError::new(format!(
        "{LINES} is simulated on {}, {} on {}; their times cannot be compared (compare each kind on its own)",
        names(&lines),
        what(other),
        names(&others)
    )))
}

/// The first of some values that stands before itself, too.
pub fn twice<T: PartialEq>(values: &[T]) -> Option<&T> {
    (1..values.len()).find(|i| values[..*i].contains(&values[*i])).map(|i| &values[i])
}

impl Reader<'_> {
    /// A list that is not empty, or one value for a list of one.
    fn list<'v, 'd>(
        &self,
        value: &'v Spanned<DeValue<'d>>,
        key: &str,
    ) -> Result<&'v [Spanned<DeValue<'d>>], ConfigError> {
        let DeValue::Array(list) = value.get_ref() else { return Ok(std::slice::from_ref(value)) };
        if list.is_empty() {
            return Err(self.error(value.span().start, &format!("{key}: the list is empty")));
        }
        Ok(list)
    }

    /// What a list holds, each once, with its place in the text.
    fn each_once<'v, 'd, T: PartialEq + Display>(
        &self,
        value: &'v Spanned<DeValue<'d>>,
        key: &str,
        read: impl Fn(&'v Spanned<DeValue<'d>>) -> Result<T, ConfigError>,
    ) -> Result<Vec<(T, usize)>, ConfigError> {
        let mut all: Vec<(T, usize)> = Vec::new();
        for value in self.list(value, key)? {
            let (new, at) = (read(value)?, value.span().start);
            if all.iter().any(|(old, _)| *old == new) {
                return Err(self.error(at, &format!("{key}: {new} stands there twice")));
            }
            all.push((new, at));
        }
        Ok(all)
    }

    /// The names of a list, whose lines go to `lines`.
    fn names(
        &self,
        table: &DeTable<'_>,
        key: &str,
        lines: &mut BTreeMap<String, usize>,
    ) -> Result<Vec<String>, ConfigError> {
        let missing = || ConfigError::new(format!("{}: {key} is missing: give a list of names", self.file));
        let value = table.get(key).ok_or_else(missing)?;
        let names = self.each_once(value, key, |name| self.string(name, key).map(str::to_string))?;
        lines.extend(names.iter().map(|(name, at)| (name.clone(), self.line(*at))));
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    fn seeds(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<u64>, ConfigError> {
        let seed = |value: &Spanned<DeValue<'_>>| {
            let decimal = value.get_ref().as_integer().filter(|i| i.radix() == 10);
            let number = decimal.and_then(|i| i.as_str().parse().ok());
            number.ok_or_else(|| self.error(value.span().start, "seeds: give whole numbers from 0 on"))
        };
        Ok(self.each_once(value, "seeds", seed)?.into_iter().map(|(seed, _)| seed).collect())
    }

    fn assignments(&self, table: &DeTable<'_>) -> Result<Vec<Assignment>, ConfigError> {
        let mut all = Vec::new();
        self.flatten(table, "set", &mut |key, line, value| {
            all.push(Assignment { value: self.scalar(value, &key)?, key, line });
            Ok(())
        })?;
        Ok(all)
    }

    fn variations(&self, table: &DeTable<'_>) -> Result<Vec<(String, usize, Vec<String>)>, ConfigError> {
        let mut all = Vec::new();
        self.flatten(table, "vary", &mut |key, line, value| {
            let values = self.each_once(value, &key, |v| self.scalar(v, &key))?;
            all.push((key, line, values.into_iter().map(|(value, _)| value).collect()));
            Ok(())
        })?;
        Ok(all)
    }

    /// Every key under `section`, dotted or in tables of its own.
    fn flatten<'d>(
        &self,
        table: &DeTable<'d>,
        section: &str,
        each: &mut impl FnMut(String, usize, &Spanned<DeValue<'d>>) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let Some(value) = table.get(section) else { return Ok(()) };
        let DeValue::Table(inner) = value.get_ref() else {
            let text = format!("{section}: give a table of keys of machines and workloads");
            return Err(self.error(value.span().start, &text));
        };
        // In the order of the file.
        let mut rest: Vec<(String, usize, &Spanned<DeValue<'d>>)> = Vec::new();
        rest.extend(inner.iter().map(|(name, v)| (name.get_ref().to_string(), name.span().start, v)));
        rest.sort_by_key(|(_, at, _)| std::cmp::Reverse(*at));
        while let Some((key, at, value)) = rest.pop() {
            let inner = match value.get_ref() {
                DeValue::Table(inner) if inner.is_empty() => {
                    self.nothing_in(at, &key, value)?;
                    continue;
                }
                DeValue::Table(inner) => inner,
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => {
                    each(key, self.line(at), value)?;
                    continue;
                }
            };
            let named = |(name, v): (&Spanned<std::borrow::Cow<'d, str>>, _)| {
                (format!("{key}.{}", name.get_ref()), name.span().start, v)
            };
            rest.extend(inner.iter().map(named));
            rest.sort_by_key(|(_, at, _)| std::cmp::Reverse(*at));
        }
        Ok(())
    }

    /// Whether a table with nothing in it is where keys could stand.
    fn nothing_in(&self, at: usize, name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), ConfigError> {
        let keys = || settable().chain(trace::REPLAY_PARAMS.iter().map(|p| p.key));
        let is_of_one = name.strip_prefix("memory.").is_some_and(|rest| {
            let (number, rest) = rest.split_once('.').unwrap_or((rest, ""));
            number.parse::<usize>().is_ok() && (rest.is_empty() || is_group(rest))
        });
        if is_of_one || begins(keys(), name) {
            return Ok(());
        }
        if keys().any(|key| key == name) {
            return self.scalar(value, name).map(drop);
        }
        Err(self.error(at, &unknown_key(name, keys()).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    const WHOLE: &str = "about = 'x'\nmachines = ['intel', 'asap-rp']\nworkloads = 'cceh'\nseeds = [3, 1]\n\
        [set]\nworkload.operations = 100\n[vary]\nordering.persist_buffer = [4, 8]\n[vary.memory.pm]\nread_ns = ['1 us', 7.5]\n";

    #[test]
    fn every_combination_is_run_once_and_in_the_order_of_the_file() {
        let campaign = Campaign::parse("c.toml", WHOLE).unwrap();
        let all: Vec<Point> = campaign.points().collect();
        assert_eq!((all.len(), campaign.len()), (16, 16));
        let text = |p: &Point| {
            let set: Vec<_> =
                p.settings.iter().map(|a| format!("{}={}:{}", a.key, a.value, a.line)).collect();
            format!("{} {} {} {}", p.machine, p.workload, set.join(" "), p.seed)
        };
        let set = "cceh workload.operations=100:6 ordering.persist_buffer";
        assert_eq!(text(&all[0]), format!("intel {set}=4:8 memory.pm.read_ns=1 us:10 3"));
        assert_eq!(text(&all[1]), format!("intel {set}=4:8 memory.pm.read_ns=1 us:10 1"));
        assert_eq!(text(&all[2]), format!("intel {set}=4:8 memory.pm.read_ns=7.5:10 3"));
        assert_eq!(text(&all[15]), format!("asap-rp {set}=8:8 memory.pm.read_ns=7.5:10 1"));
        let different = all.iter().map(text).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(different.len(), 16);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("machines = ", "c.toml:1: not TOML"),
            ("workloads = ['cceh']", "c.toml: machines is missing: give a list of names"),
            ("machines = []\nworkloads = 'a'", "c.toml:1: machines: the list is empty"),
            ("machines = [1]\nworkloads = 'a'", "c.toml:1: machines: give a text in quotes"),
            ("machines = 'a'\nabout = 5", "c.toml:2: about: give a text in quotes"),
            ("machine = 'a'", "c.toml:1: unknown key \"machine\"; did you mean machines?"),
            (
                "machines = 'a'\nworkloads = 'b'\nseeds = [-1]",
                "c.toml:3: seeds: give whole numbers from 0 on",
            ),
            ("machines = ['a', 'a']\nworkloads = 'b'", "c.toml:1: machines: a stands there twice"),
            ("machines = 'a'\nworkloads = 'b'\nseeds = [1,\n1]", "c.toml:4: seeds: 1 stands there twice"),
            ("machines = 'a'\nworkloads = 'b'\nvary.x.y = [1,\n1]", "c.toml:4: x.y: 1 stands there twice"),
            ("machines = 'a'\nworkloads = [\n'b',\n'c',\n'b']", "c.toml:5: workloads: b stands there twice"),
            ("machines = 'a'\nworkloads = 'b'\nset = 3", "c.toml:3: set: give a table of keys"),
            ("machines = 'a'\nworkloads = 'b'\n[vary]\nx.y = []", "c.toml:4: x.y: the list is empty"),
            ("machines = 'a'\nworkloads = 'b'\n[vary]\nx.y = [[1]]", "c.toml:4: x.y: give a number, a text"),
            (
                "machines = 'a'\nworkloads = 'b'\n[set]\nx.y = 1\n[vary]\nx.y = [1]",
                "c.toml: x.y: stands under [set] and under [vary]",
            ),
        ];
        for (text, message) in cases {
            let error = Campaign::parse("c.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}\n{error}");
        }
        let seeds: Vec<_> = (0..2000).map(|n| n.to_string()).collect();
        let seeds = seeds.join(",");
        let text = format!("machines = 'a'\nworkloads = 'b'\nseeds = [{seeds}]\nvary.k.a = [{seeds}]");
        assert!(Campaign::parse("c.toml", &text).unwrap_err().0.contains("4000000 runs: at most 1000000"));
    }

    #[test]
    fn machines_that_simulate_different_things_are_not_put_side_by_side() {
        let machine = |name| (name, Description::preset(name).unwrap());
        let said = |names: &[&'static str]| {
            let all: Vec<_> = names.iter().copied().map(machine).collect();
            comparable(all.iter().map(|(name, machine)| (*name, machine))).map_err(|e| e.0)
        };
        assert_eq!(said(&["intel", "asap-rp"]), Ok(()));
        assert_eq!(said(&["amf", "unified"]), Ok(()));
        let text = said(&["intel", "amf", "eadr"]).unwrap_err();
        assert!(
            text.starts_with(
                "every cache line is simulated on intel, eadr, visits of pages by programs on amf;"
            ),
            "{text}"
        );
    }

    /// Damaged files give a message or a campaign, and never anything else.
    #[test]
    fn damaged_files_are_refused_in_words() {
        let mut random = Random::new(1, 6);
        for _ in 0..20_000 {
            let mut bytes = WHOLE.as_bytes().to_vec();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] = random.below(128) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"[]='\".\n,1"[random.below(9) as usize]),
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            match Campaign::parse("c.toml", &text) {
                Ok(campaign) => assert!(
                    campaign.points().take(100).all(|p| !p.machine.contains('\0') || text.contains('\0'))
                ),
                Err(error) => assert!(error.0.starts_with("c.toml:"), "{error}"),
            }
        }
    }
}
