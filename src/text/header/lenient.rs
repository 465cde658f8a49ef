//! What people really write where YAML says no: read entry by entry, and said.

use serde_json::Value;

use super::{Field, key_of, yaml};

/// What could be told of a text.
pub(super) struct Entries {
    /// The fields; each key once, the last one counts.
    pub(super) fields: Vec<Field>,
    /// Keys whose value can't be told, with their lines in the file.
    pub(super) lost: Vec<(String, usize)>,
    /// Keys that stand there twice, with the line of the one that counts.
    pub(super) twice: Vec<(String, usize)>,
}

/// Reads key by key.
pub(super) fn read(inner: &str) -> Entries {
    let lines: Vec<&str> = inner.lines().collect();
    let starts: Vec<(usize, &str)> = lines.iter().enumerate().filter_map(|(at, line)| Some((at, key_of(line)?.0))).collect();
    let mut entries = Entries { fields: Vec::new(), lost: Vec::new(), twice: Vec::new() };
    let mut seen = std::collections::HashMap::new();
    for (nth, (start, key)) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).map_or(lines.len(), |next| next.0);
        let Some(mut field) = lines.get(*start..end).and_then(entry) else {
            entries.lost.push(((*key).to_owned(), start + 2));
            continue;
        };
        field.line = start + 2;
        match seen.get(&field.key).and_then(|at: &usize| entries.fields.get_mut(*at)) {
            Some(old) => {
                entries.twice.push((field.key.clone(), field.line));
                *old = field;
            }
            None => {
                seen.insert(field.key.clone(), entries.fields.len());
                entries.fields.push(field);
            }
        }
    }
    entries
}

/// One key with the lines below it: YAML where that works, else the words as they stand.
fn entry(lines: &[&str]) -> Option<Field> {
    if let Ok(yaml::Read::Fields { fields, .. }) = yaml::read(&(lines.join("\n") + "\n")) {
        let mut fields = fields.into_iter();
        if let (Some(field), None) = (fields.next(), fields.next()) {
            return Some(field);
        }
    }
    let (first, rest) = lines.split_first()?;
    let (key, value) = key_of(first)?;
    let value = value.trim();
    // An empty value with something unreadable below, or a block that can't be read: not guessed.
    if value.is_empty() || value.starts_with(['|', '>']) {
        return None;
    }
    let mut text = uncommented(value).to_owned();
    for line in rest.iter().take_while(|line| line.starts_with([' ', '\t'])).map(|line| line.trim()).filter(|line| !line.is_empty()) {
        text.push(' ');
        text.push_str(line);
    }
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            text = inner.to_owned();
            break;
        }
    }
    Some(Field::new(key.to_owned(), Value::String(text), 0))
}

fn uncommented(value: &str) -> &str {
    if value.starts_with(['"', '\'']) {
        return value;
    }
    value.find(" #").and_then(|at| value.get(..at)).map_or(value, str::trim_end)
}
