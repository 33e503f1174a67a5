//! `coreplane holdup`.

use crate::Failure;
use crate::args::HoldupArgs;
use crate::lines::{self, say};
use crate::output::{self, Table};
use crate::progress;
use crate::results;
use evaluate::holdup::{self, Step};
use serde_json::{Value, json};

pub(crate) fn holdup(args: &HoldupArgs) -> Result<(), Failure> {
    let mut machine = output::machine_before(&args.machine, args.workload.as_deref().unwrap_or_default())?;
    let name = args.workload.as_deref().unwrap_or_else(|| holdup::workload(&machine));
    let mut workload = output::workload(name)?;
    output::apply(&args.settings, &mut machine, &mut workload)?;
    output::make_folder(args.out.as_deref())?;
    let shown = progress::busy(&args.common, &format!("{name} on {}", args.machine));
    let found = holdup::holdup(&machine, &workload, args.settings.seed);
    drop(shown);
    let steps = found.map_err(output::failed)?;
    for what in machine::takes_what_was_durable(&machine)? {
        lines::remark(&format!("{what}: that is lost whatever energy is stored, and is not counted"));
    }
    let all = to_json(&steps);
    if let Some(folder) = &args.out {
        let kept = json!({
            "machine": machine.name,
            "workload": workload.name,
            "seed": args.settings.seed,
            "steps": all,
            "provenance": output::provenance_of(name)?,
        });
        results::put(folder, |own| {
            own.write("holdup.csv", csv(&steps).as_bytes())?;
            own.write_json("holdup.json", &kept)
        })?;
    }
    if output::is_json(&args.common) {
        output::print_json(&all);
    } else {
        print(args, name, &steps);
    }
    Ok(())
}

pub(crate) fn to_json(steps: &[Step]) -> Value {
    steps.iter().map(Step::to_json).collect()
}

fn csv(steps: &[Step]) -> String {
    let row = |s: &Step| format!("{:.3},{},{:.3}\n", s.microjoules, s.lines_lost, s.lines_lost_mean);
    let head = "microjoules,lines_lost,lines_lost_mean\n".to_string();
    std::iter::once(head).chain(steps.iter().map(row)).collect()
}

fn print(args: &HoldupArgs, workload: &str, steps: &[Step]) {
    say!("{workload} on {}, seed {}: lines lost at a power failure\n", args.machine, args.settings.seed);
    let mut table = Table::new(["stored energy", "lost at most", "mean"]);
    for s in steps {
        let energy = format!("{:.2} uJ", s.microjoules);
        table.row([energy, s.lines_lost.to_string(), format!("{:.1}", s.lines_lost_mean)]);
    }
    table.print();
}
