//! The columns of what a campaign varies. A column's type is that of its key's values everywhere, not of those that one campaign lists:
//! a campaign that is extended stays one table.

use machine::params::MACHINE;
use protocol::Param;
use protocol::params::Kind;
use trace::tables::Constant;

/// The values of a key.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    holds: Holds,
    /// What the key is: of workloads that differ, in each of them.
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    Integers,
    Numbers,
    Texts,
}

impl Column {
    /// The column of `key`, which may be one of a single memory (`memory.0.pm.read_ns`).
    pub(crate) fn of(key: &str) -> Column {
        let whole = of_all_memories(key);
        let kinds: Vec<Kind> = params().filter(|p| p.key == whole).map(|p| p.kind).collect();
        let holds = kinds.iter().map(holds).max().unwrap_or(Holds::Texts);
        Column { holds, kinds }
    }

    /// What a value is taken for, however it is written.
    pub(crate) fn value(&self, text: &str) -> Constant {
        let read = |kind: &Kind| kind.read(text).ok().map(|value| kind.show(&value));
        let plain = self.kinds.iter().find_map(read).unwrap_or_else(|| text.into());
        let (integer, number) = (plain.parse().ok(), plain.parse().ok());
        match self.holds {
            Holds::Integers => integer.map(Constant::Integer),
            Holds::Numbers => number.map(Constant::Number),
            Holds::Texts => None,
        }
        .unwrap_or(Constant::Text(plain))
    }

    /// The same for JSON, where a whole number is one and truth is no text.
    pub(crate) fn json(&self, text: &str) -> serde_json::Value {
        match self.value(text) {
            Constant::Integer(integer) => integer.into(),
            Constant::Number(number) if number.fract() == 0.0 => (number as i64).into(),
            Constant::Number(number) => number.into(),
            Constant::Text(text) => text.parse::<bool>().map_or_else(|_| text.into(), Into::into),
        }
    }
}

fn params() -> impl Iterator<Item = &'static Param> {
    MACHINE.iter().chain(workloads::all_params()).chain(trace::REPLAY_PARAMS)
}

/// The key of all memories of which this is one memory's: `memory.0.pm.read_ns` is `memory.pm.read_ns`.
fn of_all_memories(key: &str) -> String {
    let own = key.strip_prefix("memory.").and_then(|rest| rest.split_once('.'));
    let Some((_, own)) = own.filter(|(number, _)| number.parse::<usize>().is_ok()) else { return key.into() };
    let of_memory = format!("memory.{own}");
    if MACHINE.iter().any(|p| p.key == of_memory) { of_memory } else { own.into() }
}

fn holds(kind: &Kind) -> Holds {
    let fits = |max: u64| i64::try_from(max).map_or(Holds::Numbers, |_| Holds::Integers);
    match *kind {
        Kind::Count { max, .. }
        | Kind::PowerOfTwo { max, .. }
        | Kind::Multiple { max, .. }
        | Kind::MultipleOrZero { max, .. }
        | Kind::Bytes { max, .. } => fits(max),
        Kind::Thousandths { .. } | Kind::Nanoseconds { .. } => Holds::Numbers,
        Kind::Choice(_) | Kind::Flag | Kind::Text => Holds::Texts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_type_of_its_key_and_one_value_however_it_is_written() {
        let value = |key: &str, text: &str| Column::of(key).value(text);
        assert_eq!(value("cpu.ipc", "2"), Constant::Number(2.0));
        assert_eq!(value("cpu.ipc", "2.5"), Constant::Number(2.5));
        for text in ["350", "350 ns", "350.0", "0.35 us"] {
            assert_eq!(value("memory.pm.read_ns", text), Constant::Number(350.0), "{text}");
            assert_eq!(value("memory.0.pm.read_ns", text), Constant::Number(350.0), "{text}");
        }
        assert_eq!(value("ordering.persist_buffer", "32"), Constant::Integer(32));
        assert_eq!(value("l1.size_bytes", "64 KiB"), Constant::Integer(65536));
        assert_eq!(value("ordering.model", "asap"), Constant::Text("asap".into()));
        assert_eq!(value("workload.operations", "1_000"), Constant::Integer(1000));
    }

    #[test]
    fn json_has_whole_numbers_and_truth_as_such() {
        let value = |key: &str, text: &str| Column::of(key).json(text).to_string();
        assert_eq!(value("memory.pm.read_ns", "350 ns"), "350");
        assert_eq!(value("cpu.ipc", "2.5"), "2.5");
        assert_eq!(value("nvdimm.device.ignore_window", "true"), "true");
        assert_eq!(value("ordering.model", "asap"), "\"asap\"");
    }
}
