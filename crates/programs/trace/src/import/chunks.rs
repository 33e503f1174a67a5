//! Records of several threads, written a block at a time.

use crate::about::About;
use crate::error::TraceError;
use crate::file::{BlockWriter, RECORDS_PER_BLOCK};
use crate::record::Record;
use std::io::Write;

/// Records that wait for their blocks, over all threads, at most.
const MOST_WAITING: usize = 16 * RECORDS_PER_BLOCK;

pub(super) struct Chunks<W> {
    writer: BlockWriter<W>,
    threads: Vec<Vec<Record>>,
    waiting: usize,
}

impl<W: Write> Chunks<W> {
    pub(super) fn new(out: W, about: &About) -> Result<Chunks<W>, TraceError> {
        Ok(Chunks { writer: BlockWriter::new(out, about)?, threads: Vec::new(), waiting: 0 })
    }

    pub(super) fn push(&mut self, record: Record) -> Result<(), TraceError> {
        let thread = usize::from(record.thread);
        if thread >= self.threads.len() {
            self.threads.resize_with(thread + 1, Vec::new);
        }
        self.threads[thread].push(record);
        self.waiting += 1;
        if self.threads[thread].len() >= RECORDS_PER_BLOCK {
            self.write(thread)?;
        } else if self.waiting >= MOST_WAITING {
            self.write_all()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), TraceError> {
        self.write_all()?;
        self.writer.finish()?;
        Ok(())
    }

    fn write_all(&mut self) -> Result<(), TraceError> {
        (0..self.threads.len()).try_for_each(|thread| self.write(thread))
    }

    fn write(&mut self, thread: usize) -> Result<(), TraceError> {
        let records = &mut self.threads[thread];
        self.waiting -= records.len();
        self.writer.records(thread as u16, records)?;
        records.clear();
        Ok(())
    }
}
