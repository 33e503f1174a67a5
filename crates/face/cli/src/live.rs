//! `coreplane reproduce PAPER --live`: a paper's Redis loads on a real Redis of this machine, tracked as it runs, beside
//! what is published and what is simulated.
//!
//! The load is the artifact's: 200 connections in ten threads, batches of 1,000 requests, a SET of 300 random bytes for each
//! GET, keys at random or each connection in order. There are as many keys as in the simulation; at random as many requests a
//! second are sent for each key as were published, in order as many as the server takes.
#![expect(clippy::disallowed_methods, reason = "a real server is loaded and tracked in the host's time")]

use crate::Failure;
use crate::args::ReproduceArgs;
use crate::lines::say;
use crate::output::{self, Table};
use crate::progress::{self, Progress};
use evaluate::{Claims, Load, Paper, Shares};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use track::{Mode, Options, TargetChoice, track};
use units::Random;

const THREADS: u64 = 10;
const CONNECTIONS: u64 = 20;
/// Requests of a batch.
const BATCH: u64 = 1000;
const VALUE: usize = 300;
/// Requests a second at random: 80 million in 168 s over 10 million keys (table 3, the artifact's load), over 330,000.
const AT_RANDOM: u64 = 15_700;
/// Windows of a second that are tracked.
const WINDOWS: u64 = 5;
/// How long a server may take to start, or to answer a batch.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was measured.
struct Measured {
    /// By content difference.
    changed: Shares,
    /// Pages written for each page that changed: a store of what is there is seen by the kernel alone.
    written_pages: f64,
    requests_per_window: f64,
}

pub(crate) fn table(args: &ReproduceArgs, paper: &Paper, claims: &Claims) -> Result<(), Failure> {
    let simulated = paper.live(args.seed).map_err(output::failed)?;
    let mut rows = Vec::new();
    let bar = progress::bar(&args.common, simulated.len() * 2 * WINDOWS as usize, "windows of 1 s");
    for load in &simulated {
        let measured = measure(load, args.seed, &bar)?;
        let published = claims.list.iter().find(|c| c.id == load.claim);
        rows.push((load, published.map(|c| c.values.clone()).unwrap_or_default(), measured));
    }
    drop(bar);
    if output::is_json(&args.common) {
        output::print_json(&rows.iter().map(|(l, p, m)| to_json(l, p, m)).collect());
    } else {
        print(&rows);
    }
    Ok(())
}

fn to_json(load: &Load, published: &[f64], measured: &Measured) -> Value {
    json!({
        "workload": load.workload,
        "blocks": ["4 KiB", "2 MiB", "64 B"],
        "published": published,
        "measured": { "content_difference": measured.changed },
        "simulated": {
            "bytes_stored": load.stored, "content_difference": load.changed, "write_backs_seen": load.written_back,
        },
        "pages_written_for_each_changed": measured.written_pages,
        "requests_a_window": measured.requests_per_window,
    })
}

fn print(rows: &[(&Load, Vec<f64>, Measured)]) {
    println!("share of each dirty block that is clean; windows of 1 s\n");
    let heads = ["load", "block", "published", "measured", "simulated:", "", ""];
    let mut table = Table::new(heads).left(2);
    table.row(["", "", "stored", "content", "stored", "content", "write-backs"]);
    for (load, published, measured) in rows {
        for (n, block) in ["4 KiB", "2 MiB", "64 B"].into_iter().enumerate() {
            let text = |share: Option<&f64>| share.map_or("-".into(), |s| format!("{s:.4}"));
            let name = if n == 0 { load.workload } else { "" };
            table.row([
                name.to_string(),
                block.into(),
                text(published.get(n)),
                text(measured.changed.get(n)),
                text(load.stored.get(n)),
                text(load.changed.get(n)),
                text(load.written_back.get(n)),
            ]);
        }
    }
    table.print();
    println!();
    for (load, _, measured) in rows {
        say!(
            "{}: {:.0} requests a window; {:.3} pages written for each page that changed",
            load.workload,
            measured.requests_per_window,
            measured.written_pages
        );
    }
    say!(
        "\nOn a running program content alone can be compared: what was stored shows under instrumentation, and what was written \
         back to the hardware. Which pages were written the kernel says."
    );
}

/// A server that ends with this value, and its folder.
struct Server {
    child: Child,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    fn start() -> Result<Server, Failure> {
        let folder = std::env::temp_dir().join(format!("coreplane-live-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let socket = folder.join("redis.sock");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&socket);
        command.arg("--dir").arg(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| {
            _ = std::fs::remove_dir_all(&folder);
            format!("reproduce --live: redis-server does not start ({e}); install it (Debian: redis-server)")
        })?;
        let mut server = Server { child, folder };
        let until = Instant::now() + PATIENCE;
        while UnixStream::connect(server.socket()).is_err() {
            let ended = server.child.try_wait().ok().flatten();
            if let Some(status) = ended.map(|s| s.to_string()).or_else(|| late(until)) {
                return Err(Failure::BadInput(format!("reproduce --live: redis-server: {status}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }
}

fn late(until: Instant) -> Option<String> {
    (Instant::now() > until).then(|| "not ready in time".into())
}

/// A connection: how it goes over the keys.
struct Client {
    stream: UnixStream,
    keys: u64,
    sequential: bool,
    next: u64,
    random: Random,
}

impl Client {
    fn new(socket: &Path, keys: u64, sequential: bool, seed: u64, number: u64) -> std::io::Result<Client> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client { stream, keys, sequential, next: 0, random: Random::new(seed, number) })
    }

    fn key(&mut self) -> String {
        self.next += 1;
        let key = if self.sequential { (self.next - 1) % self.keys } else { self.random.below(self.keys) };
        format!("memtier-{key}")
    }

    /// Sends so many requests, and reads their answers.
    fn batch(&mut self, requests: u64, sets_alone: bool) -> std::io::Result<()> {
        let (mut text, mut awaited) = (Vec::new(), 0);
        for request in 0..requests {
            let key = if sets_alone || request % 2 == 0 || !self.sequential {
                self.key()
            } else {
                format!("memtier-{}", (self.next - 1) % self.keys)
            };
            if sets_alone || request % 2 == 0 {
                let mut value = [0; VALUE + 4];
                value.chunks_mut(8).for_each(|c| c.copy_from_slice(&self.random.next_u64().to_le_bytes()));
                write!(text, "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${VALUE}\r\n", key.len())?;
                text.extend_from_slice(&value[..VALUE]);
                text.extend_from_slice(b"\r\n");
                awaited += b"+OK\r\n".len();
            } else {
                write!(text, "*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len())?;
                awaited += b"$300\r\n".len() + VALUE + 2;
            }
        }
        self.stream.write_all(&text)?;
        let mut buffer = [0; 1 << 16];
        while awaited > 0 {
            match self.stream.read(&mut buffer)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                // More than was awaited would be an error's text: what follows then fails.
                read => awaited = awaited.saturating_sub(read),
            }
        }
        Ok(())
    }
}

/// The load, until it is told to stop.
struct Clients {
    stop: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    threads: Vec<JoinHandle<std::io::Result<()>>>,
}

impl Clients {
    fn start(socket: &Path, keys: u64, sequential: bool, seed: u64) -> std::io::Result<Clients> {
        let (stop, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut threads = Vec::new();
        for thread in 0..THREADS {
            let client = |n| Client::new(socket, keys, sequential, seed, 1 + thread * CONNECTIONS + n);
            let mut clients = (0..CONNECTIONS).map(client).collect::<std::io::Result<Vec<Client>>>()?;
            let (stop, requests) = (Arc::clone(&stop), Arc::clone(&requests));
            let pace =
                Duration::from_micros(if sequential { 0 } else { 1_000_000 * THREADS * BATCH / AT_RANDOM });
            threads.push(std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for client in &mut clients {
                        let began = Instant::now();
                        client.batch(BATCH, false)?;
                        requests.fetch_add(BATCH, Ordering::Relaxed);
                        std::thread::sleep(pace.saturating_sub(began.elapsed()));
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                }
                Ok(())
            }));
        }
        Ok(Clients { stop, requests, threads })
    }

    fn end(self) -> std::io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads
            .into_iter()
            .try_for_each(|t| t.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())))
    }
}

fn measure(load: &Load, seed: u64, bar: &Progress) -> Result<Measured, Failure> {
    let server = Server::start()?;
    let (sequential, keys) = (load.in_order, load.keys);
    let mut filling = Client::new(&server.socket(), keys, true, seed, 0)?;
    for _ in 0..keys / BATCH {
        filling.batch(BATCH, true)?;
    }
    let clients = Clients::start(&server.socket(), keys, sequential, seed)?;
    let options = |mode| Options {
        target: TargetChoice::Processes(vec![server.child.id() as i32]),
        follow: false,
        cgroup: None,
        interval: 1.0,
        windows: Some(WINDOWS),
        mode,
        mechanism: None,
        keep_pages: false,
        accessed: false,
    };
    let before = clients.requests.load(Ordering::Relaxed);
    let lines = track(&options(Mode::Lines), &mut |_| bar.step());
    let requests = clients.requests.load(Ordering::Relaxed) - before;
    let pages = track(&options(Mode::WriteProtect), &mut |_| bar.step());
    let ended = clients.end();
    let (lines, pages) = (lines?, pages?);
    ended.map_err(|e| format!("reproduce --live: the load on redis-server ended: {e}"))?;
    let sum = |of: fn(&track::Window) -> u64| lines.windows.iter().map(of).sum::<u64>().max(1) as f64;
    let bytes = sum(|w| w.bytes);
    let written = pages.windows.iter().map(|w| w.pages).sum::<u64>() as f64;
    Ok(Measured {
        changed: [
            1.0 - bytes / (sum(|w| w.pages) * 4096.0),
            1.0 - bytes / (sum(|w| w.huge_pages) * 2_097_152.0),
            1.0 - bytes / (sum(|w| w.lines) * 64.0),
        ],
        written_pages: written / sum(|w| w.pages),
        requests_per_window: requests as f64 / lines.windows.len().max(1) as f64,
    })
}
