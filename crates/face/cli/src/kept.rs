//! Results that bands are made of, and measured costs of memory, a file for each run: what is there is not simulated again.

use crate::Failure;
use crate::bands::{Ended, Variant, Wanted};
use crate::output;
use evaluate::bands::study::Keep;
use machine::{Description, Report, RunOptions, WorkloadDescription};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use twox_hash::XxHash3_64;
use units::Dur;

/// A folder of results.
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// In the folder of a report, or in the user's cache.
    pub(crate) fn new(out: Option<&Path>) -> Kept {
        let folder = out.map_or_else(|| output::cache().join("bands"), runs_of);
        begin(&folder);
        Kept { folder }
    }
}

/// Where a report keeps its runs.
fn runs_of(out: &Path) -> PathBuf {
    out.join("runs")
}

/// What killed processes left half made goes; who interrupts the command is told where its runs are.
fn begin(folder: &Path) {
    crate::abandoned::remove_partial(folder);
    let text = format!("runs that are done are in {} (the same command goes on)", folder.display());
    crate::interrupt::keeps(folder, text);
}

impl Keep for Kept {
    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(format!("{name}.json"))).ok()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let written = output::write(&self.folder, &format!("{name}.json"), text.as_bytes());
        written.map_err(|failure| match failure {
            Failure::BadInput(text) | Failure::DoesNotHold(text) => text,
        })
    }
}

/// Reports of the runs of `run` or `compare`, each as soon as it has ended: what is there is not simulated again.
pub(crate) struct KeptRuns {
    pub(crate) folder: PathBuf,
    /// What all of them hang on beside machine and workload.
    of: String,
    /// What the machines are called.
    machines: Vec<String>,
}

impl KeptRuns {
    /// In the folder of a report.
    pub(crate) fn new(out: &Path, workload: &str, machines: &[String], options: &RunOptions) -> KeptRuns {
        let folder = runs_of(out);
        begin(&folder);
        let of = format!("{} {options:?}", build(Some(workload)));
        KeptRuns { folder, of, machines: machines.to_vec() }
    }

    /// A run that was kept, and the host's seconds for it; none where it is not there, not whole, or of something else.
    pub(crate) fn known(&self, wanted: &Wanted<'_>) -> Option<(Report, f64)> {
        let name = self.file(wanted.machine, wanted.variant);
        let text = std::fs::read_to_string(self.folder.join(name)).ok()?;
        let kept: serde_json::Value = serde_json::from_str(&text).ok()?;
        let is_same = kept["kept_for"].as_str()? == self.hash(wanted.description, wanted.workload);
        let report = is_same.then(|| Report::restored(&kept, wanted.description, wanted.workload));
        Some((report??, kept["host_seconds"].as_f64()?))
    }

    /// From here on there are images of runs, too, which are told of where the command is interrupted.
    pub(crate) fn has_images(&self) {
        let text = format!("what is done is in {} (the same command goes on)", self.folder.display());
        crate::interrupt::keeps(&self.folder, text);
    }

    /// Keeps a run that is not there yet, and no image of it any more. Where that fails the command's own results will too, and
    /// say so.
    pub(crate) fn keep(&self, ended: &Ended<'_>) {
        let Ended { machine, variant, was_known, .. } = ended;
        if *was_known || self.is_kept(ended) {
            _ = std::fs::remove_file(self.folder.join(self.image(*machine, *variant)));
        }
    }

    /// Writes a run, and says whether it is there.
    fn is_kept(&self, ended: &Ended<'_>) -> bool {
        let _alone = crate::apart::uncopied();
        let Ended { machine, variant, report, host, was_known: _ } = ended;
        let mut kept = report.to_json();
        kept["kept_for"] = self.hash(&report.description, &report.workload_description).into();
        kept["host_seconds"] = (*host).into();
        let text = format!("{kept:#}\n");
        output::write(&self.folder, &self.file(*machine, *variant), text.as_bytes()).is_ok()
    }

    /// Everything that a run hangs on, in short.
    pub(crate) fn hash(&self, machine: &Description, workload: &WorkloadDescription) -> String {
        hash(&self.of, machine, workload)
    }

    fn file(&self, machine: usize, variant: Variant) -> String {
        format!("{}.json", self.name(machine, variant))
    }

    /// The file of a run's image.
    pub(crate) fn image(&self, machine: usize, variant: Variant) -> String {
        format!("{}.image", self.name(machine, variant))
    }

    /// What the files of a run are called, without what comes after the last dot.
    fn name(&self, machine: usize, variant: Variant) -> String {
        let stem = Path::new(&self.machines[machine]).file_stem().unwrap_or_default().to_string_lossy();
        let (recording, end) = variant;
        let recording = if recording == 0 { String::new() } else { format!(".{}", recording + 1) };
        let end = end.map_or(String::new(), |end| format!(".{}-ipc", ["least", "most"][end]));
        // Two files of one name in different folders are two machines.
        format!("{:02}.{stem}{recording}{end}", machine + 1)
    }
}

/// Everything that a result hangs on, in short: a machine, its program, and what else is `of` it.
pub(crate) fn hash(of: &str, machine: &Description, workload: &WorkloadDescription) -> String {
    let memories: Vec<_> = machine.memories.iter().map(|m| format!("{m:?}")).collect();
    let (own, program) = (&machine.settings, &workload.settings);
    let text = format!("{of}|{own:?}|{memories:?}|{}|{program:?}", workload.name);
    format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()))
}

/// Times that memory was measured by for machines at page fidelity, in the user's cache. A file has the time, and what it is
/// the time of: what is not whole, or another's, is not taken. Processes side by side write the same bytes, each file at once.
struct MeasuredTimes;

impl MeasuredTimes {
    /// The folder, and the name of the file for `described`; none where nothing can be kept.
    fn place(described: &str) -> Option<(PathBuf, String)> {
        static OWN: OnceLock<Option<String>> = OnceLock::new();
        let own = OWN.get_or_init(own_bytes).as_ref()?;
        let name = format!("{:016x}", XxHash3_64::oneshot(format!("{own} {described}").as_bytes()));
        Some((output::own_cache()?.join("measured"), name))
    }
}

impl machine::Times for MeasuredTimes {
    fn read(&self, described: &str) -> Option<Dur> {
        let (folder, name) = MeasuredTimes::place(described)?;
        time_of(&std::fs::read_to_string(folder.join(name)).ok()?, described)
    }

    fn write(&self, described: &str, time: Dur) {
        if let Some((folder, name)) = MeasuredTimes::place(described) {
            // Without it the time is measured again, no more.
            _ = output::write(&folder, &name, format!("{} ps\n{described}\n", time.as_ps()).as_bytes());
        }
    }
}

/// The time that a file tells, if it is whole and of `described`.
fn time_of(text: &str, described: &str) -> Option<Dur> {
    let (time, of) = text.split_once(" ps\n")?;
    (of.strip_suffix('\n')? == described).then(|| time.parse().ok().map(Dur::ps))?
}

/// From now on what memory was measured to cost is kept for other runs of this program.
pub fn keep_measured_times() {
    machine::keep_measured(Box::new(MeasuredTimes));
}

/// This program's own bytes, in short.
fn own_bytes() -> Option<String> {
    let bytes = own_file().and_then(|path| std::fs::read(path).ok())?;
    Some(format!("{:016x}", XxHash3_64::oneshot(&bytes)))
}

/// What results hang on besides machine, workload and seed: this program's own bytes, and the recordings that are
/// replayed. Without the former nothing of an earlier call is taken.
pub(crate) fn build(workload: Option<&str>) -> String {
    let own = own_bytes().unwrap_or_else(|| format!("process {}", std::process::id()));
    let named = workload.and_then(output::recording).map_or("", |(_, files)| files);
    let state = |file: &str| {
        let about = std::fs::metadata(file).ok()?;
        Some(format!("{file} {} {:?}", about.len(), about.modified().ok()?))
    };
    let files: Vec<String> = named.split(',').filter_map(state).collect();
    format!("{own} {named} {files:?}")
}

/// The file that this function was loaded from: the command, or the Python module.
fn own_file() -> Option<PathBuf> {
    let here = build as fn(Option<&str>) -> String as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        ends.and_then(|(from, to)| Some((number(from)?..number(to)?).contains(&here))).unwrap_or(false)
    })?;
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_known_by_its_own_file() {
        assert_eq!(own_file(), std::env::current_exe().ok());
        assert_eq!(build(None), build(None));
        assert!(build(Some("trace:/proc/self/maps")).contains("/proc/self/maps 0"));
    }

    #[test]
    fn a_measured_time_is_taken_if_its_file_is_whole_and_of_the_same_description() {
        let whole = "42 ps\nintel [\"a\"] fio 1\n";
        assert_eq!(time_of(whole, "intel [\"a\"] fio 1"), Some(Dur::ps(42)));
        assert_eq!(time_of(whole, "intel [\"a\"] fio 2"), None);
        for end in 0..whole.len() {
            assert_eq!(time_of(&whole[..end], "intel [\"a\"] fio 1"), None, "{end} bytes of it");
        }
        assert_eq!(time_of("-1 ps\nx\n", "x"), None);
    }
}
