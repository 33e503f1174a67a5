//! Mistakes that can be seeded in the library, and with what each acts.

use super::mechanism::Mechanism;
use crate::words::CopiedPages;
use params::{FromSetting, Setting, Words};
use protocol::Settings;

/// A mistake that can be seeded in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(super) enum Bug {
    None,
    /// A redo log's data is not written back.
    LogNotFlushed,
    /// Old frames stay in caches that a device does not look into.
    FrameKept,
    /// Every eighth range is changed without a log, a checkpoint or a shadow.
    ChangeNotAdded,
}

/// The names of the mistakes, for `workload.bug`.
pub(crate) const BUGS: &[&str] = Bug::WORDS;

impl Bug {
    pub(super) fn of(settings: &Settings) -> Bug {
        // A program's own mistakes are no words of the library's.
        let word = settings.get("workload.bug").and_then(Setting::as_text);
        word.and_then(Bug::from_word).unwrap_or(Bug::None)
    }

    /// Whether it does anything, where `has_devices` says whether devices take a pool's part of crash consistency over.
    ///
    /// # Errors
    /// With what it does.
    pub(super) fn check(settings: &Settings, has_devices: bool) -> Result<(), String> {
        let (bug, mechanism) = (Bug::of(settings), || Mechanism::of(settings));
        let (acts, with) = match bug {
            // Not every program on the library has a mechanism to choose.
            Bug::None => return Ok(()),
            Bug::LogNotFlushed => (
                matches!(mechanism(), Mechanism::Redo | Mechanism::UndoRedo),
                "workload.mechanism = redo or undo-redo, which write a redo log",
            ),
            Bug::FrameKept => (
                mechanism() == Mechanism::Shadow && switches(settings) && has_devices,
                "workload.mechanism = shadow and workload.pages = all or first, where near-data devices have the pool",
            ),
            Bug::ChangeNotAdded => (
                mechanism() != Mechanism::Redo,
                "workload.mechanism = logging, undo-redo, checkpoint or shadow, which save what is about to change",
            ),
        };
        if acts {
            return Ok(());
        }
        Err(format!("workload.bug = {}: does nothing here; it acts with {with}", bug.word()))
    }
}

/// Whether pages change over to the frames that they were copied to.
fn switches(settings: &Settings) -> bool {
    settings.get("workload.pages").and_then(CopiedPages::from_setting) != Some(CopiedPages::Fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_acts_with_what_its_refusal_names_and_with_nothing_else() {
        let acts = |bug: &str, mechanism: &str, pages: &str, has_devices| {
            let mut settings = Settings::default();
            for (key, value) in
                [("workload.bug", bug), ("workload.mechanism", mechanism), ("workload.pages", pages)]
            {
                settings.set(key, Setting::Text(value.into()));
            }
            Bug::check(&settings, has_devices).is_ok()
        };
        let with = |bug: &str, pages: &str, has_devices| -> Vec<&str> {
            let all = Mechanism::WORDS.iter().copied();
            all.filter(|mechanism| acts(bug, mechanism, pages, has_devices)).collect()
        };
        assert_eq!(with("none", "all", false).len(), 5);
        for has_devices in [false, true] {
            assert_eq!(with("log-not-flushed", "all", has_devices), ["redo", "undo-redo"]);
            let adds = ["logging", "undo-redo", "checkpoint", "shadow"];
            assert_eq!(with("change-not-added", "all", has_devices), adds);
        }
        assert_eq!([with("frame-kept", "all", true), with("frame-kept", "first", true)], [["shadow"]; 2]);
        assert!(with("frame-kept", "fixed", true).is_empty() && with("frame-kept", "all", false).is_empty());
    }
}
