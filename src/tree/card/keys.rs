//! The keys of an identity file, taken one by one, each with its line.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{CardError, MAX_ITEMS, Remark};
use crate::text::Sourced;
use crate::text::header::{self, Field, Header, Status};
use crate::text::name::AgentId;
use crate::text::near;

/// The keys of an identity file, taken one by one.
pub(super) struct Keys<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    pub(super) header: Header,
    known: &'a [&'a str],
    remarks: Vec<Remark>,
}

/// What is left of a file when its keys are taken.
pub(super) struct Rest {
    pub(super) extra: Map<String, Value>,
    pub(super) remarks: Vec<Remark>,
    pub(super) text: String,
}

impl<'a> Keys<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8], known: &'a [&'a str]) -> Result<Self, CardError> {
        let header = header::parse(bytes);
        let note = header.notes.first();
        let fail = |line: Option<usize>, why: String| CardError { path: path.to_owned(), line, why };
        match header.status {
            Status::Ok | Status::Lenient => {}
            Status::None => return Err(fail(Some(1), "it has no front matter (the first line is not `---`)".to_owned())),
            Status::Empty => return Err(fail(Some(1), "its front matter is empty".to_owned())),
            _ => {
                let why = note.map_or_else(|| "its front matter can't be read".to_owned(), |note| note.text.clone());
                return Err(fail(note.map(|note| note.line), why));
            }
        }
        // Half of what was meant is not enough where it is about who may write.
        if let Some(note) = header.notes.iter().find(|note| note.key.as_deref().is_some_and(|key| known.contains(&key))) {
            return Err(fail(Some(note.line), note.text.clone()));
        }
        let mut remarks: Vec<Remark> = header.notes.iter().map(|note| Remark { line: note.line, text: note.text.clone() }).collect();
        for field in &header.fields {
            if let Some(meant) = known.iter().find(|key| **key != field.key && key.eq_ignore_ascii_case(&field.key)) {
                remarks.push(Remark { line: field.line, text: format!("`{}` is not read; the key is `{meant}`", field.key) });
            } else if !known.contains(&field.key.as_str())
                && let Some(meant) = near::nearest(&field.key, known.iter().copied()).filter(|meant| header.field(meant).is_none())
            {
                remarks.push(Remark { line: field.line, text: format!("`{}` is not read; did you mean `{meant}`?", field.key) });
            }
        }
        Ok(Self { path, bytes, header, known, remarks })
    }

    pub(super) fn fail(&self, key: &str, why: String) -> CardError {
        CardError { path: self.path.to_owned(), line: self.header.line(key).or(Some(1)), why }
    }

    /// A field; `null` counts as not given.
    fn field(&self, key: &str) -> Option<&Field> {
        self.header.field(key).filter(|field| !field.value.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, CardError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match field.text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.fail(key, format!("`{key}` must be text"))),
        }
    }

    pub(super) fn id(&mut self, key: &str) -> Result<Sourced<AgentId>, CardError> {
        let Some(text) = self.text(key)? else {
            let near = self.remarks.iter().find(|remark| remark.text.contains(&format!(" `{key}`")));
            let line = near.map_or(1, |remark| remark.line);
            return Err(CardError { path: self.path.to_owned(), line: Some(line), why: format!("`{key}` is missing") });
        };
        let value = AgentId::new(&text).map_err(|error| self.fail(key, error.to_string()))?;
        Ok(Sourced { value, path: self.path.to_owned(), line: self.header.line(key) })
    }

    pub(super) fn relative(&mut self, key: &str) -> Result<Option<PathBuf>, CardError> {
        match self.text(key)? {
            Some(text) if text.is_empty() || text.starts_with('/') || text.starts_with('~') || text.contains('\0') => {
                Err(self.fail(key, format!("`{key}` must be a relative path: an absolute one does not travel")))
            }
            other => Ok(other.map(PathBuf::from)),
        }
    }

    /// A list of texts; a single text is a list of one.
    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<String>>, CardError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let items: Option<Vec<String>> = match &field.value {
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Value::String(text) => Some(vec![text.clone()]),
            _ => None,
        };
        match items {
            Some(items) if items.len() <= MAX_ITEMS => Ok(Some(items)),
            Some(_) => Err(self.fail(key, format!("`{key}` has more than {MAX_ITEMS} items"))),
            None => Err(self.fail(key, format!("`{key}` must be a list of texts"))),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, CardError> {
        match self.field(key).map(|field| &field.value) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.fail(key, format!("`{key}` must be true or false"))),
        }
    }

    pub(super) fn rest(self) -> Rest {
        let text = String::from_utf8_lossy(self.header.body_of(self.bytes)).into_owned();
        let extra = self.header.fields.into_iter().filter(|field| !self.known.contains(&field.key.as_str()));
        Rest { extra: extra.map(|field| (field.key, field.value)).collect(), remarks: self.remarks, text }
    }
}
