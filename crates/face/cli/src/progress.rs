//! How far a command is: on a terminal, unless `--quiet` is given, and nothing elsewhere.

use crate::args::Common;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::watch;

/// Between two looks at what the work says of itself.
const LOOK: Duration = Duration::from_millis(200);

/// A bar that is wiped out when it goes.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// One more is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// A line above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.0.println(text);
    }

    /// Begins again, with so many steps.
    pub(crate) fn again(&self, steps: u64) {
        self.0.reset();
        self.0.set_length(steps);
    }

    /// So many there are.
    pub(crate) fn length(&self, steps: u64) {
        self.0.set_length(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar of so many steps, which the caller counts.
pub(crate) fn bar(common: &Common, steps: usize, what: &str) -> Progress {
    shown(common, ProgressBar::new(steps as u64), "{msg} {bar:30} {pos}/{len} {elapsed}{left}", what)
}

/// Simulated time and references, as the work under this process's watch says them, and the time left where it knows
/// how much there is to do.
pub(crate) fn simulation(common: &Common, what: &str) -> Progress {
    shown(common, ProgressBar::new_spinner(), "{spinner} {msg} {told} {elapsed}{rest}", what)
}

/// Steps done, as the work says them: for work whose end nobody knows.
pub(crate) fn count(common: &Common, what: &str) -> Progress {
    shown(common, ProgressBar::new_spinner(), "{spinner} {steps} {msg} {elapsed}", what)
}

/// How long it takes: for work that says nothing of itself.
pub(crate) fn busy(common: &Common, what: &str) -> Progress {
    shown(common, ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}", what)
}

fn shown(common: &Common, bar: ProgressBar, template: &str, what: &str) -> Progress {
    if common.quiet || !std::io::stderr().is_terminal() {
        return Progress(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rest = Rest::default();
    let rest = move |state: &ProgressState, out: &mut dyn Write| rest.write(state.elapsed(), out);
    let style = style.with_key("told", told).with_key("steps", steps);
    bar.set_style(style.with_key("left", left).with_key("rest", rest));
    bar.set_message(what.to_string());
    bar.enable_steady_tick(LOOK);
    Progress(bar)
}

fn told(state: &ProgressState, out: &mut dyn Write) {
    let (ns, references) = (watch::process().now_ps() as f64 / 1e3, watch::process().steps());
    _ = match ns {
        ns if ns < 1e6 => write!(out, "{:.1} us simulated", ns / 1e3),
        ns => write!(out, "{:.2} ms simulated", ns / 1e6),
    };
    let seconds = state.elapsed().as_secs_f64();
    if references > 0 && seconds > 0.0 {
        _ = write!(out, ", {:.1} M references/s", references as f64 / seconds / 1e6);
    }
}

fn steps(_: &ProgressState, out: &mut dyn Write) {
    _ = write!(out, "{}", watch::process().steps());
}

/// Of a bar: nothing is known before the first step.
fn left(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// The time left of one simulation: what comes before its first part, setting up, says nothing of the others.
#[derive(Clone, Default)]
struct Rest(Arc<Mutex<Option<(Duration, u64)>>>);

impl Rest {
    fn write(&self, elapsed: Duration, out: &mut dyn Write) {
        let (done, all) = watch::process().parts();
        let Ok(mut first) = self.0.lock() else { return };
        // Another simulation has begun, or there is more than was thought.
        if done == 0 || done > all || first.is_some_and(|(_, before)| done < before) {
            *first = None;
        }
        if done == 0 || done > all {
            return;
        }
        let (began, before) = *first.get_or_insert((elapsed, done));
        if let Some(left) = time_left(elapsed.saturating_sub(began), done - before, all - done) {
            _ = write!(out, ", {:#} left", HumanDuration(left));
        }
    }
}

/// How long `rest` parts take when `done` took so long.
fn time_left(took: Duration, done: u64, rest: u64) -> Option<Duration> {
    (done > 0).then(|| Duration::from_secs_f64(took.as_secs_f64() * rest as f64 / done as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_a_part_as_what_is_done() {
        let ten = Duration::from_secs(10);
        assert_eq!(time_left(ten, 20, 60), Some(Duration::from_secs(30)));
        assert_eq!(time_left(ten, 20, 0), Some(Duration::ZERO));
        assert_eq!(time_left(ten, 0, 60), None, "nobody knows");
    }
}
