//! Where the cores' time went, and why two machines take different times: computed from a run's statistics.

use crate::columns;
use crate::output::Table;
use crate::quantity::{time, with_unit};
use machine::Report;
use machine::params::MACHINE;
use protocol::Param;
use serde_json::{Value, json};

/// A cause of time: its statistic, its name, and what a core does meanwhile. Statistics say which of these they explain.
struct Cause {
    statistic: &'static str,
    name: &'static str,
    doing: &'static str,
}

const fn cause(statistic: &'static str, name: &'static str, doing: &'static str) -> Cause {
    Cause { statistic, name, doing }
}

/// At line fidelity; together they are all of the cores' time.
const LINES: [Cause; 8] = [
    cause("time.compute", "compute", "computing and hitting private caches"),
    cause("time.memory", "memory", "waiting for lines"),
    cause("time.fences", "fences", "waiting at fences and flushes"),
    cause("time.buffer_full", "buffer full", "waiting for room in the persist path"),
    cause("time.locks", "locks", "taking locks and waiting for other threads"),
    cause("time.devices", "devices", "waiting for devices"),
    cause("time.kernel", "kernel", "in the kernel"),
    cause("time.idle", "idle", "without anything to do"),
];

/// At page fidelity; what is left is no program's and not the kernel's.
const PAGES: [Cause; 3] = [
    cause("os.user_time", "programs", "in programs"),
    cause("os.system_time", "kernel", "in the kernel"),
    cause("time.idle", "idle or I/O", "waiting for devices or without a program"),
];

/// What went into each cause, nanoseconds summed over cores.
struct Account {
    causes: Vec<(&'static Cause, f64)>,
    cores: f64,
}

fn account(report: &Report) -> Option<Account> {
    let of = |cause: &'static Cause| (cause, report.get(cause.statistic).unwrap_or(0.0));
    if report.series.is_some() {
        let cores = report.description.settings.count("os.cores") as f64;
        let [user, mut system] = [of(&PAGES[0]), of(&PAGES[1])];
        // Its threads take no core.
        system.1 -= report.get("os.kernel_threads_time").unwrap_or(0.0);
        // What was under way as a region began or ended counts where it ended.
        let rest = (report.time.as_ns() * cores - user.1 - system.1).max(0.0);
        return Some(Account { causes: vec![user, system, (&PAGES[2], rest)], cores });
    }
    report.get("time.compute")?;
    let causes: Vec<(&'static Cause, f64)> = LINES.iter().map(of).collect();
    let total: f64 = causes.iter().map(|(_, ns)| ns).sum();
    // Together they are the time of each core whose program told of a region of interest.
    let cores = (total / report.time.as_ns().max(f64::MIN_POSITIVE)).round().max(1.0);
    Some(Account { causes, cores })
}

impl Account {
    fn total(&self) -> f64 {
        self.causes.iter().map(|(_, ns)| ns).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// "compute 31 %, memory 20 %, ...": all of the cores' time.
pub(crate) fn sentence(report: &Report) -> Option<String> {
    let account = account(report)?;
    let total = account.total();
    let shares = account.causes.iter().filter(|(_, ns)| *ns > 0.0);
    let shares: Vec<String> =
        shares.map(|(cause, ns)| format!("{} {:.1} %", cause.name, 100.0 * ns / total)).collect();
    (!shares.is_empty()).then(|| shares.join(", "))
}

/// A table of the shares, a row a machine.
pub(crate) fn table<'a>(reports: impl Iterator<Item = (&'a str, &'a Report)> + Clone) -> Option<Table> {
    let accounts: Option<Vec<(&str, Account)>> =
        reports.map(|(name, report)| Some((name, account(report)?))).collect();
    let accounts = accounts?;
    let columns: Vec<usize> = (0..accounts.first()?.1.causes.len())
        .filter(|c| accounts.iter().any(|(_, a)| a.causes[*c].1 > 0.0))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let head = columns.iter().map(|c| format!("{} %", accounts[0].1.causes[*c].0.name));
    let mut table = Table::new(std::iter::once("cores' time".to_string()).chain(head));
    for (name, account) in &accounts {
        let total = account.total();
        let share = |c: &usize| format!("{:.1}", 100.0 * account.causes[*c].1 / total);
        table.row(std::iter::once((*name).to_string()).chain(columns.iter().map(share)));
    }
    Some(table)
}

/// One reason for a difference.
struct Reason {
    cause: &'static Cause,
    /// More of it than the baseline, nanoseconds a core.
    more_ns: f64,
    /// Its share of the difference.
    share: f64,
    /// A statistic that moved with it: name, here, there.
    evidence: Option<(&'static str, f64, f64)>,
}

/// A reason that is less than this of the difference is not worth a word.
const WORTH: f64 = 0.05;

/// One that is more has one, however many there are: what is left out then is little beside what is said.
const LARGE: f64 = 0.25;

/// The two largest reasons why `report` takes another time than `base`, and all that are large; none where they take the same.
fn reasons(report: &Report, base: &Report) -> Vec<Reason> {
    first_of(shares(report, base))
}

/// The same of each cause's part, the largest first.
fn first_of(shares: Vec<Reason>) -> Vec<Reason> {
    let is_said = |(n, reason): &(usize, Reason)| reason.share > if *n < 2 { WORTH } else { LARGE };
    shares.into_iter().enumerate().filter(is_said).map(|(_, reason)| reason).collect()
}

/// Causes that are what other cores' time makes: they hold the locks, and give the work.
const FOLLOWS: [&str; 2] = ["time.locks", "time.idle"];

/// Where the largest reasons follow from what other cores do: the largest of what these do.
fn behind(report: &Report, base: &Report) -> Option<Reason> {
    let follows = |reason: &Reason| FOLLOWS.contains(&reason.cause.statistic);
    if !reasons(report, base).iter().all(follows) {
        return None;
    }
    shares(report, base).into_iter().find(|reason| reason.share > WORTH && !follows(reason))
}

/// What makes the difference smaller by a large part of it, the largest first.
fn against(report: &Report, base: &Report) -> Vec<Reason> {
    smaller_by(shares(report, base))
}

/// The same of each cause's part, the largest first.
fn smaller_by(shares: Vec<Reason>) -> Vec<Reason> {
    shares.into_iter().rev().filter(|reason| reason.share < -LARGE).collect()
}

/// Each cause's part of the difference, the largest first.
fn shares(report: &Report, base: &Report) -> Vec<Reason> {
    let (Some(own), Some(other)) = (account(report), account(base)) else { return Vec::new() };
    let difference = own.total() / own.cores - other.total() / other.cores;
    let mut all: Vec<Reason> = own
        .causes
        .iter()
        .zip(&other.causes)
        .map(|((cause, here), (_, there))| {
            let more_ns = here / own.cores - there / other.cores;
            let share = more_ns / difference;
            Reason { cause, more_ns, share, evidence: evidence(cause, [*here, *there], report, base) }
        })
        .filter(|reason| reason.share.is_finite())
        .collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}

/// What may be behind the time of a cause, here and on the baseline.
fn evidence(
    cause: &Cause,
    times: [f64; 2],
    report: &Report,
    base: &Report,
) -> Option<(&'static str, f64, f64)> {
    // What a machine does not report has not happened there.
    let both = |name: &'static str| (name, report.get(name).unwrap_or(0.0), base.get(name).unwrap_or(0.0));
    most_of(machine::behind(cause.statistic).map(|info| both(info.name)), times)
}

/// What is evidence accounts for so much of a cause's difference, if each event takes as long as the others.
const ACCOUNTS: f64 = 0.25;

/// Of counts here and there, the one with most events more where there is more time: a few are not why, though they may be
/// any number of times as many.
fn most_of(
    counts: impl Iterator<Item = (&'static str, f64, f64)>,
    [here, there]: [f64; 2],
) -> Option<(&'static str, f64, f64)> {
    let part = |less: f64, more: f64| (more - less) / more.max(f64::MIN_POSITIVE);
    let moved = |(_, own, other): &(&str, f64, f64)| {
        if here > there { part(*other, *own) } else { part(*own, *other) }
    };
    let time = part(here.min(there), here.max(there));
    counts
        .filter(|all| moved(all) > 0.05 && moved(all) > ACCOUNTS * time)
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))
}

/// How many times as fast as another a machine is, by their numbers: the least and the greatest, where there are several runs.
pub(crate) type Ratio<'a> = &'a dyn Fn(usize, usize) -> Option<(f64, f64)>;

/// Why each machine but the baseline takes another time than that, and which of those before it it is like. What lies
/// inside of `ratio` is not said to be so.
pub(crate) fn explained(all: &[(&str, &Report)], baseline: usize, ratio: Ratio) -> Vec<Option<String>> {
    let (base_name, base) = all[baseline];
    let said = |n: usize| {
        let (name, report) = all[n];
        let text = against_baseline(name, report, base_name, base, ratio(n, baseline));
        let mut before = (0..n).filter(|m| *m != baseline);
        let alike = before.find_map(|m| alike(report, &all[m]).or_else(|| close(all[m].0, ratio(n, m)?)));
        match alike {
            Some(alike) => format!("{}; {alike}.", text.trim_end_matches('.')),
            None => text,
        }
    };
    (0..all.len()).map(|n| (n != baseline).then(|| said(n))).collect()
}

/// What is said of a machine that takes the same time as another in all runs, or that some have faster and some slower.
fn close(name: &str, (low, high): (f64, f64)) -> Option<String> {
    if low > 1.0 - SAME && high < 1.0 + SAME {
        return Some(format!("it takes as long as {name}, within 1 %"));
    }
    let crossed = low <= 1.0 && high >= 1.0;
    crossed.then(|| {
        format!("some runs have it faster than {name}, some slower ({low:.2} to {high:.2} times as fast)")
    })
}

/// What is said of a machine that takes the same time to the last picosecond as another that is not the same.
fn alike(report: &Report, (name, other): &(&str, &Report)) -> Option<String> {
    if other.time != report.time || other.time_of_work().total_cmp(&report.time_of_work()).is_ne() {
        return None;
    }
    let keys: Vec<&str> = different(report, other).map(|p| p.key).collect();
    (!keys.is_empty()).then(|| {
        let more = if keys.len() > KEYS { ", ..." } else { "" };
        let keys = keys[..keys.len().min(KEYS)].join(", ");
        format!(
            "it takes as long as {name} to the last digit: no core ever waits for what differs ({keys}{more})"
        )
    })
}

/// Keys that act on either machine and differ.
fn different(report: &Report, other: &Report) -> impl Iterator<Item = &'static Param> {
    let (here, there) = (&report.description, &other.description);
    let differs = |p: &&Param| here.settings.get(p.key) != there.settings.get(p.key);
    let acts = |p: &&Param| here.acts(p.key) || there.acts(p.key);
    MACHINE.iter().filter(differs).filter(acts)
}

/// Keys that a sentence names.
const KEYS: usize = 4;

/// The keys by which two machines differ that are one but for a few: what they are set to, here and there.
fn set_apart(report: &Report, base: &Report) -> Option<String> {
    let keys: Vec<&Param> = different(report, base).collect();
    if keys.len() > FEW || keys.iter().any(|p| KNOWN_BY.iter().any(|end| p.key.ends_with(end))) {
        return None;
    }
    let value = |report: &Report, p: &Param| {
        report.description.settings.get(p.key).map_or_else(|| "none".into(), |value| p.kind.show(value))
    };
    let said = |p: &&Param| format!("{} {} against {}", p.key, value(report, p), value(base, p));
    let said: Vec<String> = keys.iter().map(said).collect();
    (!said.is_empty()).then(|| said.join(" and "))
}

/// Keys that are named with their values.
const FEW: usize = 2;

/// Ends of keys that machines are known by.
const KNOWN_BY: [&str; 2] = [".model", ".design"];

/// What is said of a machine against the baseline.
fn against_baseline(
    name: &str,
    report: &Report,
    base_name: &str,
    base: &Report,
    span: Option<(f64, f64)>,
) -> String {
    let (here, there) = (report.time_of_work(), base.time_of_work());
    if let Some((idle, _)) = [(name, here), (base_name, there)].iter().find(|(_, time)| *time <= 0.0) {
        return format!(
            "{name} is neither faster nor slower than {base_name}: the work took no time on {idle}."
        );
    }
    let Some(mut text) = faster(name, base_name, there / here, span) else {
        let known =
            span.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2} times as fast)"));
        let apart = columns::apart(report, base);
        let apart = apart.map_or_else(String::new, |apart| format!("; they differ in {apart}"));
        let sure = if (here - there).abs() < SAME * there {
            "takes as long as"
        } else {
            "is not surely faster or slower than"
        };
        let within = if known.is_empty() { ", within 1 %" } else { &known };
        return format!("{name} {sure} {base_name}{within}{apart}.");
    };
    if report.workload_description.lasts_a_given_time() {
        let apart = columns::apart(report, base)
            .map_or_else(String::new, |apart| format!("; they differ in {apart}"));
        return format!("{text}: {} an operation against {}{apart}.", time(here), time(there));
    }
    let reasons = reasons(report, base);
    if !reasons.is_empty() {
        let difference = time((here - there).abs());
        let word = if here < there { "less" } else { "more" };
        text += &format!(", {difference} {word}: each core spends {}", listed(&reasons));
    }
    if let Some(behind) = behind(report, base) {
        text += &format!(", which follows from what the others do: {}", behind.said());
    }
    let against = against(report, base);
    if !against.is_empty() {
        text += &format!(", but {}", listed(&against));
    }
    if let Some(apart) = set_apart(report, base) {
        text += &format!("; they differ in {apart}");
    }
    text + "."
}

/// Reasons in a sentence.
fn listed(reasons: &[Reason]) -> String {
    let mut all: Vec<String> = reasons.iter().map(Reason::said).collect();
    if let [_, .., last] = &mut all[..] {
        last.insert_str(0, "and ");
    }
    all.join(", ")
}

/// Machines whose times differ by less than this take the same.
const SAME: f64 = 0.01;

/// By how much a machine is faster or slower than another; nothing where it is neither, or not surely.
fn faster(name: &str, base: &str, speedup: f64, span: Option<(f64, f64)>) -> Option<String> {
    let (low, high) = span.unwrap_or((speedup, speedup));
    let same = (1.0 / speedup - 1.0).abs() < SAME;
    if same || (low <= 1.0 && high >= 1.0) {
        return None;
    }
    let times = |ratio: f64, (low, high): (f64, f64)| match span {
        Some(_) => format!("{ratio:.2} ({low:.2} to {high:.2}) times"),
        None => format!("{ratio:.2} times"),
    };
    Some(if speedup > 1.0 {
        format!("{name} is {} as fast as {base}", times(speedup, (low, high)))
    } else {
        format!("{name} takes {} as long as {base}", times(1.0 / speedup, (1.0 / high, 1.0 / low)))
    })
}

impl Reason {
    fn said(&self) -> String {
        let word = if self.more_ns > 0.0 { "more" } else { "less" };
        let mut text = format!("{} {word} {}", time(self.more_ns.abs()), self.cause.doing);
        if let Some((name, here, there)) = self.evidence {
            let unit = machine::statistic(name).map_or("1", |info| info.unit);
            let [here, there] = [here, there].map(|value| with_unit(name, value, unit));
            text += &format!(" ({name} {here} against {there})");
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut all =
            json!({"cause": self.cause.name, "more_ns_per_core": self.more_ns, "share": self.share});
        if let Some((name, here, there)) = self.evidence {
            all["evidence"] = json!({"statistic": name, "value": here, "baseline": there});
        }
        all
    }
}

/// The same for programs.
pub(crate) fn explanation(report: &Report, base: &Report) -> Value {
    let all = reasons(report, base).into_iter().chain(behind(report, base)).chain(against(report, base));
    all.map(|reason| reason.to_json()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_of_a_difference_leaves_out_little() {
        let of = |shares: &[f64]| -> Vec<Reason> {
            let reason = |(cause, share): (&'static Cause, &f64)| Reason {
                cause,
                more_ns: 10.0 * share,
                share: *share,
                evidence: None,
            };
            LINES.iter().zip(shares).map(reason).collect()
        };
        let names = |reasons: Vec<Reason>| -> Vec<&str> { reasons.iter().map(|r| r.cause.name).collect() };
        assert_eq!(listed(&of(&[0.1])), "1 ns more computing and hitting private caches");
        let [down, up] = [of(&[4.0, 0.2, -1.2, -1.8]), of(&[0.4, 0.3, 0.26, 0.04])];
        assert_eq!(
            listed(&smaller_by(down)),
            "18 ns less waiting for room in the persist path, and 12 ns less waiting at fences and flushes"
        );
        assert_eq!(names(first_of(up)), ["compute", "memory", "fences"]);
        assert_eq!(names(first_of(of(&[0.8, 0.1, 0.1, 0.0]))), ["compute", "memory"]);
        assert_eq!(names(first_of(of(&[1.1, 0.04, -0.1, -0.04]))), ["compute"]);
    }

    #[test]
    fn evidence_is_what_most_events_are_of_and_not_what_began_at_none() {
        let most = |counts: &[(&'static str, f64, f64)], times| most_of(counts.iter().copied(), times);
        let faults = [("fetches", 5522.0, 48.0), ("shootdowns", 566.0, 0.0), ("writes", 10.0, 12.0)];
        assert_eq!(most(&faults, [11.7, 0.1]), Some(faults[0]));
        let turned = faults.map(|(name, here, there)| (name, there, here));
        assert_eq!(most(&turned, [0.1, 11.7]), Some(turned[0]));
        // More locked operations by a tenth, for locks are waited for five times as long, are not why.
        assert_eq!(most(&[("locked", 625.0, 570.0)], [5.0, 1.0]), None);
        assert_eq!(most(&[("locked", 625.0, 570.0)], [1.1, 1.0]), Some(("locked", 625.0, 570.0)));
        assert_eq!(most(&[("same", 5.0, 5.0), ("less", 4.0, 5.0), ("none", 0.0, 0.0)], [2.0, 1.0]), None);
    }

    #[test]
    fn what_lies_inside_of_the_band_is_not_said_to_be_faster() {
        let said = |speedup, span| faster("a", "b", speedup, span);
        assert_eq!(said(2.0, None).as_deref(), Some("a is 2.00 times as fast as b"));
        assert_eq!(
            said(2.0, Some((1.5, 2.5))).as_deref(),
            Some("a is 2.00 (1.50 to 2.50) times as fast as b")
        );
        assert_eq!(
            said(0.5, Some((0.4, 0.8))).as_deref(),
            Some("a takes 2.00 (1.25 to 2.50) times as long as b")
        );
        assert_eq!(said(1.2, Some((0.9, 1.5))), None);
        assert_eq!(said(1.005, None), None);
        assert!(close("b", (0.9, 1.1)).is_some_and(|said| said.contains("some slower")));
        assert!(close("b", (0.995, 0.999)).is_some_and(|said| said.contains("as long as b")));
        assert_eq!(close("b", (1.1, 1.2)), None);
    }
}
