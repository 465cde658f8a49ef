//! Front matter: the `---` block at the top of a Markdown file. One place knows about it.
//!
//! The range of the header is found by ourselves, byte for byte, so that the body is a slice of the
//! file and nothing is lost. What stands in the range is read as YAML 1.2: `on`, `off`, `yes` and
//! `no` are text. What people really write and YAML refuses (`description: Use when: asked`) is
//! read line by line, and said. A value keeps the text it was written as beside the value it means,
//! so that `version: 1.10` stays "1.10" for whoever wants text.
//!
//! Everything is bounded: [`MAX_BYTES`], [`MAX_DEPTH`], [`MAX_NODES`].

mod lenient;
mod plain;
mod yaml;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// The longest header that is read, in bytes between the fences.
pub const MAX_BYTES: usize = 64 * 1024;
/// How deep lists and mappings may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many values a header may hold once its aliases are expanded.
pub const MAX_NODES: usize = 20_000;

/// How reading went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// YAML, as it should be.
    Ok,
    /// The file does not start with a fence: all of it is body.
    None,
    /// A block with nothing in it but comments.
    Empty,
    /// Not YAML, but readable line by line; or a key stands there twice, and the last one counts.
    Lenient,
    /// A block that can't be read at all.
    Malformed,
    /// A first fence without a second: all of it is body.
    Unterminated,
    /// YAML, but not `key: value`.
    NonMapping,
    /// The file is not UTF-8; nothing of it is guessed.
    NotUtf8,
    /// Larger, deeper or, with its aliases, more than the bounds allow.
    TooLarge,
}

impl Status {
    /// The stable word for `--json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::None => "none",
            Self::Empty => "empty",
            Self::Lenient => "lenient",
            Self::Malformed => "malformed",
            Self::Unterminated => "unterminated",
            Self::NonMapping => "non-mapping",
            Self::NotUtf8 => "not-utf8",
            Self::TooLarge => "too-large",
        }
    }

    /// Whether the fields say all that is in the file, for whoever must not act on half of it.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Ok | Self::None | Self::Empty)
    }
}

/// Something to say about a header; the code is that of [`Status`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What kind: one of the irregular statuses.
    pub status: Status,
    /// The line in the file, from 1.
    pub line: usize,
    /// What was met, for people.
    pub text: String,
    /// The one key it is about: it stands there twice, or its value could not be read.
    pub key: Option<String>,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key.
    pub key: String,
    /// What the value means.
    pub value: Value,
    /// The value as it was written, quotes removed; `None` for a list or a mapping. Read it with
    /// [`Header::text`]: a text value is not stored twice.
    written: Option<String>,
    /// The line of the key in the file, from 1.
    pub line: usize,
}

/// What stands at the top of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// How reading went.
    pub status: Status,
    /// The fields in the order of the file; each key once.
    pub fields: Vec<Field>,
    /// The rest of the file, as a range of its bytes.
    pub body: Range<usize>,
    /// What is to be said.
    pub notes: Vec<Note>,
}

impl Field {
    /// The value as it was written, quotes removed; `None` for a list or a mapping.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.written.as_deref().or(self.value.as_str())
    }

    fn new(key: String, value: Value, line: usize) -> Self {
        Self { key, value, written: None, line }
    }
}

impl Header {
    fn bare(status: Status, body: Range<usize>) -> Self {
        Self { status, fields: Vec::new(), body, notes: Vec::new() }
    }

    fn noted(status: Status, body: Range<usize>, line: usize, text: impl Into<String>) -> Self {
        Self { notes: vec![Note { status, line, text: text.into(), key: None }], ..Self::bare(status, body) }
    }

    /// One field.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// What a field means.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.field(key).map(|field| &field.value)
    }

    /// What a field says, as it was written, quotes removed; `None` for a list or a mapping.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.field(key)?.text()
    }

    /// The line of a key in the file, from 1.
    #[must_use]
    pub fn line(&self, key: &str) -> Option<usize> {
        self.field(key).map(|field| field.line)
    }

    /// The fields as one JSON object, in their order.
    #[must_use]
    pub fn object(&self) -> Value {
        Value::Object(self.fields.iter().map(|field| (field.key.clone(), field.value.clone())).collect())
    }

    /// The body out of the file's bytes.
    #[must_use]
    pub fn body_of<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.body.clone()).unwrap_or_default()
    }
}

/// What is between the fences.
struct Block {
    /// The range of the text between them, with its line ends.
    inner: Range<usize>,
    /// Where the body starts.
    body: usize,
}

enum Fence {
    None,
    Open,
    Closed(Block),
}

/// Whether a line (without its `\n`) is a fence: three dashes at its start and blanks.
fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')))
}

fn find(bytes: &[u8], start: usize) -> Fence {
    let line_end = |from: usize| bytes.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')).map(|at| from + at);
    let Some(first) = line_end(start) else { return Fence::None };
    if !bytes.get(start..first).is_some_and(is_fence) {
        return Fence::None;
    }
    let inner = first + 1;
    let mut from = inner;
    loop {
        let end = line_end(from);
        let line = bytes.get(from..end.unwrap_or(bytes.len())).unwrap_or_default();
        if is_fence(line) {
            return Fence::Closed(Block { inner: inner..from, body: end.map_or(bytes.len(), |end| end + 1) });
        }
        match end {
            Some(end) => from = end + 1,
            None => return Fence::Open,
        }
    }
}

/// Reads the front matter of a file. Never fails: what is wrong is in the status and the notes.
#[must_use]
pub fn parse(bytes: &[u8]) -> Header {
    // A byte-order mark is no part of the text.
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let whole = start..bytes.len();
    if let Err(error) = std::str::from_utf8(bytes) {
        let line = 1 + bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count();
        return Header::noted(Status::NotUtf8, whole, line, "the file is not UTF-8; its front matter is not read");
    }
    let block = match find(bytes, start) {
        Fence::None => return Header::bare(Status::None, whole),
        Fence::Open => return Header::noted(Status::Unterminated, whole, 1, "the first `---` has no second one; all of it is body"),
        Fence::Closed(block) => block,
    };
    let body = block.body..bytes.len();
    if block.inner.len() > MAX_BYTES {
        return Header::noted(Status::TooLarge, body, 1, format!("the front matter is longer than {} KiB", MAX_BYTES / 1024));
    }
    let Some(inner) = bytes.get(block.inner).and_then(|inner| std::str::from_utf8(inner).ok()) else {
        return Header::bare(Status::NotUtf8, body);
    };
    read(inner, body)
}

/// Reads a whole file of YAML as if it stood between fences: a settings file. `body` is empty.
#[must_use]
pub fn parse_yaml(bytes: &[u8]) -> Header {
    let body = bytes.len()..bytes.len();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_BYTES => text.trim_start_matches('\u{feff}'),
        Ok(_) => return Header::noted(Status::TooLarge, body, 1, format!("the file is longer than {} KiB", MAX_BYTES / 1024)),
        Err(_) => return Header::noted(Status::NotUtf8, body, 1, "the file is not UTF-8"),
    };
    let mut header = read(text, body);
    // There is no fence above the first line.
    for line in header.fields.iter_mut().map(|field| &mut field.line).chain(header.notes.iter_mut().map(|note| &mut note.line)) {
        *line = line.saturating_sub(1).max(1);
    }
    header
}

/// Reads the text between the fences; its first line is line 2 of the file.
fn read(inner: &str, body: Range<usize>) -> Header {
    if inner.lines().all(|line| line.trim_start_matches([' ', '\t']).is_empty() || line.trim_start_matches([' ', '\t']).starts_with('#')) {
        return Header::bare(Status::Empty, body);
    }
    if let Some(fields) = plain::read(inner) {
        return Header { fields, ..Header::bare(Status::Ok, body) };
    }
    read_in_full(inner, body)
}

/// The way for everything: YAML, and where that fails, line by line.
fn read_in_full(inner: &str, body: Range<usize>) -> Header {
    if depth(inner) > MAX_DEPTH {
        return Header::noted(Status::TooLarge, body, 2, format!("it is nested deeper than {MAX_DEPTH}"));
    }
    match yaml::read(&raw(inner)) {
        Ok(yaml::Read::Empty) => Header::bare(Status::Empty, body),
        Ok(yaml::Read::NonMapping) => Header::noted(Status::NonMapping, body, 2, "it is not a list of `key: value`"),
        Ok(yaml::Read::Fields { mut fields, twice }) => {
            place(inner, &mut fields);
            let notes: Vec<Note> = twice
                .into_iter()
                .map(|key| {
                    let line = fields.iter().find(|field| field.key == key).map_or(2, |field| field.line);
                    twice_note(key, line)
                })
                .collect();
            let status = if notes.is_empty() { Status::Ok } else { Status::Lenient };
            Header { fields, notes, ..Header::bare(status, body) }
        }
        Err(yaml::Failure::Bound(text)) => Header::noted(Status::TooLarge, body, 2, text),
        Err(yaml::Failure::Syntax { line, text }) => {
            let lenient::Entries { fields, lost, twice } = lenient::read(inner);
            let status = if fields.is_empty() { Status::Malformed } else { Status::Lenient };
            let how = if fields.is_empty() { "not YAML" } else { "not YAML, read line by line" };
            let mut header = Header { fields, ..Header::noted(status, body, line + 1, format!("{how}: {text}")) };
            if status == Status::Lenient {
                header.notes.extend(lost.into_iter().map(|(key, line)| Note {
                    status,
                    line,
                    text: format!("the value of `{key}` can't be read"),
                    key: Some(key),
                }));
                header.notes.extend(twice.into_iter().map(|(key, line)| twice_note(key, line)));
            }
            header
        }
    }
}

fn twice_note(key: String, line: usize) -> Note {
    Note { status: Status::Lenient, line, text: format!("`{key}` stands there twice; the last one counts"), key: Some(key) }
}

/// Whether a YAML text is small and flat enough to be handed to the YAML reader.
#[must_use]
pub fn is_bounded(text: &str) -> bool {
    text.len() <= MAX_BYTES && depth(text) <= MAX_DEPTH
}

/// How deep brackets are nested, at most; quotes are not looked at, so text full of brackets counts
/// too. The YAML reader takes quadratic time for such a thing, so it is asked before.
fn depth(inner: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in inner.bytes() {
        match byte {
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Hands the raw header on: the YAML reader is ours.
struct Raw;

impl gray_matter::engine::Engine for Raw {
    fn parse(_: &str) -> gray_matter::Result<gray_matter::Pod> {
        Ok(gray_matter::Pod::Null)
    }
}

/// The header as gray_matter splits it, where its shape is regular. It trims the block, rewrites
/// line ends and ends a file early in its own way, so anything else never reaches it.
fn raw(inner: &str) -> Cow<'_, str> {
    let regular = !inner.starts_with([' ', '\t', '\n', '\r']) && !inner.contains('\r') && inner.is_ascii();
    if regular {
        let split = gray_matter::Matter::<Raw>::new().parse::<()>(&format!("---\n{inner}---\n"));
        if let Ok(entity) = split {
            // Positions count from the first line, which it keeps.
            if inner.trim() == entity.matter {
                return Cow::Owned(entity.matter + "\n");
            }
        }
    }
    Cow::Borrowed(inner)
}

/// The key that a line starts at its first column, without quotes, and the rest behind the colon.
fn key_of(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t', '#', '-', '[', '{', ':', '?']) {
        return None;
    }
    let (key, rest) = line.char_indices().filter(|(_, c)| *c == ':').find_map(|(at, _)| {
        let rest = line.get(at + 1..)?;
        (rest.is_empty() || rest.starts_with([' ', '\t', '\r'])).then_some((line.get(..at)?, rest))
    })?;
    let key = key.trim_end();
    let bare = [('"', '"'), ('\'', '\'')].iter().find_map(|(open, close)| key.strip_prefix(*open)?.strip_suffix(*close)).unwrap_or(key);
    (!bare.is_empty()).then_some((bare, rest))
}

/// Gives each field the line of its key: the last one where it stands twice.
fn place(inner: &str, fields: &mut [Field]) {
    let lines: std::collections::HashMap<&str, usize> =
        inner.lines().enumerate().filter_map(|(at, line)| Some((key_of(line)?.0, at + 2))).collect();
    for field in fields {
        field.line = lines.get(field.key.as_str()).copied().unwrap_or(2);
    }
}

#[cfg(test)]
mod tests;
