//! `coreplane reproduce`.

use crate::Failure;
use crate::args::ReproduceArgs;
use crate::output::{self, Table};
use crate::progress;
use evaluate::{Claims, Evaluation, Finding, PAPERS, Scored};

/// What can be reproduced, for the help.
pub(crate) fn papers() -> String {
    let names: Vec<&str> = PAPERS.iter().map(|p| p.name).collect();
    format!("What to evaluate: {}, or all", names.join(", "))
}

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let evaluations = look(args)?;
    if let Some(folder) = &args.out {
        for evaluation in &evaluations {
            // One paper has the folder for itself.
            let own = folder.join(evaluation.paper);
            let folder = if evaluations.len() == 1 { folder } else { &own };
            let mut kept = evaluation.to_json();
            kept["provenance"] = output::provenance();
            output::write(folder, "reproduce.json", format!("{kept:#}\n").as_bytes())?;
        }
    }
    if output::is_json(&args.common) {
        let claims = evaluations.iter().flat_map(|e| &e.claims);
        output::print_json(&claims.map(|c| c.to_json(false)).collect());
    } else {
        evaluations.iter().for_each(print);
    }
    Ok(())
}

/// Makes the evaluations.
pub(crate) fn look(args: &ReproduceArgs) -> Result<Vec<Evaluation>, Failure> {
    let claims = match &args.claims {
        Some(path) => Claims::read(path)?,
        None => Claims::built_in()?,
    };
    let papers = match args.paper.as_str() {
        "all" => PAPERS.to_vec(),
        name => {
            let known = PAPERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
            let one = PAPERS.iter().find(|p| p.name == name).ok_or_else(|| {
                Failure::BadInput(format!("reproduce {name}: is not there; give one of {known}, all"))
            })?;
            vec![*one]
        }
    };
    let mut evaluations = Vec::new();
    for paper in papers {
        let bar = progress::bar(&args.common, 0, paper.name);
        let begin = |n: usize| bar.length(n as u64);
        let done = paper.evaluate(&claims, args.seed, begin, || bar.step()).map_err(output::failed)?;
        drop(bar);
        evaluations.push(done);
    }
    Ok(evaluations)
}

fn print(evaluation: &Evaluation) {
    println!("{}: {}\n", evaluation.paper, evaluation.about);
    let mut table = Table::new(["claim", "verdict", "published", "ours", "ratio"]).left(2);
    let mut notes = Vec::new();
    for scored in &evaluation.claims {
        let (published, ours, ratio) = columns(scored);
        table.row([scored.claim.id.clone(), scored.word().into(), published, ours, ratio]);
        if let Finding::Statement { because, .. } | Finding::Open(because) = &scored.finding {
            notes.push(format!("{}: {because}", scored.claim.id));
        }
    }
    table.print();
    println!();
    notes.iter().for_each(|n| println!("{n}"));
    println!("\nWhy claims are missed: validation/DEVIATIONS.md");
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
