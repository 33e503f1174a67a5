//! Runs of recordings in processes of their own, of which images are kept now and then: who kills the command loses little,
//! and the same command goes on where they stood.

use crate::Failure;
use crate::bands::{Make, Wanted, make_here};
use crate::kept::KeptRuns;
use crate::no_memory;
use crate::output;
use crate::progress::Progress;
use crate::quantity;
use image::{Child, Ended, Image, NUMBERS, Place, Told};
use indicatif::HumanDuration;
use machine::{ConfigError, Report, RunError, RunOptions};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use units::watch;

/// Between two images, unless the environment says otherwise.
const EVERY: Duration = Duration::from_secs(60);
/// The environment's word for that, in seconds.
const VARIABLE: &str = "COREPLANE_IMAGES";
/// Between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// A copy of this process has what other threads were about to do, half done: while one is made they only wait.
static COPYING: Mutex<()> = Mutex::new(());

/// Until it is given back no copy of this process is made: what is held now would be held in the copy for ever.
pub(crate) fn uncopied() -> MutexGuard<'static, ()> {
    COPYING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs that are kept when they have ended, and images of them before.
pub(crate) struct Apart<'a> {
    kept: &'a KeptRuns,
    shown: &'a Progress,
    /// The host's time between two images; none where runs are made here.
    every: Option<Duration>,
    /// Whether it was said that no images are kept.
    told: AtomicBool,
}

impl<'a> Apart<'a> {
    /// Of `workload`, if that is recorded; others are made here.
    #[expect(clippy::disallowed_methods, reason = "how often images are kept is no result's business")]
    pub(crate) fn new(kept: &'a KeptRuns, workload: &str, shown: &'a Progress) -> Result<Apart<'a>, Failure> {
        let every = every(std::env::var(VARIABLE).ok().as_deref())?;
        let every = every.filter(|_| output::recording(workload).is_some() && Child::is_possible());
        if every.is_some() {
            kept.has_images();
        }
        Ok(Apart { kept, shown, every, told: AtomicBool::new(false) })
    }

    fn place(&self, wanted: &Wanted<'_>, every: Duration) -> Place {
        Place {
            folder: self.kept.folder.clone(),
            name: self.kept.image(wanted.machine, wanted.variant),
            of: self.kept.hash(wanted.description, wanted.workload),
            every,
        }
    }

    /// The image of a run; none where none is there that can be taken.
    fn found(&self, place: &Place, wanted: &Wanted<'_>) -> Option<Image> {
        let found = Image::find(place).unwrap_or_else(|why| {
            let name = place.folder.join(&place.name);
            self.shown.say(&format!("{} is not taken, the run begins anew: {why}", name.display()));
            None
        })?;
        let (at, age) = (quantity::time(found.told()[0] as f64 / 1e3), HumanDuration(found.age()));
        let name = &wanted.description.name;
        self.shown.say(&format!("{name} goes on from {at} simulated, kept {age} ago"));
        Some(found)
    }

    /// Waits for a run, telling what it tells. When the work is to stop this unwinds, and the run ends with its value.
    fn ended(&self, child: &mut Child) -> std::io::Result<Ended> {
        let mut pause = LOOK / 20;
        loop {
            if let Some(ended) = child.ended()? {
                return Ok(ended);
            }
            let [now, steps, done, all, ..] = child.told();
            watch::parts(done, all);
            watch::steps(steps);
            watch::at(now);
            if let Some(why) = child.trouble().filter(|_| !self.told.swap(true, Relaxed)) {
                let folder = self.kept.folder.display();
                self.shown.say(&format!("{folder}: no more images of the run, which goes on: {why}"));
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(LOOK);
        }
    }

    /// Makes a run from its beginning, or from its image. None where that did not lead anywhere.
    fn run(
        &self,
        place: &Place,
        image: Option<Image>,
        wanted: &Wanted<'_>,
        options: &RunOptions,
        copying: MutexGuard<'static, ()>,
    ) -> Option<Result<(Report, f64), RunError>> {
        let before = image.as_ref().map(Image::spent);
        let work = || said(&machine::run(wanted.description, wanted.workload, options)).to_string().into();
        let (ended, host) = output::timed(|| {
            let mut child = Child::start(place, image, || {
                watch::also(look);
                work()
            })?;
            drop(copying);
            self.ended(&mut child)
        });
        match ended {
            Ok(Ended::Said(bytes)) => {
                let host = host + before.unwrap_or_default().as_secs_f64();
                heard(&bytes, wanted).map(|heard| heard.map(|report| (report, host)))
            }
            Ok(Ended::Panicked) => std::panic::resume_unwind(Box::new("a run has panicked, and said so")),
            Ok(Ended::Code(code)) if code == i32::from(no_memory::CODE) => {
                Some(Err(odd(wanted, no_memory::TEXT)))
            }
            // What went wrong has to do with the image, or with this host.
            Ok(Ended::Signal(number)) if before.is_some() && FAULTS.contains(&number) => None,
            Ok(Ended::Code(_)) if before.is_some() => None,
            // Who ends it so does not mean the image.
            Ok(Ended::Signal(number)) => {
                Some(Err(odd(wanted, &format!("its process was ended by signal {number}; {AGAIN}"))))
            }
            Ok(Ended::Code(code)) => {
                Some(Err(odd(wanted, &format!("its process ended with code {code}; {AGAIN}"))))
            }
            Ok(Ended::NotRestored) => None,
            // There was no room for a process.
            Err(_) => Some(make_here(wanted, options)),
        }
    }
}

/// Signals that a process brings upon itself: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
const FAULTS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];

const AGAIN: &str = "the same command goes on";

fn odd(wanted: &Wanted<'_>, how: &str) -> RunError {
    let (machine, workload) = (&wanted.description.name, &wanted.workload.name);
    RunError::Config(ConfigError(format!("{workload} on {machine}: {how}")))
}

impl Make for Apart<'_> {
    fn known(&self, wanted: &Wanted<'_>) -> Option<(Report, f64)> {
        let _alone = uncopied();
        self.kept.known(wanted)
    }

    fn make(&self, wanted: &Wanted<'_>, options: &RunOptions) -> Result<(Report, f64), RunError> {
        let Some(every) = self.every else { return make_here(wanted, options) };
        let place = self.place(wanted, every);
        if std::fs::create_dir_all(&place.folder).is_err() {
            return make_here(wanted, options);
        }
        // The files of an image are open until its process has begun: none is begun beside it.
        let mut copying = uncopied();
        if let Some(image) = self.found(&place, wanted) {
            if let Some(made) = self.run(&place, Some(image), wanted, options, copying) {
                return made;
            }
            self.shown.say("it could not go on there, and begins anew");
            place.clear();
            copying = uncopied();
        }
        // What a replay has to know of all of its recording is found out once, for every child; meanwhile no copy is made.
        if wanted.description.settings.text("machine.fidelity") == "line" {
            _ = wanted.workload.threads();
        }
        self.run(&place, None, wanted, options, copying).unwrap_or_else(|| make_here(wanted, options))
    }
}

/// The time between two images that the environment asks for; none for `never`.
fn every(told: Option<&str>) -> Result<Option<Duration>, Failure> {
    let seconds = match told {
        None | Some("") => return Ok(Some(EVERY)),
        Some("never") => return Ok(None),
        Some(text) => text.parse().ok().filter(|seconds: &f64| (0.01..1e6).contains(seconds)),
    };
    let refused = || {
        let text =
            format!("{VARIABLE}={}: give seconds between two images of a run, or never", told.unwrap_or(""));
        Failure::BadInput(text)
    };
    seconds.map(|seconds| Some(Duration::from_secs_f64(seconds))).ok_or_else(refused)
}

/// Where a run says how far it is.
fn look() {
    image::look(|| {
        let mut told: Told = [0; NUMBERS];
        if let Some(watch) = watch::entered() {
            let (done, all) = watch.parts();
            told[..4].copy_from_slice(&[watch.now_ps(), watch.steps(), done, all]);
        }
        told
    });
}

/// What a run came to, for another process.
fn said(done: &Result<Report, RunError>) -> Value {
    match done {
        Ok(report) => json!({"report": report.to_json()}),
        Err(RunError::Config(ConfigError(text))) => json!({"bad_input": text}),
        Err(RunError::Violation(text)) => json!({"violation": text}),
    }
}

/// What another process said; none where it makes no sense.
fn heard(bytes: &[u8], wanted: &Wanted<'_>) -> Option<Result<Report, RunError>> {
    let said: Value = serde_json::from_slice(bytes).ok()?;
    if let Some(text) = said["bad_input"].as_str() {
        return Some(Err(RunError::Config(ConfigError(text.into()))));
    }
    if let Some(text) = said["violation"].as_str() {
        return Some(Err(RunError::Violation(text.into())));
    }
    Report::restored(&said["report"], wanted.description, wanted.workload).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_how_often_or_never() {
        assert_eq!(every(None).ok(), Some(Some(EVERY)));
        assert_eq!(every(Some("0.2")).ok(), Some(Some(Duration::from_millis(200))));
        assert_eq!(every(Some("never")).ok(), Some(None));
        for wrong in ["0", "-1", "often", "nan"] {
            assert!(every(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
