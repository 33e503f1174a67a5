//! `coreplane reproduce`.

use crate::Failure;
use crate::args::ReproduceArgs;
use crate::output::{self, Table};
use evaluate::{Claims, Evaluation, Finding, Scored};

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let claims = match &args.claims {
        Some(path) => Claims::read(path)?,
        None => Claims::built_in()?,
    };
    let evaluation = match args.paper.as_str() {
        "asap" | "all" => {
            let bar = output::progress(&args.common, 0, "asap");
            let done =
                evaluate::asap::evaluate(&claims, args.seed, |n| bar.set_length(n as u64), || bar.inc(1))
                    .map_err(output::failed)?;
            bar.finish_and_clear();
            done
        }
        other => {
            let known = "asap, all";
            return Err(Failure::BadInput(format!("reproduce {other}: is not there; give one of {known}")));
        }
    };
    if let Some(folder) = &args.out {
        output::write(folder, "reproduce.json", format!("{:#}\n", evaluation.to_json()).as_bytes())?;
    }
    if output::is_json(&args.common) {
        output::print_json(&evaluation.claims.iter().map(|c| c.to_json(false)).collect());
    } else {
        print(&evaluation);
    }
    Ok(())
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
