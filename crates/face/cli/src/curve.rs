//! `coreplane curve`.

use crate::Failure;
use crate::args::CurveArgs;
use crate::kept::{Kept, build};
use crate::lines::say;
use crate::output::{self, Table};
use crate::progress;
use crate::results;
use evaluate::bands::study::Keep;
use evaluate::curve::{self, Point};
use serde_json::{Value, json};

pub(crate) fn curve(args: &CurveArgs) -> Result<(), Failure> {
    let mut machine = output::machine(&args.machine)?;
    let mut workload = curve::workload()?;
    output::apply(&args.settings, &mut machine, &mut workload)?;
    output::make_folder(args.out.as_deref())?;
    let bar = progress::bar(&args.common, curve::runs(args.reads.len()), &args.machine);
    let keep = args.out.as_deref().map(|folder| Kept::new(Some(folder)));
    let build = build(None);
    let kept = keep.as_ref().map(|keep| (keep as &dyn Keep, build.as_str()));
    let found = curve::curves(&machine, &workload, &args.reads, args.settings.seed, kept, || bar.step());
    drop(bar);
    let points = found.map_err(output::failed)?;
    let all = to_json(&points);
    if let Some(folder) = &args.out {
        let kept = json!({
            "machine": machine.name,
            "memory": workload.settings.text("workload.memory"),
            "seed": args.settings.seed,
            "points": all,
            "provenance": output::provenance(),
        });
        results::put(folder, |own| {
            own.write("curve.csv", csv(&points).as_bytes())?;
            own.write_json("curve.json", &kept)
        })?;
    }
    if output::is_json(&args.common) {
        output::print_json(&all);
    } else {
        print(args, &points);
    }
    Ok(())
}

pub(crate) fn to_json(points: &[Point]) -> Value {
    points.iter().map(Point::to_json).collect()
}

fn csv(points: &[Point]) -> String {
    let row = |p: &Point| format!("{},{:.3},{:.2}\n", p.read_percent, p.gb_per_s, p.load_to_use_ns);
    std::iter::once("read_percent,gb_per_s,load_to_use_ns\n".to_string())
        .chain(points.iter().map(row))
        .collect()
}

fn print(args: &CurveArgs, points: &[Point]) {
    say!("memory of {} under load, seed {}\n", args.machine, args.settings.seed);
    let mut table = Table::new(["reads", "bandwidth", "load to use"]);
    for p in points {
        let reads = format!("{} %", p.read_percent);
        table.row([reads, format!("{:.2} GB/s", p.gb_per_s), format!("{:.1} ns", p.load_to_use_ns)]);
    }
    table.print();
}
