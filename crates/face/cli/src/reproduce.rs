//! `coreplane reproduce`.

use crate::Failure;
use crate::args::ReproduceArgs;
use crate::designs;
use crate::kept::{Kept, build};
use crate::lines::say;
use crate::machine_files;
use crate::output::{self, Table};
use crate::progress;
use crate::results;
use crate::spread::Shown;
use evaluate::bands::Wanted;
use evaluate::bands::study::Keep;
use evaluate::{Band, Claims, Evaluation, Finding, PAPERS, Paper, Scored, Spans, Verdict};
use std::path::PathBuf;

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.live {
        let papers = papers(args)?;
        let [paper] = papers.as_slice() else {
            return Err(Failure::BadInput(format!("reproduce {} --live: give one paper", args.paper)));
        };
        return crate::live::table(args, paper, &claims(args, &papers)?);
    }
    let evaluations = look(args)?;
    if output::is_json(&args.common) {
        let claims = evaluations.iter().flat_map(|e| &e.claims);
        output::print_json(&claims.map(|c| c.to_json(false)).collect());
    } else {
        evaluations.iter().for_each(print);
        if evaluations.len() > 1 {
            scoreboard(&evaluations);
        }
    }
    all_decided(&evaluations)
}

/// A claim that is missed is a result; one without a verdict is none.
fn all_decided(evaluations: &[Evaluation]) -> Result<(), Failure> {
    let all = evaluations.iter().flat_map(|e| &e.claims);
    let open: Vec<&str> =
        all.filter(|c| c.verdict() == Verdict::Error).map(|c| c.claim.id.as_str()).collect();
    match open.as_slice() {
        [] => Ok(()),
        open => Err(Failure::DoesNotHold(format!("without a verdict: {}", open.join(", ")))),
    }
}

fn claims(args: &ReproduceArgs, papers: &[Paper]) -> Result<Claims, Failure> {
    let Some(path) = &args.claims else { return Ok(Claims::built_in()?) };
    let name = path.display().to_string();
    let claims = Claims::of_text(&name, &machine_files::text_of(path)?)?;
    if papers.iter().all(|paper| claims.of(paper.name).next().is_none()) {
        return Err(Failure::BadInput(format!(
            "{name}: has no claim of {} that is not an input; {}",
            papers.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
            instead(&claims)
        )));
    }
    for paper in papers {
        paper.measures(&claims, args.seed).map_err(|e| Failure::BadInput(format!("{name}: {e}")))?;
    }
    Ok(claims)
}

/// What may be asked for where a file has no claim of what was.
fn instead(claims: &Claims) -> String {
    let has = |p: &&Paper| claims.of(p.name).next().is_some();
    let with: Vec<&str> = PAPERS.iter().filter(has).map(|p| p.name).collect();
    match with.as_slice() {
        [] => "give one such claim at least".into(),
        with => format!("it has those of {}", with.join(", ")),
    }
}

/// What is to be evaluated.
fn papers(args: &ReproduceArgs) -> Result<Vec<Paper>, Failure> {
    Ok(match args.paper.as_str() {
        "all" => PAPERS.to_vec(),
        name => {
            let known = PAPERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
            let one = PAPERS.iter().find(|p| p.name == name).ok_or_else(|| {
                Failure::BadInput(format!("reproduce {name}: is not there; give one of {known}, all"))
            })?;
            vec![*one]
        }
    })
}

/// Makes the evaluations.
pub(crate) fn look(args: &ReproduceArgs) -> Result<Vec<Evaluation>, Failure> {
    let papers = papers(args)?;
    let claims = claims(args, &papers)?;
    output::make_folder(args.out.as_deref())?;
    if let Some(out) = args.out.as_ref().filter(|_| args.paper == "all") {
        // Each paper has a folder in it.
        results::put(out, |_| Ok(()))?;
    }
    let mut evaluations = Vec::new();
    for paper in papers {
        let done = evaluate(args, &claims, &paper)?;
        // At once: what comes after it may take long.
        if let Some(folder) = folder(args, &paper) {
            let mut kept = done.to_json();
            kept["provenance"] = output::provenance();
            results::put(&folder, |own| own.write_json("reproduce.json", &kept))?;
        }
        evaluations.push(done);
    }
    Ok(evaluations)
}

/// Where a paper's report goes: one has the folder for itself.
fn folder(args: &ReproduceArgs, paper: &Paper) -> Option<PathBuf> {
    let out = args.out.as_ref()?;
    Some(if args.paper == "all" { out.join(paper.name) } else { out.clone() })
}

fn evaluate(args: &ReproduceArgs, claims: &Claims, paper: &Paper) -> Result<Evaluation, Failure> {
    let folder = folder(args, paper);
    if args.bands {
        let keep = Kept::new(folder.as_deref());
        let wanted = Wanted { runs: args.runs, keep: &keep, build: build(None) };
        let shown = Shown::new(&args.common, paper.name);
        return paper.evaluate_with_bands(claims, args.seed, &wanted, &shown).map_err(output::failed);
    }
    let bar = progress::bar(&args.common, 0, paper.name);
    let begin = |n: usize| bar.length(n as u64);
    // Without a folder nothing is asked to stay.
    let keep = folder.as_deref().map(|folder| Kept::new(Some(folder)));
    let build = build(None);
    let kept = keep.as_ref().map(|keep| (keep as &dyn Keep, build.as_str()));
    paper.evaluate(claims, args.seed, kept, begin, || bar.step()).map_err(output::failed)
}

fn print(evaluation: &Evaluation) {
    say!("{}: {}\n", evaluation.paper, evaluation.about);
    let banded = evaluation.joint.is_some();
    let more: &[&str] = if banded { &["band", "moved most by"] } else { &[] };
    let head = ["claim", "verdict", "published", "ours", "ratio"].iter().chain(more);
    let mut table = Table::new(head.copied()).left(2);
    let mut notes = Vec::new();
    for scored in &evaluation.claims {
        let (published, ours, ratio) = columns(scored);
        let row = [scored.claim.id.clone(), scored.word().into(), published, ours, ratio];
        let more = banded.then(|| {
            let by = scored.decided_by().map_or("-", |effect| &effect.name);
            [scored.band.as_ref().map_or("-".into(), shown), by.into()]
        });
        table.row(row.into_iter().chain(more.into_iter().flatten()));
        if let Finding::Statement { because, .. } | Finding::Open(because) = &scored.finding {
            notes.push(format!("{}: {because}", scored.claim.id));
        }
    }
    table.print();
    println!();
    notes.iter().for_each(|note| say!("{note}"));
    evaluation.tables.iter().for_each(designs::print);
    joint(evaluation);
    println!("\nWhy claims are missed: coreplane show deviations");
}

/// Every paper's verdicts, a line a paper, and what became of the claims that had to come out by themselves.
fn scoreboard(evaluations: &[Evaluation]) {
    let verdicts = ["reproduced", "inside", "contradicts", "missed", "error"];
    let mut table = Table::new(["paper", "claims"].into_iter().chain(verdicts)).left(1);
    let all: Vec<&Scored> = evaluations.iter().flat_map(|e| &e.claims).collect();
    let mut row = |name: &str, claims: &[&Scored]| {
        let of = |word: &str| claims.iter().filter(|c| c.word() == word).count().to_string();
        table.row([name.to_string(), claims.len().to_string()].into_iter().chain(verdicts.map(of)));
    };
    for evaluation in evaluations {
        row(evaluation.paper, &evaluation.claims.iter().collect::<Vec<_>>());
    }
    row("all", &all);
    println!();
    table.print();
    let systems = evaluations.iter().filter(|e| PAPERS.iter().any(|p| p.name == e.paper && !p.is_collection));
    let [of, reproduced, inside] = predicted(systems.flat_map(|e| &e.claims));
    let [all, all_reproduced, all_inside] = predicted(all);
    say!(
        "\nOf {of} claims of the five systems' papers marked predict that no published number contradicts {reproduced} are reproduced and {inside} inside; of all {all}, {all_reproduced} and {all_inside}."
    );
}

/// Claims that had to come out by themselves and that no published number contradicts: how many there are, are reproduced, are
/// inside.
fn predicted<'a>(claims: impl IntoIterator<Item = &'a Scored>) -> [usize; 3] {
    let wanted = |c: &&Scored| c.claim.purpose == "predict" && c.word() != "contradicts";
    let words: Vec<&str> = claims.into_iter().filter(wanted).map(Scored::word).collect();
    let of = |word: &str| words.iter().filter(|w| **w == word).count();
    [words.len(), of("reproduced"), of("inside")]
}

/// How far a claim goes, in a cell.
fn shown(band: &Band) -> String {
    match &band.spans {
        Spans::Values(ends) => {
            ends.iter().map(|(low, high)| format!("{low:.3}..{high:.3}")).collect::<Vec<_>>().join(", ")
        }
        Spans::Statement { always: true, .. } => "always".into(),
        Spans::Statement { ever: true, .. } => "in some runs".into(),
        Spans::Statement { .. } => "never".into(),
    }
}

/// The setting that meets most claims at once.
fn joint(evaluation: &Evaluation) {
    let Some(joint) = &evaluation.joint else { return };
    say!(
        "\nOf {} claims the preset meets {} with the design's shorter programs, and one setting of {} that were run (seed {}) {}: {}",
        joint.of,
        joint.preset,
        joint.tried,
        joint.seed,
        joint.claims.len(),
        joint.claims.join(", ")
    );
    if joint.setting.is_empty() {
        println!("That setting is the preset.");
    }
    joint.setting.iter().for_each(|(key, value)| say!("  {key} = {value}"));
}

fn columns(scored: &Scored) -> (String, String, String) {
    let join = |v: &[f64]| v.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ");
    match &scored.finding {
        Finding::Values(ours) => {
            let ratios: Vec<f64> = ours.iter().zip(&scored.claim.values).map(|(o, p)| o / p).collect();
            (join(&scored.claim.values), join(ours), join(&ratios))
        }
        Finding::Statement { holds, .. } => ("true".into(), holds.to_string(), "-".into()),
        Finding::Open(_) => (join(&scored.claim.values), "-".into(), "-".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_without_a_verdict_is_no_success_and_a_missed_one_is_a_result() {
        let claims = Claims::built_in().unwrap();
        let claim = claims.of("nearpm").find(|c| c.id == "nearpm.micro").unwrap();
        let with = |finding: Finding| {
            let claims = vec![Scored::new(claim.clone(), finding)];
            let (figures, tables, open) = (Vec::new(), Vec::new(), Vec::new());
            let about = String::new();
            all_decided(&[Evaluation { paper: "nearpm", about, claims, figures, tables, joint: None, open }])
        };
        assert!(with(Finding::Values(vec![1e9; claim.values.len()])).is_ok());
        let Err(Failure::DoesNotHold(said)) = with(Finding::Open("nothing was run".into())) else {
            panic!("it has no verdict");
        };
        assert_eq!(said, "without a verdict: nearpm.micro");
    }
}
