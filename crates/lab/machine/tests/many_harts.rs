//! Machines with as many harts as there can be, whose lines crowd into the same sets of the shared cache.

use machine::{Description, RunOptions, WorkloadDescription, run};

#[test]
fn sixty_four_harts_run_to_the_end_on_every_kind_of_machine() {
    for machine in ["intel", "hops-ep", "asap-rp", "bbb", "eadr"] {
        for workload in ["bandwidth", "cceh"] {
            let mut w = WorkloadDescription::named(workload).unwrap();
            w.set("workload.threads", "64").unwrap();
            w.set("workload.operations", "640").unwrap();
            let report = run(&Description::preset(machine).unwrap(), &w, &RunOptions::default()).unwrap();
            assert_eq!(report.workload_description.threads(), 64);
            // CCEH claims pairs without release and acquire, so release persistency orders no images for it.
            if machine != "intel" && workload == "bandwidth" {
                assert!(report.durable.to_vec() == report.visible.to_vec(), "{workload} on {machine}");
            }
        }
    }
}
