//! Work that is killed again and again comes to the same as work that was not. No harness: it forks, and is killed.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test that is a command too")]

use image::{Child, Ended, Image, NUMBERS, Place};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::future::Future;
use std::io::{Read, Write};
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Steps of the work: a second or two.
const STEPS: u64 = 150_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("work") => command(Path::new(&args[2]), &args[3], &args[4]),
        Some("--list") => {}
        _ if !Child::is_possible() => println!("not here"),
        _ => tests(),
    }
}

/// Waits once.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Work of many kinds: memory that grows and moves, a future that waits in the middle, floats, a file that is read.
async fn steps(mut file: File) -> String {
    let (mut state, mut sum) = (88_172_645_463_325_252_u64, 0.0_f64);
    let (mut tree, mut table, mut all) = (BTreeMap::new(), HashMap::new(), Vec::new());
    let mut read = 0_u64;
    for step in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += (state as f64).sqrt();
        match state % 64 {
            0 => _ = tree.insert(state % 100_000, format!("{step}")),
            1 => *table.entry(state % 1000).or_insert(0_u64) += step,
            2 if all.len() < 3_000_000 => all.push(step),
            3 => all.truncate(all.len() - all.len() / 1000),
            _ => {}
        }
        if step % 50_000 == 0 {
            let mut byte = [0];
            file.read_exact(&mut byte).unwrap();
            read = read * 31 + u64::from(byte[0]);
            Once(false).await;
        }
        if step % 1000 == 0 {
            let mut told = [0; NUMBERS];
            told[0] = step;
            image::look(|| told);
        }
    }
    let table: BTreeMap<_, _> = table.into_iter().collect();
    let text = format!("{state} {sum} {read} {tree:?} {table:?} {:?}", all.iter().sum::<u64>());
    let sum = text.bytes().fold(14_695_981_039_346_656_037_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    format!("{} bytes, {sum:016x}", text.len())
}

fn place(folder: &Path, of: &str, every: &str) -> Place {
    let every = Duration::from_millis(every.parse().unwrap());
    Place { folder: folder.into(), name: "01.work.image".into(), of: of.into(), every }
}

/// Does the work in a child, as a command would.
fn command(folder: &Path, of: &str, every: &str) {
    let place = place(folder, of, every);
    let file = folder.join("file");
    if !file.exists() {
        std::fs::write(&file, (0..STEPS / 50_000).map(|n| (n * n % 251) as u8).collect::<Vec<_>>()).unwrap();
    }
    let found = Image::find(&place);
    let from = found.as_ref().map(|image| image.as_ref().map_or(0, |image| image.told()[0]));
    let image = found.as_ref().is_ok_and(Option::is_some).then(|| Image::find(&place).unwrap()).flatten();
    println!("from {from:?}");
    let mut child = Child::start(&place, image, || {
        let mut work = Box::pin(steps(File::open(&file).unwrap()));
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(text) = work.as_mut().poll(&mut context) {
                return text.into_bytes();
            }
        }
    })
    .unwrap();
    let ended = loop {
        if let Some(ended) = child.ended().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    match ended {
        Ended::Said(text) => {
            println!("{} images, {:?}", child.taken(), child.trouble());
            println!("{}", String::from_utf8(text).unwrap());
        }
        ended @ (Ended::Panicked | Ended::NotRestored | Ended::Signal(_) | Ended::Code(_)) => {
            println!("{ended:?}")
        }
    }
    std::io::stdout().flush().unwrap();
}

/// A folder of a test, which goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("coreplane-image-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until there is another image than before, or the process has ended.
fn wait_for_image(folder: &Folder, running: &mut std::process::Child) {
    let written =
        || std::fs::metadata(folder.0.join("01.work.image")).and_then(|about| about.modified()).ok();
    let before = written();
    while written() == before && running.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The command in a process of its own, ended after a while where one is given: counted from its first image where it leaves
/// any. Gives the step that it began from, none where
/// the image was not taken, and what it came to.
fn run(folder: &Folder, of: &str, every: &str, killed_after: Option<Duration>) -> (Option<u64>, String) {
    let mut own = Command::new(std::env::current_exe().unwrap());
    let own = own.arg("work").arg(&folder.0).args([of, every]).stdout(Stdio::piped());
    let mut running = own.spawn().unwrap();
    if let Some(time) = killed_after {
        if every == "60" {
            wait_for_image(folder, &mut running);
        }
        std::thread::sleep(time);
        _ = running.kill();
    }
    let said = String::from_utf8(running.wait_with_output().unwrap().stdout).unwrap();
    let mut lines = said.lines();
    let from = lines.next().and_then(|line| line.strip_prefix("from Ok(")).and_then(|n| n.strip_suffix(')'));
    let came_to = lines.next_back().filter(|line| line.contains(" bytes, ")).unwrap_or("");
    (from.map(|from| from.parse().unwrap()), came_to.into())
}

fn tests() {
    let whole = Folder::new("whole");
    let (_, expected) = run(&whole, "a", "1000000", None);
    assert!(expected.contains(" bytes, "), "{expected}");
    killed_again_and_again(&expected);
    what_is_not_the_same_is_not_taken(&expected);
    a_damaged_image_is_not_taken(&expected);
    println!("work that was killed came to the same");
}

fn killed_again_and_again(expected: &str) {
    let folder = Folder::new("killed");
    let mut began: Vec<u64> = Vec::new();
    let times = [80, 130, 9, 210, 40, 70, 50, 100, 110, 30, 170, 90, 20, 120, 150, 60];
    let came_to = times.iter().map(|ms| Some(Duration::from_millis(*ms))).chain([None]).find_map(|time| {
        let (from, came_to) = run(&folder, "a", "60", time);
        began.extend(from);
        Some(came_to).filter(|text| !text.is_empty())
    });
    assert_eq!(came_to.as_deref(), Some(expected));
    began.dedup();
    assert!(began.is_sorted() && began.len() > 3, "it goes on where it stood: {began:?}");
}

fn killed_once(name: &str) -> Folder {
    let folder = Folder::new(name);
    run(&folder, "a", "60", Some(Duration::ZERO));
    folder
}

fn what_is_not_the_same_is_not_taken(expected: &str) {
    let folder = killed_once("other");
    let of_other = run(&folder, "b", "1000000", Some(Duration::from_millis(100)));
    assert_eq!(of_other.0, None, "of other work");
    std::fs::write(folder.0.join("file"), vec![7; (STEPS / 50_000) as usize]).unwrap();
    assert_eq!(run(&folder, "a", "1000000", Some(Duration::from_millis(100))).0, None, "of another file");
    std::fs::remove_file(folder.0.join("file")).unwrap();
    assert_eq!(run(&folder, "a", "1000000", None), (None, expected.into()), "the file is of another time");
}

fn a_damaged_image_is_not_taken(expected: &str) {
    let folder = killed_once("damaged");
    let path = folder.0.join("01.work.image");
    let image = std::fs::read(&path).unwrap();
    let (_, _) = run(&folder, "a", "1000000", Some(Duration::from_millis(20)));
    for cut in [0, 1, 4096, 8192, image.len() / 2, image.len() - 1] {
        std::fs::write(&path, &image[..cut]).unwrap();
        assert_eq!(
            run(&folder, "a", "1000000", Some(Duration::from_millis(50))).0,
            None,
            "{cut} bytes of it"
        );
    }
    for at in [0, 9, 100, 8192, 100_000, image.len() / 2, image.len() - 5000, image.len() - 1] {
        let mut other = image.clone();
        other[at] ^= 0x10;
        std::fs::write(&path, &other).unwrap();
        assert_eq!(run(&folder, "a", "1000000", Some(Duration::from_millis(50))).0, None, "byte {at}");
    }
    std::fs::write(&path, &image).unwrap();
    let (from, came_to) = run(&folder, "a", "1000000", None);
    assert!(from.is_some_and(|step| step > 0) && came_to == expected, "the one that is whole");
}
