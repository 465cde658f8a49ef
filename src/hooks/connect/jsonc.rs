//! The small print of JSON as people write it: what stands between two values, how a file is
//! indented, and values without their places.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};

/// What stands between two children of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    Comma,
    Comment,
}

pub(super) struct Trivia<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) to: usize,
}

impl Iterator for Trivia<'_> {
    type Item = (Range<usize>, Kind);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..self.to).filter(|rest| !rest.is_empty())?;
        let (len, kind) = if rest.starts_with(',') {
            (1, Kind::Comma)
        } else if rest.starts_with("//") {
            (rest.find(['\n', '\r']).unwrap_or(rest.len()), Kind::Comment)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), Kind::Comment)
        } else {
            (rest.find([',', '/']).unwrap_or(rest.len()), Kind::Space)
        };
        let range = self.at..self.at + len.max(1);
        self.at = range.end;
        Some((range, kind))
    }
}

/// How the file is written, as far as one can see.
pub(super) struct Style<'a> {
    pub(super) line_end: &'a str,
    pub(super) indent: String,
}

impl Style<'_> {
    pub(super) fn of(body: &str) -> Style<'static> {
        let line_end = match body.find('\n') {
            Some(at) if body[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        // The first line that starts with white space and a key: one step deep.
        let first = body.lines().find(|line| line.starts_with([' ', '\t']) && line.trim_start().starts_with('"'));
        let indent = first.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]).to_owned();
        Style { line_end, indent }
    }

    pub(super) fn render(&self, value: &serde_json::Value, depth: usize) -> String {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        let mut out = String::new();
        for (at, line) in text.lines().enumerate() {
            if at > 0 {
                out.push_str(self.line_end);
                out.push_str(&self.indent.repeat(depth));
            }
            let inner = line.trim_start();
            out.push_str(&self.indent.repeat((line.len() - inner.len()) / 2));
            out.push_str(inner);
        }
        out
    }
}

/// The last property of that name: of several, it is the one that counts for whoever reads the file.
pub(super) fn last<'o, 'a>(object: &'o Object<'a>, key: &str) -> Option<&'o ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

pub(super) fn position(object: &Object<'_>, key: &str) -> usize {
    object.properties.iter().rposition(|property| property.name.as_str() == key).unwrap_or(usize::MAX)
}

pub(super) fn ranges(properties: &[ObjectProp<'_>]) -> Vec<Range<usize>> {
    properties.iter().map(|property| property.range.start..property.range.end).collect()
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

pub(super) fn object(object: &Object<'_>) -> serde_json::Value {
    object
        .properties
        .iter()
        .map(|property| (property.name.as_str().to_owned(), plain(&property.value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The value without its places.
pub(super) fn plain(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.as_ref().into(),
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| number.value.into()),
        Value::BooleanLit(boolean) => boolean.value.into(),
        Value::NullKeyword(_) => serde_json::Value::Null,
        Value::Object(inner) => object(inner),
        Value::Array(list) => list.elements.iter().map(plain).collect::<Vec<_>>().into(),
    }
}
