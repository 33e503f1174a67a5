//! STREAM at page fidelity: three arrays, four kernels, in memory or in device files of hidden persistent memory.

use super::{PageContext, Script};
use protocol::pages::{Arrival, PageStep, Visit};
use units::{Dur, Time};

/// Pages that a kernel works on before it goes on to the next array.
const BLOCK: u64 = 16;
/// Time of a core for the 512 elements of a page.
const WORK: Dur = Dur::ns(256);
/// Which arrays a kernel reads, and which it writes.
const KERNELS: [(&[usize], usize); 4] = [(&[0], 2), (&[2], 1), (&[0, 1], 2), (&[1, 2], 0)];

pub(super) fn programs(context: &PageContext) -> Vec<Arrival> {
    let s = &context.settings;
    let pages = s.number("workload.array_bytes") / 4096;
    let (rounds, device) = (s.number("workload.operations"), s.flag("workload.passthrough"));
    let mut steps = Vec::new();
    for area in 0..3 {
        steps.push(match device {
            true => PageStep::MapDevice { area, pages, file_pages: pages, file: area },
            false => PageStep::Map { area, pages },
        });
        steps.push(visit(area, 0, pages, true));
    }
    let setting_up = steps.len() as u64;
    let blocks = pages.div_ceil(BLOCK);
    // A kernel's steps: its beginning is marked, then each array of each block, then an operation has ended.
    let step = move |nth: u64| {
        if nth < setting_up {
            return steps[nth as usize];
        }
        let mut nth = nth - setting_up;
        for (kind, (reads, writes)) in KERNELS.iter().enumerate() {
            let arrays = reads.len() as u64 + 1;
            let round = blocks * arrays + 2;
            if nth < round * rounds {
                let within = nth % round;
                if within == 0 || within == round - 1 {
                    return PageStep::Operations { kind, count: u64::from(within > 0) };
                }
                let (block, array) = ((within - 1) / arrays, ((within - 1) % arrays) as usize);
                let first = block * BLOCK;
                let area = reads.get(array).unwrap_or(writes);
                return visit(*area, first, BLOCK.min(pages - first), array == reads.len());
            }
            nth -= round * rounds;
        }
        if nth < 3 { PageStep::Unmap { area: nth as usize } } else { PageStep::End }
    };
    vec![Arrival { at: Time::ZERO, program: Box::new(Script(step, 0)) }]
}

fn visit(area: usize, first: u64, count: u64, write: bool) -> PageStep {
    PageStep::Visit(Visit::sweep(area, first, count, 64, write, WORK))
}
