//! Bands: how far results go when what nobody has published is another than the presets say.
//!
//! Each open parameter is varied within the interval of its source ([`space`]), in the runs of a design ([`design`]) that
//! are made once and kept ([`study`]), and in some more to which those point ([`steered`]); [`band`] says what that makes of a claim.

pub mod band;
pub mod design;
pub mod space;
pub mod spread;
pub mod steered;
pub mod study;

use crate::claims::Claims;
use crate::runs::{Asked, Key, Runs};
use crate::verdict::{Finding, Scored};
use crate::{Effort, Evaluation, Paper};
use band::{Band, Joint, numbers};
use design::Point;
use machine::RunError;
use space::Space;
use spread::designed;
use std::collections::{BTreeMap, BTreeSet};
use study::{Job, Keep, Outcome};

/// The most runs of a design.
pub const MOST_RUNS: usize = 200;

/// What is to be done for bands.
pub struct Wanted<'a> {
    /// Runs of the design; as many as the paper takes by default unless given.
    pub runs: Option<usize>,
    /// Where they are kept.
    pub keep: &'a dyn Keep,
    /// What else results hang on: the program itself.
    pub build: String,
}

/// How far an evaluation with bands is.
pub trait Progress: Sync {
    /// What is going to be done, and in how many steps.
    fn begin(&self, what: &str, steps: usize);

    /// One of them is done.
    fn step(&self);
}

impl Paper {
    /// [`Paper::evaluate`], and then what open parameters make of each claim.
    ///
    /// # Errors
    /// When a run of the presets cannot be done, or results cannot be kept.
    pub fn evaluate_with_bands(
        &self,
        claims: &Claims,
        seed: u64,
        wanted: &Wanted<'_>,
        progress: &dyn Progress,
    ) -> Result<Evaluation, RunError> {
        let runs = |space: &Space| spread::runs(space, wanted.runs, self.runs, self.name);
        // What is refused is refused before anything runs.
        let declared = (self.declare)(Effort::Design)?;
        runs(&self.open(&declared, claims, seed))?;
        let begin = |n| progress.begin(&format!("{}, as in the presets: {n} simulations", self.name), n);
        let (mut done, asked) =
            self.evaluated(claims, seed, Some((wanted.keep, &wanted.build)), begin, || progress.step())?;
        // A claim of which a design runs nothing has no band, and is not looked into again.
        let runs_any = |asked: &Asked| asked.keys().any(|key| declared.declared(key).is_some());
        let asked: Vec<Asked> =
            asked.into_iter().map(|a| if runs_any(&a) { a } else { Asked::new() }).collect();
        let (keys, jobs) = jobs(&declared, &asked);
        let space = space(&jobs);
        let keys = &keys[..];
        let numbers = |points: &[Point], outcomes: &[Vec<Outcome>]| {
            self.numbers(&done, &asked, &Designed { keys, points, outcomes })
        };
        let study = (self.name, &jobs[..], &space);
        let (points, outcomes) = designed(study, (runs(&space)?, seed), wanted, progress, numbers)?;
        self.judge(&mut done, &asked, space, &Designed { keys, points: &points, outcomes: &outcomes });
        Ok(done)
    }

    /// What is open of all that these claims read, known without a run.
    fn open(&self, declared: &Runs, claims: &Claims, seed: u64) -> Space {
        let (_, asked) = self.scored(declared, claims, seed);
        space(&jobs(declared, &asked).1)
    }

    /// The numbers of all claims in each run of a design: of those that the presets miss first, and of each claim one before
    /// any has another.
    fn numbers(&self, done: &Evaluation, asked: &[Asked], designed: &Designed<'_>) -> Vec<Vec<Option<f64>>> {
        let claims = done.claims.iter().zip(asked).filter(|(_, asked)| !asked.is_empty());
        let mut all: Vec<_> = claims
            .flat_map(|(scored, asked)| {
                let numbers = numbers(&self.found(scored, asked, designed)).into_iter().enumerate();
                numbers.map(|(place, number)| ((scored.is_met(), place), number))
            })
            .collect();
        all.sort_by_key(|(first, _)| *first);
        all.into_iter().map(|(_, number)| number).collect()
    }

    /// What is found of a claim in each run of a design.
    fn found(&self, scored: &Scored, asked: &Asked, designed: &Designed<'_>) -> Vec<Option<Finding>> {
        let one = |n: usize| {
            let runs = designed.runs(n, asked)?;
            let found = (self.finding)(&runs, &scored.claim, designed.points[n].seed);
            // What a run of the design does not report decides nothing.
            runs.all_known().is_ok().then_some(found)
        };
        (0..designed.points.len()).map(one).collect()
    }

    fn judge(&self, done: &mut Evaluation, asked: &[Asked], space: Space, designed: &Designed<'_>) {
        let mut met = vec![Vec::new(); designed.points.len()];
        for (scored, asked) in done.claims.iter_mut().zip(asked) {
            let found = Some(asked).filter(|asked| !asked.is_empty());
            let found = found.map(|asked| self.found(scored, asked, designed));
            // What follows from machines, and not from what they did, is as in the presets.
            let varied = found.filter(|found| !matches!(found.first(), Some(Some(Finding::Open(_)))));
            scored.band = varied.as_ref().and_then(|f| Band::of(&scored.claim, &space, designed.points, f));
            let found = varied.unwrap_or_else(|| vec![Some(scored.finding.clone()); designed.points.len()]);
            for (met, found) in met.iter_mut().zip(&found) {
                let alone = |finding: &Finding| Scored::new(scored.claim.clone(), finding.clone()).is_met();
                if found.as_ref().is_some_and(alone) {
                    met.push(scored.claim.id.clone());
                }
            }
        }
        done.joint = Joint::of(&space, designed.points, &met, done.claims.len());
        done.open = space.dimensions;
    }
}

/// A design, and what came out.
struct Designed<'a> {
    keys: &'a [Key],
    points: &'a [Point],
    outcomes: &'a [Vec<Outcome>],
}

impl Designed<'_> {
    /// A run's statistics as an evaluation reads them; none where one of those that are asked for failed.
    fn runs(&self, point: usize, asked: &Asked) -> Option<Runs> {
        let mut runs = Runs::default();
        for (key, outcome) in self.keys.iter().zip(&self.outcomes[point]) {
            match outcome {
                Ok(stats) => runs.insert(key.clone(), stats.clone()),
                Err(_) if asked.contains_key(key) => return None,
                Err(_) => {}
            }
        }
        Some(runs)
    }
}

fn space(jobs: &[Job]) -> Space {
    Space::of_jobs(jobs, &BTreeSet::new())
}

/// Every run that a claim reads, once, and as a job. What was never declared is not run either.
fn jobs(runs: &Runs, asked: &[Asked]) -> (Vec<Key>, Vec<Job>) {
    let keys: BTreeSet<&Key> = asked.iter().flat_map(BTreeMap::keys).collect();
    let job = |key: &Key| {
        let (machine, workload, counted) = runs.declared(key)?;
        let wanted = asked.iter().filter_map(|asked| asked.get(key)).flatten().cloned().collect();
        let name = format!("{}, {}, {} threads", key.machine, key.workload, key.threads);
        let (machine, workload) = (machine.clone(), workload.clone());
        Some((key.clone(), Job { name, machine, workload, wanted, counted }))
    };
    keys.into_iter().filter_map(job).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Claim;
    use crate::{Spans, Verdict};
    use std::sync::Mutex;

    /// Two machines, one small program; a claim that hangs on both, one on one of them, and one on nothing.
    const TINY: Paper = Paper {
        name: "test",
        is_collection: false,
        about: |_| String::new(),
        declare: |effort| {
            let mut runs = Runs::default();
            // A design leaves the last out.
            let all = ["intel", "asap-rp", "eadr", "bbb"];
            let machines = if effort == Effort::Whole { &all[..] } else { &all[..3] };
            for machine in machines {
                let sets = [("workload.operations", "40".to_string())];
                runs.add(Key::new(machine, "queue", 2), machine, &sets)?;
            }
            Ok(runs)
        },
        finding: |runs, claim, _| {
            let time = |machine: &str| runs.time(machine, "queue", 2);
            match claim.id.as_str() {
                "speedup" => Finding::Values(vec![time("intel") / time("asap-rp")]),
                "time" => Finding::Statement { holds: time("asap-rp") < 1.0, because: String::new() },
                "size" => Finding::Values(vec![42.0]),
                "left out" => Finding::Values(vec![time("bbb")]),
                "by design" if runs.declared(&Key::new("intel", "queue", 2)).is_some() => {
                    Finding::Statement { holds: time("intel") > 0.0, because: String::new() }
                }
                _ => Finding::Open("no measurement stands beside this claim".into()),
            }
        },
        figures: |_| Vec::new(),
        tables: |_| Vec::new(),
        runs: 50,
        live: None,
    };

    #[derive(Default)]
    struct Memory(Mutex<BTreeMap<String, String>>);

    impl Keep for Memory {
        fn read(&self, name: &str) -> Option<String> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn write(&self, name: &str, text: &str) -> Result<(), String> {
            self.0.lock().unwrap().insert(name.into(), text.into());
            Ok(())
        }
    }

    #[derive(Default)]
    struct Said(Mutex<Vec<String>>);

    impl Progress for Said {
        fn begin(&self, what: &str, _: usize) {
            self.0.lock().unwrap().push(what.into());
        }

        fn step(&self) {}
    }

    #[test]
    fn a_tiny_family_of_claims_has_bands_verdicts_and_a_joint_setting() {
        let wanted = ["speedup", "time", "size", "of others", "left out", "by design"];
        let values: [&[f64]; 6] = [&[1.0], &[], &[42.0], &[1.0], &[1.0], &[]];
        let list = wanted.iter().zip(values).map(|(id, values)| Claim::new(id, values, 0.001)).collect();
        let mut claims = Claims { list };
        let (keep, said) = (Memory::default(), Said::default());
        let evaluate = |claims: &Claims, runs| {
            let wanted = Wanted { runs, keep: &keep, build: "this".into() };
            TINY.evaluate_with_bands(claims, 1, &wanted, &said)
        };
        let first = evaluate(&claims, None).unwrap();
        let Spans::Values(ends) = &first.claims[0].band.as_ref().unwrap().spans else { panic!() };
        let (low, high) = ends[0];
        assert!(low < high, "{low} {high}");
        // Something moves it, and what no claim reads is not varied.
        let moved = first.claims[0].decided_by().unwrap();
        assert!(
            moved.swing > 0.0 && first.open.iter().any(|d| d.key == moved.name.split(' ').next().unwrap())
        );
        assert!(first.open.iter().all(|d| d.of.iter().all(|name| name != "eadr")));
        let verdicts: Vec<_> = first.claims.iter().map(Scored::verdict).collect();
        let last = [Verdict::Error, Verdict::Missed, Verdict::Reproduced];
        assert_eq!(verdicts[1..3], [Verdict::Missed, Verdict::Reproduced]);
        assert_eq!(verdicts[3..], last);
        assert!(first.claims[2..].iter().all(|c| c.band.is_none()));
        let joint = first.joint.unwrap();
        // A third of what is over is left for where the speedup should be lowest and highest: two runs of that are needed.
        let over = 50 - design::least(first.open.len()) - (design::SEEDS as usize - 1);
        assert_eq!((joint.of, joint.tried, joint.preset), (6, 50 - over / 3 + 2, 2));
        assert!(["size", "by design"].iter().all(|id| joint.claims.contains(&id.to_string())));
        // What is published lies at the band's end that the preset misses: inside, and a setting meets it.
        let ours = first.claims[0].band.as_ref().map(|_| match &first.claims[0].finding {
            Finding::Values(v) => v[0],
            Finding::Statement { .. } | Finding::Open(_) => panic!(),
        });
        let far = if ours.unwrap() - low > high - ours.unwrap() { low } else { high };
        claims.list[0].values = vec![far];
        let kept = keep.0.lock().unwrap().len();
        assert!(kept > 3);
        let second = evaluate(&claims, None).unwrap();
        assert_eq!(second.claims[0].verdict(), Verdict::Inside);
        assert_eq!(second.joint.unwrap().claims.len(), 3);
        let said = said.0.into_inner().unwrap();
        // Presets are kept as well: the second time four runs and all of the design are read.
        assert_eq!(keep.0.lock().unwrap().len(), kept, "something was run again");
        assert!(said[1].contains(&format!("{} runs over", 50 - over / 3)), "{said:?}");
        assert!(said[2].contains("2 more where they together"), "{said:?}");
        assert!(said.len() == 6 && said[4..].iter().all(|s| s.ends_with(" 0 of them to do")), "{said:?}");
        for (runs, most) in [(2, "to 200"), (201, "to 200")] {
            let wanted = Wanted { runs: Some(runs), keep: &keep, build: "this".into() };
            let said = Said::default();
            let refused = TINY.evaluate_with_bands(&claims, 1, &wanted, &said).err().unwrap().to_string();
            let tells = refused.contains(&format!("--runs {runs}: test has")) && refused.contains(most);
            assert!(tells, "{refused}");
            assert!(said.0.into_inner().unwrap().is_empty(), "refused after runs had begun");
        }
    }

    #[test]
    fn no_value_that_an_evaluation_sets_lies_outside_of_what_it_may_be() {
        let claims = Claims::built_in().unwrap();
        for paper in crate::PAPERS {
            let runs = (paper.declare)(Effort::Design).unwrap();
            let outside = paper.open(&runs, &claims, 1).outside;
            assert!(outside.is_empty(), "{}: {outside:?}", paper.name);
        }
    }

    #[test]
    fn what_claims_read_is_known_before_anything_runs() {
        let claims = Claims::built_in().unwrap();
        for paper in crate::PAPERS {
            let mut runs = (paper.declare)(Effort::Design).unwrap();
            let before = paper.open(&runs, &claims, 1);
            // As if everything had been run: each statistic that is asked for is 1.
            let (_, asked) = paper.scored(&runs, &claims, 1);
            assert!(asked.iter().any(|a| !a.is_empty()), "{}: asks nothing", paper.name);
            for (key, names) in asked.into_iter().flatten() {
                runs.insert(key, names.into_iter().map(|name| (name, 1.0)).collect());
            }
            let apart = ["asap.theorem", "nearpm.ppo", "nvdimmc.no-coll", "nvdimmc.powerf"];
            let list = claims.list.iter().filter(|c| !apart.iter().any(|a| c.id.starts_with(a))).cloned();
            let (_, asked) = paper.scored(&runs, &Claims { list: list.collect() }, 1);
            assert_eq!(before.dimensions, space(&jobs(&runs, &asked).1).dimensions, "{}", paper.name);
        }
    }
}
