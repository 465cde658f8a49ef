//! The log of an inbox: records are appended, read, and left out when they say nothing any more.

use std::path::PathBuf;

use serde_json::Value;

use super::{MailError, Mailbox};
use crate::custody::inbox::compact;
use crate::sys::{disk, time};

/// The most of a log that is read. A line is about 150 bytes.
const MAX_LOG: u64 = 64 << 20;

/// The most of a log that is read where a gate waits for the answer.
const MAX_TAIL: u64 = 256 << 10;

/// From this length on a log is made shorter, in bytes.
const LONG: u64 = 8 << 20;

/// The longest that is made shorter: it is held in memory.
const MAX_REWRITTEN: u64 = 256 << 20;

impl Mailbox {
    /// The log, whose fold says where each message stands.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.dir.join("log.jsonl")
    }

    /// Appends a record to the log.
    ///
    /// # Errors
    /// Where it can't be written.
    pub fn log(&self, record: &Value) -> Result<(), MailError> {
        let len = self.checked()?;
        disk::append(&self.log_file(), format!("{record}\n").as_bytes())?;
        if len >= LONG {
            // The record is written: a log that stays long is the next one's to make shorter.
            let _ = self.compact(len);
        }
        Ok(())
    }

    /// The log as it lies there, and whether there is more of it than is read.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn log_bytes(&self) -> Result<(Vec<u8>, bool), MailError> {
        self.check()?;
        let log = self.log_file();
        if disk::look(&log)?.is_none() {
            return Ok((Vec::new(), false));
        }
        Ok(disk::read_start(&log, MAX_LOG)?)
    }

    /// The records of the log in order, and how many lines could not be read (a torn one counts).
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn records(&self) -> Result<(Vec<Value>, usize), MailError> {
        let (data, more) = self.log_bytes()?;
        let (records, skipped) = parsed(&data);
        Ok((records, skipped + usize::from(more)))
    }

    /// The newest records of the log: for whoever has no time for all of them.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn newest_records(&self) -> Result<Vec<Value>, MailError> {
        self.check()?;
        let log = self.log_file();
        if disk::look(&log)?.is_none() {
            return Ok(Vec::new());
        }
        Ok(parsed(&disk::read_end(&log, MAX_TAIL)?.0).0)
    }

    /// Leaves out of a long log what says nothing any more, where it has doubled since that was last
    /// done. Whoever appends meanwhile waits, and appends to the new one; a crash leaves one or the other.
    fn compact(&self, len: u64) -> Result<(), MailError> {
        let log = self.log_file();
        let (start, _) = disk::read_start(&log, 256)?;
        if len < compact::length(&start).saturating_mul(2) {
            return Ok(());
        }
        // What a run that was killed has left.
        disk::sweep_temps(&self.dir)?;
        let held = self.held()?.into_iter().collect();
        let now = time::now();
        disk::rewrite(&log, MAX_REWRITTEN, |data| {
            // Somebody else has just done it.
            ((data.len() as u64) >= LONG).then(|| compact::compacted(data, &held, now))
        })?;
        Ok(())
    }
}

fn parsed(data: &[u8]) -> (Vec<Value>, usize) {
    let (mut records, mut skipped) = (Vec::new(), 0);
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(record) if record.is_object() => records.push(record),
            _ => skipped += 1,
        }
    }
    (records, skipped)
}
