//! What a job must leave behind. That a program exited with zero is no evidence; a file is.
//!
//! Before the start each deliverable's [`Stamp`] is taken; once the process is really gone each is
//! looked at again ([`judge()`]). Fresh is what has another stamp: wall times are never compared.

mod judge;
mod stamp;
#[cfg(test)]
mod tests;

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use judge::{Lack, judge};
pub use stamp::{Stamp, Stamps, any_match, take};

/// One thing that a job must leave behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deliverable {
    /// A path, or a pattern of paths, relative to the directory of the job.
    pub path: Box<str>,
    /// Of a pattern: how many fresh files; `None`: at least one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<Count>,
    /// How many bytes at least; 1 where the job does not say: an empty file is none.
    pub min_bytes: u64,
    /// Whether it has to be JSON.
    pub json: bool,
    /// What has to be found in it, `^` and `$` at lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matches: Option<Box<str>>,
    /// Whether its content has to be another one than before.
    pub changed: bool,
}

impl Default for Deliverable {
    fn default() -> Self {
        Self { path: "".into(), count: None, min_bytes: 1, json: false, matches: None, changed: false }
    }
}

impl Deliverable {
    /// Whether its path is a pattern.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.path.contains(['*', '?', '[', '{'])
    }
}

/// How many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

impl Count {
    /// Whether a number is right.
    #[must_use]
    pub fn holds(self, number: u64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (low, u64::MAX) => write!(f, "{low} or more"),
            (low, high) if low == high => write!(f, "{low}"),
            (0, high) => write!(f, "{high} or less"),
            (low, high) => write!(f, "{low} to {high}"),
        }
    }
}

/// Reads `3`, `>=3`, `>3`, `<=3`, `<3`, `==3`.
///
/// # Errors
/// What is wrong with it.
pub fn count(value: &Value) -> Result<Count, String> {
    let odd = || format!("count: `{value}` is no count like 3, >=3 or <=5");
    if let Some(number) = value.as_u64() {
        return Ok(Count { low: number, high: number });
    }
    let text = value.as_str().ok_or_else(odd)?.trim();
    let digits = text.trim_start_matches(['<', '>', '=']);
    let number: u64 = digits.trim().parse().map_err(|_| odd())?;
    match text.get(..text.len() - digits.len()).unwrap_or_default() {
        "" | "=" | "==" => Ok(Count { low: number, high: number }),
        ">=" => Ok(Count { low: number, high: u64::MAX }),
        ">" => number.checked_add(1).map(|low| Count { low, high: u64::MAX }).ok_or_else(odd),
        "<=" => Ok(Count { low: 0, high: number }),
        "<" => number.checked_sub(1).map(|high| Count { low: 0, high }).ok_or_else(odd),
        _ => Err(odd()),
    }
}

/// A pattern of paths: `*` stops at a slash, `**` does not.
///
/// # Errors
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text.trim_start_matches("./")).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("`{text}` is no pattern: {}", error.kind()))
}

/// A regular expression, `^` and `$` at lines; bounded in size, linear in time.
///
/// # Errors
/// What is wrong with it.
pub fn regex(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).multi_line(true).size_limit(1 << 20).build().map_err(|error| {
        let said = error.to_string();
        said.lines().last().unwrap_or("it is no regular expression").trim().to_owned()
    })
}
