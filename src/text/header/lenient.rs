//! What people really write where YAML says no: read entry by entry, and said.

use serde_json::Value;

use super::{Field, key_of, yaml};

/// The fields that can be told; a key whose value can't be is left out.
pub(super) fn read(inner: &str) -> Vec<Field> {
    let lines: Vec<&str> = inner.lines().collect();
    let starts: Vec<usize> = lines.iter().enumerate().filter(|(_, line)| key_of(line).is_some()).map(|(at, _)| at).collect();
    let mut fields: Vec<Field> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for (nth, start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(lines.len());
        let Some(mut field) = lines.get(*start..end).and_then(entry) else { continue };
        field.line = start + 2;
        match at.get(&field.key).and_then(|at: &usize| fields.get_mut(*at)) {
            Some(old) => *old = field,
            None => {
                at.insert(field.key.clone(), fields.len());
                fields.push(field);
            }
        }
    }
    fields
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
