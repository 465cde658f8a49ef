//! Reading the fields of a front matter strictly: an unknown one is refused with the nearest known.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::LoadError;
use crate::clock::schedule::{ScheduleError, duration};
use crate::text::header::{self, Header, Status};
use crate::text::near;

/// The fields of one file.
pub(super) struct Fields<'a> {
    path: &'a Path,
    pub(super) header: Header,
    bytes: &'a [u8],
}

/// One field, for what is said about it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    path: &'a Path,
    pub(super) field: &'a str,
    line: Option<usize>,
}

impl At<'_> {
    pub(super) fn error(self, why: impl Into<String>) -> LoadError {
        LoadError { path: self.path.to_owned(), line: self.line, field: Some(self.field.to_owned()), why: why.into() }
    }

    pub(super) fn schedule(self, error: &ScheduleError) -> LoadError {
        self.error(error.to_string())
    }

    pub(super) fn text(self, value: &Value) -> Result<&str, LoadError> {
        value.as_str().ok_or_else(|| self.error(format!("`{value}` is no text")))
    }

    pub(super) fn flag(self, value: &Value) -> Result<bool, LoadError> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            Value::String(word) if word == "on" || word == "yes" => Ok(true),
            Value::String(word) if word == "off" || word == "no" => Ok(false),
            _ => Err(self.error(format!("`{value}` is neither true nor false"))),
        }
    }

    pub(super) fn count(self, value: &Value, low: u32, high: u32) -> Result<u32, LoadError> {
        value
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (low..=high).contains(number))
            .ok_or_else(|| self.error(format!("`{value}` is no whole number ({low}-{high})")))
    }

    pub(super) fn length(self, value: &Value) -> Result<Duration, LoadError> {
        match value {
            Value::Number(zero) if zero.as_u64() == Some(0) => Ok(Duration::ZERO),
            Value::String(text) => duration::parse(text).map_err(|error| self.schedule(&error)),
            _ => Err(self.error(ScheduleError::Duration(value.to_string()).to_string())),
        }
    }

    /// The keys of a mapping, each of which has to be known.
    pub(super) fn known(self, map: &Map<String, Value>, known: &[&str]) -> Result<(), LoadError> {
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.error(unknown(key, known))),
        }
    }

    pub(super) fn one_of<T: Copy>(self, value: &Value, words: &[(&str, T)]) -> Result<T, LoadError> {
        let word = self.text(value)?;
        words.iter().find(|(one, _)| *one == word).map(|(_, value)| *value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|(one, _)| *one).collect();
            self.error(format!("`{word}` is none of {}", all.join(", ")))
        })
    }
}

fn unknown(key: &str, known: &[&str]) -> String {
    match near::nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown field `{key}`; did you mean `{near}`?"),
        None => format!("unknown field `{key}`; known are {}", known.join(", ")),
    }
}

impl<'a> Fields<'a> {
    /// Reads the front matter; every field has to be one of `known`.
    pub(super) fn read(path: &'a Path, bytes: &'a [u8], known: &[&str]) -> Result<Self, LoadError> {
        if bytes.len() as u64 > super::MAX_BYTES {
            return Err(LoadError::file(path, format!("it has more than {} bytes", super::MAX_BYTES)));
        }
        let header = header::parse(bytes);
        if header.status != Status::Ok {
            let why = match header.status {
                _ if bytes.is_empty() => "the file is empty".to_owned(),
                Status::None => "it does not start with a front matter (a line `---`)".to_owned(),
                Status::Empty => "its front matter says nothing".to_owned(),
                status => match header.notes.first() {
                    Some(note) => note.text.clone(),
                    None => format!("its front matter is {}", status.word()),
                },
            };
            let line = header.notes.first().map(|note| note.line);
            return Err(LoadError { line, ..LoadError::file(path, why) });
        }
        let fields = Self { path, header, bytes };
        match fields.header.fields.iter().find(|field| !known.contains(&field.key.as_str())) {
            None => Ok(fields),
            Some(field) => {
                let why = unknown(&field.key, known);
                Err(LoadError { path: path.to_owned(), line: Some(field.line), field: Some(field.key.clone()), why })
            }
        }
    }

    /// One field that is there.
    pub(super) fn get<'f>(&'f self, name: &'f str) -> Option<(At<'f>, &'f Value)> {
        let field = self.header.field(name)?;
        Some((At { path: self.path, field: name, line: Some(field.line) }, &field.value))
    }

    /// One field through a reader; `None` where it is not there.
    pub(super) fn read_as<T>(&self, name: &str, read: impl FnOnce(At<'_>, &Value) -> Result<T, LoadError>) -> Result<Option<T>, LoadError> {
        self.get(name).map(|(at, value)| read(at, value)).transpose()
    }

    /// A field that has to be there.
    pub(super) fn lacks(&self, name: &str, why: &str) -> LoadError {
        LoadError { path: self.path.to_owned(), line: None, field: Some(name.to_owned()), why: why.to_owned() }
    }

    /// The text below the front matter.
    pub(super) fn body(&self) -> Result<&str, LoadError> {
        let body = self.header.body_of(self.bytes);
        std::str::from_utf8(body).map(str::trim).map_err(|_| LoadError::file(self.path, "its text is not UTF-8"))
    }
}
