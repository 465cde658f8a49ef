//! Puts things into the lists `hooks.EVENT` of a YAML file of somebody else's and takes them out again, line
//! by line: whatever else stands in it — comments, quoting, indentation, line ends — keeps every byte.
//! What came out is parsed and compared before anybody writes it.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use serde_yaml::Value as Yaml;

use super::splice::{Made, Unfit};
use super::strict::MARK;
use crate::text::yaml::refusal;

/// The elements that stand in the list `hooks.EVENT`; empty where there is no such list.
///
/// # Errors
/// Where the text is no YAML mapping, or what stands at the place is no list.
pub(super) fn elements(text: &str, event: &str) -> Result<Vec<Value>, Unfit> {
    let root = parsed(text)?;
    let Some(hooks) = root.get("hooks").filter(|hooks| !hooks.is_null()) else { return Ok(Vec::new()) };
    let unfit = |key: &str, why: String| Unfit { line: line_of(text, key), why };
    if !hooks.is_mapping() {
        return Err(unfit("hooks", "`hooks` is not a mapping".to_owned()));
    }
    match hooks.get(event) {
        None | Some(Yaml::Null) => Ok(Vec::new()),
        Some(Yaml::Sequence(items)) => Ok(items.iter().map(|item| serde_json::to_value(item).unwrap_or(Value::Null)).collect()),
        Some(_) => Err(unfit(event, format!("`hooks.{event}` is not a list"))),
    }
}

/// What [`insert`] would have to make in this text.
///
/// # Errors
/// As [`elements`].
pub(super) fn missing(text: &str, event: &str) -> Result<Made, Unfit> {
    let root = parsed(text)?;
    Ok(match root.get("hooks") {
        None => Made::Hooks,
        Some(hooks) if hooks.get(event).is_some() => Made::Elements,
        Some(_) => Made::List,
    })
}

/// Puts elements at the end of the list `hooks.EVENT`, making what is missing of it.
///
/// # Errors
/// As [`elements`]; also where the place is not written as a block, one entry a line.
pub(super) fn insert(text: &str, event: &str, items: &[Value]) -> Result<String, Unfit> {
    if let Some(body) = text.strip_prefix(MARK) {
        return Ok(format!("{MARK}{}", insert(body, event, items)?));
    }
    let mut wanted = elements(text, event)?;
    wanted.extend(items.iter().cloned());
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push_str(end);
    }
    let layout = Layout::of(&lines, event);
    let (at, key_indent, item_indent, mut new) = match (layout.hooks, layout.event) {
        (None, _) => (lines.len(), 2, 4, vec!["hooks:".to_owned(), format!("  {event}:")]),
        (Some(hooks), None) => {
            emptied(&mut lines, hooks.key)?;
            let indent = hooks.indent.unwrap_or(2);
            (hooks.end, indent, indent + 2, vec![format!("{}{event}:", " ".repeat(indent))])
        }
        (Some(hooks), Some(list)) => {
            // The outer one first: whatever stands below it is not what it looks like.
            emptied(&mut lines, hooks.key)?;
            emptied(&mut lines, list.key)?;
            let own = indent_of(lines.get(list.key).map_or("", String::as_str));
            (list.end, own, list.indent.unwrap_or(own + 2), Vec::new())
        }
    };
    let _ = key_indent;
    for item in items {
        let fields = item.as_object().into_iter().flatten();
        for (nth, (key, value)) in fields.enumerate() {
            new.push(format!("{}{} {key}: {value}", " ".repeat(item_indent), if nth == 0 { "-" } else { " " }));
        }
    }
    let added: Vec<String> = new.into_iter().map(|line| line + end).collect();
    lines.splice(at..at, added);
    let changed = lines.concat();
    // What does not come out as it was meant was not understood line by line, whatever the parser says of it.
    let same = elements(&changed, event).is_ok_and(|now| now == wanted) && rest(&changed, event).ok() == Some(rest(text, event)?);
    if same { Ok(changed) } else { Err(not_plain(text)) }
}

/// Why a text that can be read can't be added to line by line.
fn not_plain(text: &str) -> Unfit {
    let lines = || text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let first = lines().find(|(_, line)| says_something(line) && !line.starts_with("---") && !line.starts_with('%'));
    let ends = lines().find(|(_, line)| line.strip_prefix("...").is_some_and(|more| !says_something(more)));
    let asked = lines().find(|(_, line)| line.starts_with("? "));
    let (line, why) = match (first, ends, asked) {
        (_, Some((line, _)), _) => (line, "`...` ends the document, and nothing can stand behind it: take that line out"),
        (_, _, Some((line, _))) => (line, "a key is written with `?`: write it as `key:`"),
        (Some((line, text)), ..) if text.starts_with(['{', '[']) => (line, "the whole file is written in brackets: write one key a line"),
        (Some((line, text)), ..) if text.starts_with(' ') => (line, "its keys do not begin at the left edge: write them there"),
        _ => (
            line_of(text, "hooks"),
            "loci can't add to `hooks` without changing what is there: write it as a block at the left edge, one entry a line",
        ),
    };
    Unfit { line, why: why.to_owned() }
}

/// Takes out of `hooks.EVENT` the elements at these positions, and the list and `hooks` with them where
/// `made` says so and nothing else is left in them.
///
/// # Errors
/// As [`insert`].
pub(super) fn remove(text: &str, event: &str, positions: &[usize], made: Made) -> Result<String, Unfit> {
    if let Some(body) = text.strip_prefix(MARK) {
        return Ok(format!("{MARK}{}", remove(body, event, positions, made)?));
    }
    let before = elements(text, event)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let layout = Layout::of(&lines, event);
    let unfit = || Unfit { line: line_of(text, event), why: format!("`hooks.{event}` is not written as a block, one entry a line") };
    let (Some(hooks), Some(list)) = (layout.hooks, layout.event) else { return Err(unfit()) };
    if list.items.len() != before.len() {
        return Err(unfit());
    }
    let mut gone: Vec<Range<usize>> = positions.iter().filter_map(|at| list.items.get(*at).cloned()).collect();
    if positions.len() >= list.items.len() && made >= Made::List {
        gone.push(list.key..list.key + 1);
        let alone = hooks.items.len() == 1;
        if alone && made >= Made::Hooks {
            gone.push(hooks.key..hooks.key + 1);
        }
    }
    let kept = lines.iter().enumerate().filter(|(at, _)| !gone.iter().any(|range| range.contains(at)));
    let changed: String = kept.map(|(_, line)| *line).collect();
    let stay = before.iter().enumerate().filter(|(at, _)| !positions.contains(at)).map(|(_, item)| item.clone());
    let same = elements(&changed, event)? == stay.collect::<Vec<_>>() && rest(&changed, event)? == rest(text, event)?;
    if same { Ok(changed) } else { Err(unfit()) }
}

/// A key in an element that is none of ours: its line, and what it is.
///
/// # Errors
/// As [`elements`].
pub(super) fn own_words(text: &str, event: &str, at: usize, known: &BTreeSet<&str>) -> Result<Option<(usize, String)>, Unfit> {
    let elements = elements(text, event)?;
    let lines: Vec<&str> = text.lines().collect();
    // What is not written as a block is refused where it is to be taken out.
    let Some(item) = Layout::of(&lines, event).event.and_then(|list| list.items.get(at).cloned()) else { return Ok(None) };
    let mut fields = elements.get(at).and_then(Value::as_object).into_iter().flatten();
    let inside =
        lines.iter().enumerate().take(item.end).skip(item.start).map(|(at, line)| (at + 1, line.trim_start().trim_start_matches("- ")));
    let Some((key, _)) = fields.find(|(key, _)| !known.contains(key.as_str())) else { return Ok(None) };
    let mut inside = inside.filter(|(_, line)| line.trim_start_matches(['"', '\'']).starts_with(key.as_str()));
    Ok(Some((inside.next().map_or(item.start + 1, |(line, _)| line), format!("`{key}`"))))
}

/// The line of a comment of its own that stands in one text and no more in the other.
pub(super) fn lost_comment(before: &str, after: &str) -> Option<usize> {
    let comments = |text: &'_ str| {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim().to_owned()));
        lines.filter(|(_, line)| line.starts_with('#')).collect::<Vec<_>>()
    };
    let mut left = comments(after).into_iter();
    comments(before).into_iter().find(|(_, words)| left.next().is_none_or(|(_, other)| other != *words)).map(|(line, _)| line)
}

/// A key with what stands below it.
#[derive(Debug, Clone)]
struct Block {
    /// The line of the key.
    key: usize,
    /// How far its children are indented; `None` where it has none.
    indent: Option<usize>,
    /// Its children, each with the lines that belong to it.
    items: Vec<Range<usize>>,
    /// Behind the last line that belongs to it.
    end: usize,
}

/// Where `hooks` and the list of an event are.
struct Layout {
    hooks: Option<Block>,
    event: Option<Block>,
}

impl Layout {
    fn of<S: AsRef<str>>(lines: &[S], event: &str) -> Self {
        let key = (0..lines.len()).find(|at| lines.get(*at).is_some_and(|line| is_key(line.as_ref(), "hooks", 0)));
        let hooks = key.map(|key| block(lines, key, false));
        let event = hooks.as_ref().and_then(|hooks| {
            let indent = hooks.indent?;
            let key = hooks
                .items
                .iter()
                .map(|item| item.start)
                .find(|at| lines.get(*at).is_some_and(|line| is_key(line.as_ref(), event, indent)))?;
            Some(block(lines, key, true))
        });
        Self { hooks, event }
    }
}

/// The block below a key. The entries of a list may stand as far left as its key.
fn block<S: AsRef<str>>(lines: &[S], key: usize, list: bool) -> Block {
    let own = indent_of(lines.get(key).map_or("", AsRef::as_ref));
    let mut found = Block { key, indent: None, items: Vec::new(), end: key + 1 };
    for (at, line) in lines.iter().enumerate().skip(key + 1) {
        let line = line.as_ref();
        if !says_something(line) {
            continue;
        }
        let indent = indent_of(line);
        let entry = line.trim_start().starts_with('-');
        let least = if list && entry { own } else { own + 1 };
        if indent < found.indent.unwrap_or(least).max(least) {
            break;
        }
        let first = *found.indent.get_or_insert(indent);
        if indent == first && (!list || entry) {
            found.items.push(at..at + 1);
        } else if list && indent == first {
            break;
        }
        if let Some(item) = found.items.last_mut() {
            item.end = at + 1;
        }
        found.end = at + 1;
    }
    found
}

/// A key that holds nothing in a short form (`{}`, `[]`) gets room for a block.
fn emptied(lines: &mut [String], at: usize) -> Result<(), Unfit> {
    let Some(line) = lines.get_mut(at) else { return Ok(()) };
    let Some((head, tail)) = line.split_once(':') else { return Ok(()) };
    let value = tail.trim();
    if value.is_empty() || value.starts_with('#') {
        return Ok(());
    }
    for short in ["{}", "[]", "null", "~"] {
        if value == short || value.strip_prefix(short).is_some_and(|more| more.trim_start().starts_with('#')) {
            *line = format!("{head}:{}", tail.replacen(&format!(" {short}"), "", 1));
            return Ok(());
        }
    }
    let key = head.trim();
    let sign = value.split([' ', '#']).next().unwrap_or_default();
    let why = match value.chars().next() {
        Some('&') => format!("`{key}` has the anchor `{sign}`: take it out"),
        Some('*') => format!("`{key}` stands for another place (`{sign}`): write out what is meant"),
        Some('!') => format!("`{key}` has the tag `{sign}`: take it out"),
        _ => format!("`{key}` is written in brackets: write it as a block, one entry a line"),
    };
    Err(Unfit { line: at + 1, why })
}

fn is_key(line: &str, key: &str, indent: usize) -> bool {
    let bare = line.trim_start_matches(' ');
    line.len() - bare.len() == indent
        && [key.to_owned(), format!("\"{key}\""), format!("'{key}'")]
            .iter()
            .any(|name| bare.strip_prefix(name.as_str()).is_some_and(|rest| rest.trim_start_matches(' ').starts_with(':')))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line is more than white space and a comment. (A comment's sign in a text block is text, but
/// never the end of one.)
fn says_something(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn line_of(text: &str, key: &str) -> usize {
    text.lines().position(|line| line.trim_start().trim_start_matches(['"', '\'']).starts_with(key)).map_or(1, |at| at + 1)
}

fn parsed(text: &str) -> Result<Yaml, Unfit> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let root: Yaml = serde_yaml::from_str(text).map_err(|error| {
        let (line, why) = refusal(text, &error);
        Unfit { line: line.unwrap_or(1), why: format!("it is not valid YAML: {why}") }
    })?;
    match root {
        Yaml::Null => Ok(Yaml::Mapping(serde_yaml::Mapping::new())),
        Yaml::Mapping(_) => Ok(root),
        _ => Err(Unfit { line: 1, why: "it is not a YAML mapping".to_owned() }),
    }
}

/// Everything but the list, for comparing.
fn rest(text: &str, event: &str) -> Result<Yaml, Unfit> {
    let mut root = parsed(text)?;
    if let Some(hooks) = root.get_mut("hooks").and_then(Yaml::as_mapping_mut) {
        hooks.remove(event);
    }
    let empty = root.get("hooks").is_some_and(|hooks| hooks.is_null() || hooks.as_mapping().is_some_and(serde_yaml::Mapping::is_empty));
    if let Some(root) = root.as_mapping_mut().filter(|_| empty) {
        root.remove("hooks");
    }
    Ok(root)
}

#[cfg(test)]
mod tests;
