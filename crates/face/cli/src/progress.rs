//! How far a command is: on a terminal, unless `--quiet` is given. Elsewhere only what is said on the way.

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
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    /// One more is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// What has been done is one more.
    pub(crate) fn stepped<T>(&self, done: T) -> T {
        self.step();
        done
    }

    /// A line above the bar, or where a bar would be.
    pub(crate) fn say(&self, text: &str) {
        match (self.quiet, self.bar.is_hidden()) {
            (true, _) => {}
            (false, false) => crate::lines::beside(text).iter().for_each(|line| self.bar.println(line)),
            (false, true) => crate::lines::remark(text),
        }
    }

    /// Begins again, with so many steps.
    pub(crate) fn again(&self, steps: u64) {
        watch::process().begin();
        self.bar.reset();
        self.bar.set_length(steps);
    }

    /// So many there are.
    pub(crate) fn length(&self, steps: u64) {
        self.bar.set_length(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar of so many steps, which the caller counts; what is done of steps that are under way is added.
pub(crate) fn bar(common: &Common, steps: usize, what: &str) -> Progress {
    shown(common, ProgressBar::new(steps as u64), "{msg} {bar:20} {pos}/{len} {elapsed}{left}", what)
}

/// Simulated time and references, as the work under this process's watch says them; `runs` of it are made.
pub(crate) fn simulation(common: &Common, runs: usize, what: &str) -> Progress {
    shown(common, ProgressBar::new(runs as u64), "{spinner} {msg} {told} {elapsed}{left}", what)
}

/// A search for every state, as it says how many it has found and looked at: at most `most`.
pub(crate) fn search(common: &Common, most: usize, what: &str) -> Progress {
    let template = "{spinner} {found} {msg} {elapsed}{left_of_search}";
    shown(common, ProgressBar::new(most as u64), template, what)
}

/// Work of so many parts, which it counts itself.
pub(crate) fn parts(common: &Common, all: u64, what: &str) -> Progress {
    shown(common, ProgressBar::new(all), "{spinner} {msg} {parts} {elapsed}{left}", what)
}

/// How long it takes, and is still going to where the work goes over data whose length it knows.
pub(crate) fn busy(common: &Common, what: &str) -> Progress {
    shown(common, ProgressBar::no_length(), "{spinner} {msg} {elapsed}{left}", what)
}

/// The same while a recorded workload is read; others are there at once.
pub(crate) fn reading(common: &Common, workload: &str) -> Progress {
    match crate::output::recording(workload) {
        Some((_, file)) => busy(common, &format!("reading {file}")),
        None => Progress { bar: ProgressBar::hidden(), quiet: common.quiet },
    }
}

fn shown(common: &Common, bar: ProgressBar, template: &str, what: &str) -> Progress {
    if common.quiet || !std::io::stderr().is_terminal() {
        return Progress { bar: ProgressBar::hidden(), quiet: common.quiet };
    }
    watch::process().begin();
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rest = Rest::default();
    let left = move |state: &ProgressState, out: &mut dyn Write| {
        if let Some(left) = rest.after(state.elapsed(), share(state), step(state)) {
            _ = write!(out, ", {:#} left", HumanDuration(left));
        }
    };
    let style = style.with_key("told", told).with_key("found", found).with_key("parts", parts_done);
    bar.set_style(style.with_key("left", left).with_key("left_of_search", left_of_search));
    bar.set_message(what.to_string());
    bar.enable_steady_tick(LOOK);
    Progress { bar, quiet: common.quiet }
}

/// How far work under a watch is after such a time, in a line.
pub fn line(watch: &watch::Watch, took: Duration) -> String {
    let mut text = format!("coreplane: {} s", took.as_secs());
    let ns = watch.now_ps() as f64 / 1e3;
    if ns > 0.0 {
        text += &format!(", {} simulated", crate::quantity::time(ns));
    } else if watch.steps() > 0 {
        text += &format!(", {} looked at", crate::quantity::count(watch.steps()));
    }
    let of = |done: f64, all: u64| if all == 0 { 0.0 } else { (done / all as f64).min(1.0) };
    let ((ended, all), (passed, to_pass)) = (watch.parts(), watch.pass());
    // A search for every state knows only those that it has found.
    let parts = if all == watch.steps() { 0.0 } else { of(ended as f64 + watch.under_way(), all) };
    let share = parts.max(of(passed as f64, to_pass));
    if let Some(left) = time_left(took, share, 1.0 - share).filter(|_| share < 1.0) {
        text += &format!(", {:.0} % done, {:#} left", 100.0 * share, HumanDuration(left));
    }
    text
}

fn told(state: &ProgressState, out: &mut dyn Write) {
    let (ns, references) = (watch::process().now_ps() as f64 / 1e3, watch::process().steps());
    _ = match ns {
        ns if ns < 1e6 => write!(out, "{:.1} us simulated", ns / 1e3),
        ns if ns < 1e9 => write!(out, "{:.2} ms simulated", ns / 1e6),
        ns => write!(out, "{:.3} s simulated", ns / 1e9),
    };
    let seconds = state.elapsed().as_secs_f64();
    if references > 0 && seconds > 0.0 {
        _ = write!(out, ", {:.1} M references/s", references as f64 / seconds / 1e6);
    }
}

fn found(_: &ProgressState, out: &mut dyn Write) {
    _ = write!(out, "{}", watch::process().steps());
}

fn parts_done(state: &ProgressState, out: &mut dyn Write) {
    _ = write!(out, "{}/{}", watch::process().parts().0, state.len().unwrap_or(0));
}

/// If nothing new is found any more, and if as many are found as may be.
fn left_of_search(state: &ProgressState, out: &mut dyn Write) {
    let (looked_at, found) = watch::process().parts();
    let most = state.len().unwrap_or(0).saturating_sub(looked_at);
    let left = |states| time_left(state.elapsed(), looked_at as f64, states as f64);
    if let (Some(least), Some(most)) = (left(found.saturating_sub(looked_at)), left(most)) {
        _ = write!(out, ", {:#} to {:#} left", HumanDuration(least.min(most)), HumanDuration(most));
    }
}

/// How much of the work is done, all of it being one: what the bar counts and what is under way beside it, or what the
/// work says of itself.
fn share(state: &ProgressState) -> f64 {
    let of = |(done, all): (u64, u64)| if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) };
    let watch = watch::process();
    let Some(all) = state.len() else { return of(watch.pass()) };
    let counted = (state.pos() as f64 + watch.under_way()) / all.max(1) as f64;
    counted.max(of(watch.parts())).min(1.0)
}

/// How much one step of the bar is.
fn step(state: &ProgressState) -> f64 {
    state.len().map_or(0.0, |all| 1.0 / all.max(1) as f64)
}

/// The time left: what comes before the first part of the work, setting up, says nothing of the others.
#[derive(Clone, Default)]
struct Rest(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// When something was done first, and how much.
    began: Option<(Duration, f64)>,
    /// The most that was done.
    most: f64,
}

impl Rest {
    /// The time left when so much is done after `elapsed`; less than before by more than a step is other work.
    fn after(&self, elapsed: Duration, share: f64, step: f64) -> Option<Duration> {
        let mut seen = self.0.lock().ok()?;
        if share + 1.5 * step < seen.most || elapsed < seen.began.map_or(Duration::ZERO, |(began, _)| began) {
            *seen = Seen::default();
        }
        seen.most = seen.most.max(share);
        if seen.most <= 0.0 {
            return None;
        }
        let most = seen.most;
        let (began, before) = *seen.began.get_or_insert((elapsed, most));
        time_left(elapsed.saturating_sub(began), most - before, 1.0 - most)
    }
}

/// How long `rest` takes when `done` took so long.
fn time_left(took: Duration, done: f64, rest: f64) -> Option<Duration> {
    (done > 0.0).then(|| Duration::from_secs_f64((took.as_secs_f64() * rest / done).min(1e9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_left_takes_as_long_a_part_as_what_is_done() {
        assert_eq!(time_left(10 * SECOND, 20.0, 60.0), Some(30 * SECOND));
        assert_eq!(time_left(10 * SECOND, 20.0, 0.0), Some(Duration::ZERO));
        assert_eq!(time_left(10 * SECOND, 0.0, 60.0), None, "nobody knows");
    }

    #[test]
    fn what_comes_before_the_first_part_says_nothing_of_the_rest() {
        let rest = Rest::default();
        assert_eq!(rest.after(10 * SECOND, 0.0, 0.5), None, "still setting up");
        assert_eq!(rest.after(20 * SECOND, 0.25, 0.5), None);
        assert_eq!(rest.after(24 * SECOND, 0.5, 0.5), Some(8 * SECOND), "the last of the parts is under way");
        assert_eq!(
            rest.after(28 * SECOND, 0.25, 0.5),
            Some(16 * SECOND),
            "a run that ends is not counted yet"
        );
        assert_eq!(rest.after(32 * SECOND, 0.01, 0.1), None, "other work has begun");
    }
}
