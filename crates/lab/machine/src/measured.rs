//! Times that machines at line fidelity are measured to take for machines at page fidelity. Each is measured once: in this
//! process, and beyond it where the face has said where times are kept. The same description gives the same time, so that
//! nothing hangs on it but how long a run takes.

use crate::describe::{Description, WorkloadDescription};
use crate::error::RunError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use units::Dur;

/// Where measured times outlive a process. Whoever keeps them answers for that they are this program's own.
pub trait Times: Send + Sync {
    /// The time that was kept for `described`, if one was.
    fn read(&self, described: &str) -> Option<Dur>;

    /// Keeps a time; one that cannot be kept is measured again.
    fn write(&self, described: &str, time: Dur);
}

static KEPT: OnceLock<Box<dyn Times>> = OnceLock::new();

/// Says where measured times are kept from now on; the first word counts.
pub fn keep_measured(times: Box<dyn Times>) {
    _ = KEPT.set(times);
}

/// What was measured in this process, by description.
fn measured() -> MutexGuard<'static, BTreeMap<String, Dur>> {
    static MEASURED: Mutex<BTreeMap<String, Dur>> = Mutex::new(BTreeMap::new());
    MEASURED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time of what is `described`: from where it was measured before, or by `measure`.
///
/// # Errors
/// As `measure`; nothing is kept then.
pub(crate) fn once(
    described: String,
    measure: impl FnOnce() -> Result<Dur, RunError>,
) -> Result<Dur, RunError> {
    let known = measured().get(&described).copied();
    if let Some(time) = known {
        return Ok(time);
    }
    let time = match KEPT.get().and_then(|kept| kept.read(&described)) {
        Some(time) => time,
        None => {
            let time = measure()?;
            KEPT.get().iter().for_each(|kept| kept.write(&described, time));
            time
        }
    };
    measured().insert(described, time);
    Ok(time)
}

/// Everything that a measuring run's time hangs on, the program aside.
pub(crate) fn described(machine: &Description, workload: &WorkloadDescription, seed: u64) -> String {
    let values: Vec<String> =
        machine.rows().map(|(param, value, _)| format!("{} = {value}", param.key)).collect();
    format!("{} {values:?} {} {:?} {seed}", machine.name, workload.name, workload.settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ConfigError;

    /// Keeps in memory what another process would find.
    struct Shelf(Mutex<BTreeMap<String, Dur>>);

    impl Times for &'static Shelf {
        fn read(&self, described: &str) -> Option<Dur> {
            self.0.lock().unwrap().get(described).copied()
        }

        fn write(&self, described: &str, time: Dur) {
            self.0.lock().unwrap().insert(described.into(), time);
        }
    }

    #[test]
    fn a_time_is_measured_once_and_kept_where_the_face_says() {
        static SHELF: Shelf = Shelf(Mutex::new(BTreeMap::new()));
        (&SHELF).write("from another process", Dur::ns(5));
        keep_measured(Box::new(&SHELF));
        let never = || -> Result<Dur, RunError> { panic!("measured twice") };
        assert_eq!(once("from another process".into(), never).unwrap(), Dur::ns(5));
        assert_eq!(once("new".into(), || Ok(Dur::ns(7))).unwrap(), Dur::ns(7));
        assert_eq!(once("new".into(), never).unwrap(), Dur::ns(7), "in this process");
        assert_eq!((&SHELF).read("new"), Some(Dur::ns(7)), "and for the next");
        let wrong = || Err(ConfigError::new("wrong").into());
        assert!(once("wrong".into(), wrong).is_err() && (&SHELF).read("wrong").is_none());
    }

    #[test]
    fn descriptions_differ_by_key_value_workload_and_seed() {
        let machine = |value: &str| {
            let mut machine = Description::preset("intel").unwrap();
            machine.set("memory.pm.read_ns", value).unwrap();
            machine
        };
        let workload = |name: &str| WorkloadDescription::named(name).unwrap();
        let of = |value, name, seed| described(&machine(value), &workload(name), seed);
        assert_eq!(of("100", "fio", 1), of("100", "fio", 1));
        for other in [of("101", "fio", 1), of("100", "loaded-latency", 1), of("100", "fio", 2)] {
            assert_ne!(of("100", "fio", 1), other);
        }
        assert!(of("100", "fio", 1).contains("memory.pm.read_ns = 100"));
    }
}
