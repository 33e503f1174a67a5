//! Recordings on the disk: opened without reading them into memory, written a piece at a time.

use crate::Failure;
use crate::{abandoned, whole};
use protocol::Image;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use trace::{Described, ReadAt, Recording, TraceError};

/// The two formats of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Parquet,
    Blocks,
}

/// Which format a file's name asks for.
pub(crate) fn format_of(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("parquet") => Ok(Format::Parquet),
        Some("cpt") => Ok(Format::Blocks),
        _ => Err(Failure::BadInput(format!("{}: name it .parquet or .cpt", path.display()))),
    }
}

struct OnDisk {
    file: File,
    size: u64,
}

impl ReadAt for OnDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }
}

fn source(path: &Path) -> Result<Box<dyn ReadAt>, Failure> {
    let named = |e: io::Error| Failure::BadInput(format!("{}: {e}", path.display()));
    let file = File::open(path).map_err(named)?;
    let about = file.metadata().map_err(named)?;
    if !about.is_file() {
        // What cannot be read anywhere, a pipe say, is read into memory.
        return Ok(Box::new(std::fs::read(path).map_err(named)?));
    }
    Ok(Box::new(OnDisk { file, size: about.len() }))
}

fn named(path: &Path) -> impl Fn(TraceError) -> Failure {
    move |e| Failure::BadInput(format!("{}: {e}", path.display()))
}

/// Opens a recording of either format, and checks it.
pub(crate) fn open(path: &Path) -> Result<Recording, Failure> {
    Recording::open(source(path)?).map_err(named(path))
}

/// What a recording's file says of it, without its records being read; none where it does not.
pub(crate) fn described(path: &Path) -> Result<Option<Described>, Failure> {
    Recording::described(source(path)?).map_err(named(path))
}

/// What is whole of a block file that was cut short.
pub(crate) fn prefix(path: &Path) -> Result<Recording, Failure> {
    Recording::prefix(source(path)?).map_err(named(path))
}

/// Writes a recording.
pub(crate) fn save(recording: &Recording, path: &Path, format: Format) -> Result<(), Failure> {
    put(path, |file| {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        match format {
            Format::Parquet => recording.write_parquet(&mut out),
            Format::Blocks => recording.write_blocks(&mut out),
        }
        .map_err(named(path))?;
        out.flush().map_err(|e| named(path)(e.into()))
    })
}

/// Writes a text as it is made, and gives what its writer says of it.
pub(crate) fn save_text<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, TraceError>,
) -> Result<T, Failure> {
    put(path, |file| {
        let mut out = BufWriter::new(file);
        let said = write(&mut out).map_err(named(path))?;
        out.flush().map_err(|e| named(path)(e.into()))?;
        Ok(said)
    })
}

/// Writes the bytes of a memory as a file, as DAX would hold them; what was never touched takes no room.
pub(crate) fn save_image(image: &Image, path: &Path) -> Result<(), Failure> {
    put(path, |file| {
        let mut pages = image.touched();
        pages
            .try_for_each(|(address, page)| file.write_all_at(page, address - image.base()))
            .and_then(|()| file.set_len(image.len()))
            .map_err(|e| named(path)(e.into()))
    })
}

/// One of several recordings: `kv.parquet` becomes `kv.1.parquet`.
pub(crate) fn numbered(out: &Path, which: &str) -> PathBuf {
    let extension = out.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
    out.with_extension(format!("{which}.{extension}"))
}

/// Makes a file, and removes what others left half made beside it.
fn put<T>(path: &Path, write: impl FnOnce(&File) -> Result<T, Failure>) -> Result<T, Failure> {
    abandoned::remove_partial(whole::folder_of(path));
    whole::put(path, write)
}
