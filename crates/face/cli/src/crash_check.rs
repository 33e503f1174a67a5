//! A user's own recovery: a command that gets an image and decides by its exit status.

use crate::Failure;
use crate::interrupt::Temporary;
use check::crash::Candidate;
use protocol::PAGE_BYTES;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use units::watch;

/// Bytes of a command's output that are looked at.
const OUTPUT: u64 = 4096;

/// A check command. Each run has an image of its own, which it may change.
pub(crate) struct External {
    command: String,
    limit: Duration,
    from: u64,
    to: u64,
    folder: Temporary,
    count: AtomicUsize,
}

impl External {
    /// `command`, for the persistent memory from address `from` to `to`.
    pub(crate) fn new(command: &str, limit_s: f64, from: u64, to: u64) -> Result<External, Failure> {
        if !command.contains("{image}") {
            return Err(Failure::BadInput(format!(
                "--check '{command}': write {{image}} where the image's file belongs"
            )));
        }
        if !limit_s.is_finite() || limit_s <= 0.0 {
            return Err(Failure::BadInput(format!("--time-limit {limit_s}: give seconds above 0")));
        }
        let folder = std::env::temp_dir().join(format!("coreplane-crash-{}", std::process::id()));
        let folder = Temporary::new(folder);
        std::fs::create_dir_all(folder.path())
            .map_err(|e| Failure::BadInput(format!("{}: {e}", folder.path().display())))?;
        let limit = Duration::from_secs_f64(limit_s.min(86_400.0));
        Ok(External { command: command.into(), limit, from, to, folder, count: AtomicUsize::new(0) })
    }

    /// Writes the image, runs the command on it.
    ///
    /// # Errors
    /// How the command ended, when not with success.
    pub(crate) fn run(&self, image: &Candidate<'_>) -> Result<(), String> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path();
        let (file, said) = (folder.join(format!("{number}.pm")), folder.join(format!("{number}.out")));
        let result = self.run_on(image, &file, &said);
        _ = std::fs::remove_file(&file);
        _ = std::fs::remove_file(&said);
        result
    }

    fn run_on(&self, image: &Candidate<'_>, file: &PathBuf, said: &PathBuf) -> Result<(), String> {
        // As the DAX file would be: from its first byte, whatever else is mapped before it.
        let mut bytes = vec![0; (self.to - self.from) as usize];
        for (address, page) in image.pages() {
            let (from, to) = (address.max(self.from), (address + PAGE_BYTES).min(self.to));
            if from < to {
                let (at, end) = ((from - address) as usize, (to - address) as usize);
                bytes[(from - self.from) as usize..(to - self.from) as usize].copy_from_slice(&page[at..end]);
            }
        }
        std::fs::write(file, bytes).map_err(|e| format!("{}: {e}", file.display()))?;
        let out = File::create(said).map_err(|e| format!("{}: {e}", said.display()))?;
        let err = out.try_clone().map_err(|e| e.to_string())?;
        let command = self.command.replace("{image}", &file.display().to_string());
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; ulimit -f 65536; {command}")])
            // A group of its own, so that what it started can be ended with it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| format!("sh: {e}"))?;
        let status = self.wait(&mut child)?;
        if status.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        _ = File::open(said).and_then(|f| f.take(OUTPUT).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
        Err(format!("the check ended with {status}{}{line}", if line.is_empty() { "" } else { ": " }))
    }

    #[expect(clippy::disallowed_methods, reason = "a command that hangs is ended by the host's clock")]
    fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, String> {
        let end = Instant::now() + self.limit;
        let mut pause = Duration::from_micros(200);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < end && !watch::is_stopped() => std::thread::sleep(pause),
                Ok(None) => {
                    let group = format!("-{}", child.id());
                    _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                    _ = child.wait();
                    watch::check();
                    return Err(format!("the check took longer than {} s", self.limit.as_secs_f64()));
                }
                Err(e) => return Err(e.to_string()),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}
