//! What the runs, and the models themselves, say of each claim.

use super::{WORKLOADS, over, tables};
use crate::asap::{CONCURRENT, WHISPER, WORKLOADS as STRUCTURES, statement};
use crate::claims::Claim;
use crate::designs::Design;
use crate::runs::Runs;
use crate::verdict::Finding;
use ordering::hardware::{Across, Speculates};

/// Cores of the server whose power failure ASAP's authors reckon (§VII-D).
const SERVER_CORES: usize = 32;

pub(super) fn finding(runs: &Runs, claim: &Claim) -> Finding {
    by_time(runs, claim).or_else(|| by_design(runs, claim)).unwrap_or_else(|| Finding::unknown(&claim.id))
}

/// How many times as fast as `machine` each of `than` is.
fn slower(runs: &Runs, machine: &str, than: &[&str]) -> Finding {
    let times: Vec<_> = than.iter().map(|m| (*m, over(runs, m, machine, &WORKLOADS))).collect();
    let text: Vec<_> = times.iter().map(|(m, v)| format!("{m} {v:.3} times as fast")).collect();
    statement(times.iter().all(|(_, v)| *v > 1.0), text.join(", "))
}

/// How much longer programs take than without any order, on average. Of the one that does nothing but write nothing is left where
/// caches persist.
fn overhead(runs: &Runs, machine: &str) -> f64 {
    over(runs, "eadr", machine, &STRUCTURES)
}

fn by_time(runs: &Runs, claim: &Claim) -> Option<Finding> {
    // Structures that threads share: what is no application.
    let shared: Vec<&str> = STRUCTURES.into_iter().filter(|w| !WHISPER.contains(w)).collect();
    let all = |machine, other| Finding::Values(vec![over(runs, machine, other, &WORKLOADS)]);
    Some(match claim.id.as_str() {
        "orderings.lb++.over-lazy" => Finding::Values(vec![over(runs, "lb++", "lb", &shared)]),
        "orderings.lb++.below" => slower(runs, "lb++", &["hops-ep", "hops-rp", "asap-ep", "asap-rp"]),
        "orderings.dpo.below" => slower(runs, "dpo", &["asap-ep"]),
        "orderings.dpo.overhead" => Finding::Values(vec![overhead(runs, "dpo"), overhead(runs, "intel")]),
        "orderings.lrp.below" => slower(runs, "lrp", &["asap-rp"]),
        "orderings.lrp.over-barriers" => {
            let found = over(runs, "lrp", "lb++", &CONCURRENT);
            let text =
                format!("lrp {found:.3} times as fast as lb++ on structures without locks for readers");
            statement((1.14..=1.44).contains(&found), text)
        }
        "orderings.strandweaver.between" => {
            let (hops, asap) = (
                over(runs, "strandweaver", "hops-ep", &WORKLOADS),
                over(runs, "asap-ep", "strandweaver", &WORKLOADS),
            );
            let text = format!("strandweaver {hops:.3} times hops-ep, asap-ep {asap:.3} times strandweaver");
            statement(hops > 1.0 && asap > 1.0, text)
        }
        "orderings.strandweaver.over-intel" => all("strandweaver", "intel"),
        "orderings.strandweaver.most" => {
            let over = STRUCTURES.map(|w| runs.time("intel", w, 4) / runs.time("strandweaver", w, 4));
            Finding::Values(vec![over.into_iter().fold(0.0, f64::max)])
        }
        "orderings.pmem-spec.over-epochs" => Finding::Values(vec![
            over(runs, "pmem-spec, one controller", "intel, one controller", &WORKLOADS),
            over(runs, "pmem-spec, one controller", "hops-ep, one controller", &WORKLOADS),
        ]),
        "orderings.pmem-spec.controllers" => {
            let of = |n: &str| over(runs, &format!("asap-rp, {n}"), &format!("pmem-spec, {n}"), &WORKLOADS);
            let (one, four) = (of("one controller"), of("four controllers"));
            let text = format!("asap-rp {one:.3} times pmem-spec with one controller, {four:.3} with four");
            statement(one < 1.1 && four > one, text)
        }
        "orderings.vorpal.below" => slower(runs, "vorpal", &["asap-ep"]),
        "orderings.vorpal.over-existing" => all("vorpal, four controllers", "hops-ep, four controllers"),
        "orderings.ppa.overhead" => Finding::Values(vec![overhead(runs, "ppa")]),
        "orderings.cwsp.overhead" => Finding::Values(vec![overhead(runs, "cwsp")]),
        "orderings.ppa.above-capri" => slower(runs, "capri", &["ppa"]),
        "orderings.cwsp.above-capri" => slower(runs, "capri", &["cwsp"]),
        "orderings.capri.overhead" => {
            let found = overhead(runs, "capri");
            statement(found <= 1.124, format!("{found:.3} times the time of eadr"))
        }
        "orderings.table-iv.stalls" => stalls(runs),
        _ => return None,
    })
}

/// The share of time in which order holds up flushes, a mean over workloads.
fn stalls(runs: &Runs) -> Finding {
    let of = |m: &str| {
        let all = WORKLOADS.map(|w| runs.get(m, w, 4, "ordering.blocked_share"));
        all.iter().sum::<f64>() / all.len() as f64
    };
    let high = ["hops-ep", "lb++", "lrp", "dpo", "vorpal"].map(|m| (m, of(m)));
    let asap = of("asap-ep");
    let text: Vec<_> = high.iter().map(|(m, v)| format!("{m} {v:.3}")).collect();
    statement(high.iter().all(|(_, v)| *v > asap), format!("{}, and asap-ep {asap:.3}", text.join(", ")))
}

/// What follows from the models, without a run.
fn by_design(runs: &Runs, claim: &Claim) -> Option<Finding> {
    let drained = |machine| tables::design(runs, machine, SERVER_CORES).map(|d| d.drained_bytes());
    Some(match claim.id.as_str() {
        "orderings.drain.bbb" => Finding::Values(vec![drained("bbb")? as f64]),
        // Half of the lines are changed.
        "orderings.drain.eadr" => Finding::Values(vec![drained("eadr")? as f64 / 2.0]),
        "orderings.drain.asap" => {
            let bytes = drained("asap-ep")?;
            statement(bytes < 4096, format!("{bytes} bytes with every record an undo record"))
        }
        "orderings.strandweaver.bytes" => {
            let design = tables::design(runs, "strandweaver", SERVER_CORES)?;
            Finding::Values(vec![design.core_bytes() as f64])
        }
        "orderings.table-iv.controllers" => {
            let keeps = |d: &Design| d.nature().across == Across::OneKeeps;
            same(runs, &keeps, &["dpo", "pmem-spec"], "do not support several controllers")?
        }
        "orderings.table-iv.recovery" => {
            let wrong = |d: &Design| d.nature().speculates != Speculates::Nothing;
            same(runs, &wrong, &["pmem-spec", "asap-ep", "asap-rp"], "have something to take back")?
        }
        "orderings.table-iv.battery" => {
            same(runs, &|d| d.needs_battery(), &["bbb", "eadr"], "need a battery")?
        }
        _ => return None,
    })
}

/// Designs that ASAP's Table IV compares, and itself.
const COMPARED: [&str; 12] = [
    "lb++",
    "dpo",
    "hops-ep",
    "hops-rp",
    "lrp",
    "strandweaver",
    "pmem-spec",
    "vorpal",
    "bbb",
    "eadr",
    "asap-ep",
    "asap-rp",
];

/// Whether something holds for these of the compared designs, and for no other; none where one of them is not described.
fn same(runs: &Runs, holds: &dyn Fn(&Design) -> bool, those: &[&str], what: &str) -> Option<Finding> {
    let described = |machine: &&'static str| Some((*machine, tables::design(runs, machine, 4)?));
    let designs: Vec<_> = COMPARED.iter().map(described).collect::<Option<_>>()?;
    let found: Vec<&str> = designs.iter().filter(|(_, design)| holds(design)).map(|(m, _)| *m).collect();
    let (mut ours, mut theirs) = (found.clone(), those.to_vec());
    ours.sort_unstable();
    theirs.sort_unstable();
    Some(statement(ours == theirs, format!("{} {what}", found.join(", "))))
}
