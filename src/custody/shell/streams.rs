//! What commands say to one another: texts that are read bit by bit, and the ends that write them.

use std::rc::Rc;

use super::engine::{Engine, MAX_TEXT};
use super::marks::UNK;
use super::picture::Left;
use super::state::{Fd, Shell};

/// A text that is read bit by bit.
#[derive(Debug)]
pub(crate) struct Stream {
    /// All of it.
    pub(crate) text: Rc<str>,
    /// How far it has been read.
    pub(crate) pos: usize,
}

impl Engine<'_> {
    /// Opens a text for reading.
    pub(crate) fn stream(&mut self, text: String) -> usize {
        self.ins.push(Stream { text: text.into(), pos: 0 });
        self.ins.len() - 1
    }

    /// Opens a text for collecting.
    pub(crate) fn buffer(&mut self) -> usize {
        self.bufs.push(String::new());
        self.bufs.len() - 1
    }

    /// Writes to a file descriptor.
    pub(crate) fn put(&mut self, sh: &Shell, fd: i32, text: &str) {
        if text.is_empty() || !self.spend(text.len()) {
            return;
        }
        match sh.fd(fd) {
            Fd::Buf(b) => {
                if let Some(b) = self.bufs.get_mut(b) {
                    if b.len() + text.len() > MAX_TEXT {
                        if !b.ends_with(UNK) {
                            b.push(UNK);
                        }
                    } else {
                        b.push_str(text);
                    }
                }
            }
            Fd::File(p) | Fd::Both(p, _) if self.feeds_pipe(&p, text) => {}
            // where in the file is not known
            Fd::Both(p, _) => self.fs.leave(&p, true, Left::File(None)),
            Fd::File(p) => {
                let old = self.fs.text(&p).unwrap_or_default();
                if old.len() + text.len() <= MAX_TEXT {
                    self.fs.leave(&p, true, Left::File(Some(format!("{old}{text}").into())));
                } else {
                    self.fs.leave(&p, true, Left::File(None));
                }
            }
            Fd::Term | Fd::Null | Fd::In(_) | Fd::Read(..) => {}
        }
    }

    /// All that is left to read from a file descriptor.
    pub(crate) fn take(&mut self, sh: &Shell, fd: i32) -> String {
        match sh.fd(fd) {
            Fd::In(i) | Fd::Read(_, i) | Fd::Both(_, i) => match self.ins.get_mut(i) {
                Some(s) => {
                    let rest = s.text[s.pos..].to_owned();
                    s.pos = s.text.len();
                    rest
                }
                None => UNK.to_string(),
            },
            Fd::File(p) => self.fs.text(&p).unwrap_or_else(|| UNK.to_string()),
            Fd::Buf(_) => UNK.to_string(),
            Fd::Term | Fd::Null => String::new(),
        }
    }

    /// One line from a file descriptor, without its end; `None` at the end.
    pub(crate) fn line(&mut self, sh: &Shell, fd: i32, delim: char) -> Option<String> {
        let (Fd::In(i) | Fd::Read(_, i) | Fd::Both(_, i)) = sh.fd(fd) else { return None };
        let s = self.ins.get_mut(i)?;
        let rest = &s.text[s.pos..];
        if rest.is_empty() {
            return None;
        }
        let (line, used) = match rest.find(delim) {
            Some(n) => (&rest[..n], n + delim.len_utf8()),
            None => (rest, rest.len()),
        };
        s.pos += used;
        Some(line.to_owned())
    }
}
