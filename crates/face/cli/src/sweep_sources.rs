//! What a campaign names, read and checked before the first run: machines, workloads, and the runs that they make.

use crate::Failure;
use crate::compared_machines::told_apart;
use crate::output;
use crate::sweep_column::Column;
use machine::{Assignment, Campaign, Description, Point, WorkloadDescription};
use std::collections::BTreeMap;
use std::path::Path;
use trace::tables::Constant;
use twox_hash::XxHash3_64;

/// A run that was described and checked, and the name of its files. Its description is made anew when it begins: a campaign
/// may have very many.
pub(crate) struct Job {
    pub(crate) point: Point,
    pub(crate) columns: Vec<(String, Constant)>,
    pub(crate) name: String,
}

/// Machines and workloads as the campaign names them, each read once; files are found from the campaign's folder.
pub(crate) struct Sources {
    /// No two of one name, which is what results call them.
    machines: BTreeMap<String, Description>,
    /// With a hash of what a recording holds.
    workloads: BTreeMap<String, (WorkloadDescription, u64)>,
    /// Files among them, as the campaign names them.
    pub(crate) files: Vec<String>,
    /// The columns of the keys that it sets and varies.
    columns: BTreeMap<String, Column>,
}

impl Sources {
    /// What the campaign in `file` names; files among it from `base`.
    pub(crate) fn of(campaign: &Campaign, file: &Path, base: &Path) -> Result<Sources, Failure> {
        let keys = campaign.set.iter().map(|a| &a.key).chain(campaign.vary.iter().map(|(key, ..)| key));
        let mut sources = Sources {
            machines: BTreeMap::new(),
            workloads: BTreeMap::new(),
            files: Vec::new(),
            columns: keys.map(|key| (key.clone(), Column::of(key))).collect(),
        };
        let named = |name: &String, failure| match failure {
            Failure::BadInput(text) => {
                let line = campaign.lines.get(name).copied().unwrap_or(1);
                Failure::BadInput(format!("{}:{line}: {text}", file.display()))
            }
            other => other,
        };
        let machines: Result<Vec<_>, _> = campaign
            .machines
            .iter()
            .map(|name| sources.machine(name, base).map_err(|e| named(name, e)))
            .collect();
        let mut machines = machines?;
        told_apart(&campaign.machines, &mut machines);
        sources.machines = campaign.machines.iter().cloned().zip(machines).collect();
        for name in &campaign.workloads {
            sources.add_workload(name, base).map_err(|e| named(name, e))?;
        }
        Ok(sources)
    }

    /// Machines by the names that the campaign gives them.
    pub(crate) fn machines(&self) -> impl Iterator<Item = (&str, &Description)> {
        self.machines.iter().map(|(name, machine)| (name.as_str(), machine))
    }

    /// What results call each machine, and a hash of what it is before anything is set.
    pub(crate) fn machine_hashes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.machines.values().map(|machine| {
            let all = format!("{:?} {:?}", machine.settings, machine.memories);
            (machine.name.as_str(), XxHash3_64::oneshot(all.as_bytes()))
        })
    }

    /// The same of the workloads.
    pub(crate) fn workload_hashes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.workloads.iter().map(|(name, (workload, contents))| {
            let all = format!("{contents} {:?}", workload.settings);
            (name.as_str(), XxHash3_64::oneshot(all.as_bytes()))
        })
    }

    /// What is set, as JSON: values by their keys' columns, so that one value is the same in all runs.
    pub(crate) fn settings(&self, set: &[Assignment]) -> serde_json::Value {
        set.iter().map(|a| (a.key.clone(), self.columns[&a.key].json(&a.value))).collect()
    }

    fn machine(&mut self, name: &str, base: &Path) -> Result<Description, Failure> {
        let is_file = name.ends_with(".toml");
        self.files.extend(is_file.then(|| name.into()));
        Ok(output::machine(&if is_file { below(base, name) } else { name.into() })?)
    }

    fn add_workload(&mut self, name: &str, base: &Path) -> Result<(), Failure> {
        let mut contents = 0;
        let mut workload = match output::recording(name) {
            None => output::workload(name)?,
            Some((kind, path)) => {
                self.files.push(path.into());
                let path = below(base, path);
                let bytes = std::fs::read(&path).map_err(|e| Failure::BadInput(format!("{path}: {e}")))?;
                contents = XxHash3_64::oneshot(&bytes);
                output::workload(&format!("{kind}:{path}"))?
            }
        };
        workload.name = name.into();
        self.workloads.insert(name.into(), (workload, contents));
        Ok(())
    }

    /// Values that vary are different ones, however they are written.
    fn check_variations(&self, campaign: &Campaign, file: &str) -> Result<(), Failure> {
        for (key, line, values) in &campaign.vary {
            let mut before: BTreeMap<String, &String> = BTreeMap::new();
            for value in values {
                let Some(meaning) = self.meaning(key, value) else { continue };
                if let Some(same) = before.insert(meaning, value) {
                    let text = format!("{file}:{line}: {key}: {same} and {value} are the same value");
                    return Err(Failure::BadInput(text));
                }
            }
        }
        Ok(())
    }

    /// What a value is taken for where its key is known; none where it is not, or where the value is not accepted.
    fn meaning(&self, key: &str, value: &str) -> Option<String> {
        if output::is_of_workload(key) {
            return self.workloads.values().find_map(|(workload, _)| {
                let mut workload = workload.clone();
                workload.set(key, value).ok()?;
                Some(format!("{:?}", workload.settings.get(key)))
            });
        }
        self.machines.values().find_map(|machine| {
            let mut machine = machine.clone();
            machine.set(key, value).ok()?;
            machine.rows().find(|(param, ..)| param.key == key).map(|(_, value, _)| value)
        })
    }

    /// Every run, described and checked before the first begins.
    pub(crate) fn jobs(&self, campaign: &Campaign, file: &str) -> Result<Vec<Job>, Failure> {
        self.check_variations(campaign, file)?;
        // A key has to act somewhere: by line and key.
        let mut acted = BTreeMap::new();
        let jobs: Result<Vec<Job>, Failure> =
            campaign.points().map(|point| self.job(campaign, file, point, &mut acted)).collect();
        let jobs = jobs?;
        if let Some(((line, key), _)) = acted.iter().find(|(_, acts)| !**acts) {
            let machines = campaign.machines.iter().filter_map(|name| self.machines.get(name));
            return Err(Failure::BadInput(format!(
                "{file}:{line}: {}",
                machine::does_nothing(key, machines)
            )));
        }
        Ok(jobs)
    }

    fn job(
        &self,
        campaign: &Campaign,
        file: &str,
        point: Point,
        acted: &mut BTreeMap<(usize, String), bool>,
    ) -> Result<Job, Failure> {
        let (machine, workload) = self.describe(&point, file, acted)?;
        let wrong = |e| Failure::BadInput(format!("{file}: {}: {e}", described(&point)));
        let fits = machine.check().and_then(|()| workload.check_on(&machine));
        fits.and_then(|()| workload.check_region()).map_err(wrong)?;
        let varied = &point.settings[campaign.set.len()..];
        let column = |a: &Assignment| (a.key.clone(), self.columns[&a.key].value(&a.value));
        let columns: Vec<_> = varied.iter().map(column).collect();
        let contents = self.workloads[&point.workload].1;
        let name = name(&point, &machine, &workload, contents, &columns);
        Ok(Job { point, columns, name })
    }

    /// A key is set where it acts.
    pub(crate) fn describe(
        &self,
        point: &Point,
        file: &str,
        acted: &mut BTreeMap<(usize, String), bool>,
    ) -> Result<(Description, WorkloadDescription), Failure> {
        let mut all = self.machines[&point.machine].clone();
        let mut machine = all.clone();
        let mut workload = self.workloads[&point.workload].0.clone();
        let (of_workload, of_machine): (Vec<_>, Vec<_>) =
            point.settings.iter().partition(|a| output::is_of_workload(&a.key));
        let wrong = |e, a: &Assignment| Failure::BadInput(format!("{file}:{}: {e}", a.line));
        for a in of_workload {
            workload.set(&a.key, &a.value).map_err(|e| wrong(e, a))?;
        }
        // By themselves first, for the line of what is wrong.
        for a in &of_machine {
            machine.clone().set(&a.key, &a.value).map_err(|e| wrong(e, a))?;
        }
        all.set_all(of_machine.iter().map(|a| (a.key.as_str(), a.value.as_str())))?;
        let acting: Vec<_> = of_machine.iter().filter(|a| all.acts(&a.key)).collect();
        for a in &of_machine {
            *acted.entry((a.line, a.key.clone())).or_default() |= all.acts(&a.key);
        }
        machine.set_all(acting.iter().map(|a| (a.key.as_str(), a.value.as_str())))?;
        Ok((machine, workload))
    }
}

/// A file that is named from a folder.
fn below(base: &Path, name: &str) -> String {
    base.join(name).to_string_lossy().into_owned()
}

/// A run in words.
pub(crate) fn described(point: &Point) -> String {
    let set = point.settings.iter().map(|a| format!(" {}={}", a.key, a.value)).collect::<String>();
    format!("{} on {}{set}, seed {}", point.workload, point.machine, point.seed)
}

/// Machine, workload, and a hash of everything that the result depends on.
fn name(
    point: &Point,
    machine: &Description,
    workload: &WorkloadDescription,
    contents: u64,
    columns: &[(String, Constant)],
) -> String {
    let about = (env!("CARGO_PKG_VERSION"), &machine.name, &point.workload, point.seed, contents, columns);
    let mut all = format!("{about:?}\n{:?}\n", machine.memories);
    for (param, value, _) in machine.rows() {
        all += &format!("{} = {value}\n", param.key);
    }
    for (param, value) in workload.acting() {
        all += &format!("{} = {:?}\n", param.key, Some(value));
    }
    let plain = |text: &str| -> String {
        let last = text.rsplit(['/', ':']).next().unwrap_or(text);
        let keep = |c: char| if c.is_ascii_alphanumeric() || "-_@.".contains(c) { c } else { '_' };
        last.chars().take(40).map(keep).collect()
    };
    format!(
        "{}.{}.{:016x}",
        plain(&point.machine),
        plain(&point.workload),
        XxHash3_64::oneshot(all.as_bytes())
    )
}
