//! Puts things into a JSON file of somebody else's and takes them out again, as text: whatever else
//! stands in it — comments, trailing commas, indentation, line ends, a byte order mark, keys we don't
//! know — keeps every byte.

mod own;

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

pub use own::{Known, lost_comment, own_words};

use super::jsonc::{Kind, Style, Trivia, last, line_of, object, plain, position, ranges};
use super::strict::MARK;

/// Why a text can't be worked on. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, as a sentence.
    pub why: String,
}

/// Comments and trailing commas are common in such files; anything looser is no JSON.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The elements that stand in the list `hooks.EVENT`, each as its own text; empty where there is no
/// such list.
///
/// # Errors
/// Where the text is no JSON object, or what stands at the place is no list.
pub fn elements(text: &str, event: &str) -> Result<Vec<serde_json::Value>, Unfit> {
    let doc = Doc::read(text)?;
    let Some(list) = doc.list(event)? else { return Ok(Vec::new()) };
    Ok(list.elements.iter().map(|element| plain(element)).collect())
}

/// One value at the top of the object; `None` where it is not there.
///
/// # Errors
/// Where the text is no JSON object.
pub fn top(text: &str, key: &str) -> Result<Option<serde_json::Value>, Unfit> {
    let doc = Doc::read(text)?;
    Ok(doc.root.as_ref().and_then(|root| last(root, key)).map(|found| plain(&found.value)))
}

/// Puts elements at the end of the list `hooks.EVENT`, making what is missing of it.
///
/// # Errors
/// As [`elements`]; also where what came out would not say the same as before but for the elements.
pub fn insert(text: &str, event: &str, items: &[serde_json::Value]) -> Result<String, Unfit> {
    let doc = Doc::read(text)?;
    let style = Style::of(doc.body);
    let hooks = |items: &[serde_json::Value]| serde_json::json!({ event: items });
    let mut edits = Vec::new();
    match &doc.root {
        // An empty file, or nothing but white space and comments: the object goes behind them.
        None => {
            let end = doc.body.trim_end().len();
            let lead = if doc.body[..end].is_empty() { "" } else { style.line_end };
            let object = style.render(&serde_json::json!({ "hooks": hooks(items) }), 0);
            let tail = if doc.body.len() > end { "" } else { style.line_end };
            edits.push((end, format!("{lead}{object}{tail}")));
        }
        Some(root) => match last(root, "hooks") {
            None => edits.extend(doc.add_member(root, &style, 1, "hooks", &hooks(items))),
            Some(found) => {
                let object = found.value.as_object().ok_or_else(|| doc.unfit(found, "`hooks` is not an object"))?;
                match last(object, event) {
                    None => edits.extend(doc.add_member(object, &style, 2, event, &serde_json::json!(items))),
                    Some(found) => {
                        let list = found.value.as_array().ok_or_else(|| doc.unfit(found, &format!("`hooks.{event}` is not a list")))?;
                        let texts: Vec<String> = items.iter().map(|item| style.render(item, 3)).collect();
                        let ends = list.elements.last().map(|element| element.range().end);
                        edits.extend(doc.add(&list.range, ends, &style, 3, &texts));
                    }
                }
            }
        },
    }
    let changed = doc.apply(&edits, &[]);
    // What is there must be there still: cheap to make sure of, and the file is not ours.
    let mut wanted = elements(text, event)?;
    wanted.extend(items.iter().cloned());
    let same = elements(&changed, event)? == wanted && rest(&changed, event)? == rest(text, event)?;
    if same { Ok(changed) } else { Err(Unfit { line: 1, why: "it can't be added to without changing what is there".to_owned() }) }
}

/// Takes out of `hooks.EVENT` the elements at these positions, and the list and the `hooks` object
/// with them where `made` says so and nothing else is left in them.
///
/// # Errors
/// As [`elements`].
pub fn remove(text: &str, event: &str, positions: &[usize], made: Made) -> Result<String, Unfit> {
    let doc = Doc::read(text)?;
    let Some((root, hooks, list)) = doc.way(event)? else { return Ok(text.to_owned()) };
    let left = list.elements.len() - positions.iter().filter(|at| **at < list.elements.len()).count();
    let mut cuts = Vec::new();
    if left == 0 && made >= Made::List {
        if hooks.properties.len() == 1 && made >= Made::Hooks {
            if root.properties.len() == 1 && made == Made::Whole {
                cuts.push(root.range.start..root.range.end);
            } else {
                cuts.extend(doc.cut(root.range.start..root.range.end, &ranges(&root.properties), &[position(root, "hooks")]));
            }
        } else {
            cuts.extend(doc.cut(hooks.range.start..hooks.range.end, &ranges(&hooks.properties), &[position(hooks, event)]));
        }
    } else {
        let all: Vec<Range<usize>> = list.elements.iter().map(|element| element.range().start..element.range().end).collect();
        cuts.extend(doc.cut(list.range.start..list.range.end, &all, positions));
    }
    Ok(doc.apply(&[], &cuts))
}

/// Takes out of the list `hooks` of the element at `at` of `hooks.EVENT` what stands at these
/// positions.
///
/// # Errors
/// As [`elements`].
pub fn remove_inside(text: &str, event: &str, at: usize, positions: &[usize]) -> Result<String, Unfit> {
    let doc = Doc::read(text)?;
    let group = doc.list(event)?.and_then(|list| list.elements.get(at)).and_then(Value::as_object);
    let Some(inner) = group.and_then(|group| last(group, "hooks")).and_then(|found| found.value.as_array()) else {
        return Ok(text.to_owned());
    };
    let all: Vec<Range<usize>> = inner.elements.iter().map(|element| element.range().start..element.range().end).collect();
    Ok(doc.apply(&[], &doc.cut(inner.range.start..inner.range.end, &all, positions)))
}

/// How much of `hooks.EVENT` was made along with what was put in; each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Made {
    /// The elements alone.
    Elements,
    /// The list.
    List,
    /// The `hooks` object.
    Hooks,
    /// Everything that stood in the file.
    Whole,
}

/// What [`insert`] would have to make in this text.
///
/// # Errors
/// As [`elements`].
pub fn missing(text: &str, event: &str) -> Result<Made, Unfit> {
    let doc = Doc::read(text)?;
    let Some(root) = &doc.root else { return Ok(Made::Whole) };
    let Some(hooks) = last(root, "hooks") else { return Ok(Made::Hooks) };
    let there = hooks.value.as_object().is_some_and(|hooks| last(hooks, event).is_some());
    Ok(if there { Made::Elements } else { Made::List })
}

/// Everything but the list, for comparing.
fn rest(text: &str, event: &str) -> Result<serde_json::Value, Unfit> {
    let doc = Doc::read(text)?;
    let mut value = doc.root.as_ref().map_or_else(|| serde_json::json!({}), |root| object(root));
    if let Some(hooks) = value.get_mut("hooks").and_then(serde_json::Value::as_object_mut) {
        hooks.shift_remove(event);
        if hooks.is_empty() {
            value.as_object_mut().map(|root| root.shift_remove("hooks"));
        }
    }
    Ok(value)
}

struct Doc<'a> {
    /// The text behind a byte order mark.
    body: &'a str,
    mark: &'a str,
    root: Option<Object<'a>>,
}

impl<'a> Doc<'a> {
    fn read(text: &'a str) -> Result<Self, Unfit> {
        let (mark, body) = if text.starts_with(MARK) { text.split_at(MARK.len()) } else { ("", text) };
        let parsed = parse_to_ast(body, &CollectOptions::default(), &STRICT)
            .map_err(|error| Unfit { line: error.line_display(), why: format!("it is not valid JSON: {}", error.kind()) })?;
        match parsed.value {
            None => Ok(Self { body, mark, root: None }),
            Some(Value::Object(root)) => Ok(Self { body, mark, root: Some(root) }),
            Some(other) => Err(Unfit { line: line_of(body, other.range().start), why: "it is not a JSON object".to_owned() }),
        }
    }

    fn unfit(&self, at: &ObjectProp<'_>, why: &str) -> Unfit {
        Unfit { line: line_of(self.body, at.range.start), why: why.to_owned() }
    }

    /// The objects and the list on the way to `hooks.EVENT`.
    fn way(&self, event: &str) -> Result<Option<(&Object<'a>, &Object<'a>, &Array<'a>)>, Unfit> {
        let Some(root) = &self.root else { return Ok(None) };
        let Some(found) = last(root, "hooks") else { return Ok(None) };
        let hooks = found.value.as_object().ok_or_else(|| self.unfit(found, "`hooks` is not an object"))?;
        let Some(found) = last(hooks, event) else { return Ok(None) };
        let list = found.value.as_array().ok_or_else(|| self.unfit(found, &format!("`hooks.{event}` is not a list")))?;
        Ok(Some((root, hooks, list)))
    }

    fn list(&self, event: &str) -> Result<Option<&Array<'a>>, Unfit> {
        Ok(self.way(event)?.map(|(_, _, list)| list))
    }

    fn add_member(
        &self,
        object: &Object<'_>,
        style: &Style<'_>,
        depth: usize,
        key: &str,
        value: &serde_json::Value,
    ) -> Vec<(usize, String)> {
        let text = format!("{}: {}", serde_json::Value::from(key), style.render(value, depth));
        let ends = object.properties.last().map(|property| property.range.end);
        self.add(&object.range, ends, style, depth, &[text])
    }

    /// Adds texts behind the last child of a container that ends at `last_end`, or as its first ones.
    fn add(
        &self,
        container: &jsonc_parser::common::Range,
        last_end: Option<usize>,
        style: &Style<'_>,
        depth: usize,
        texts: &[String],
    ) -> Vec<(usize, String)> {
        let lead = format!("{}{}", style.line_end, style.indent.repeat(depth));
        let joined = texts.join(&format!(",{lead}"));
        let Some(end) = last_end else {
            let close = format!("{}{}", style.line_end, style.indent.repeat(depth - 1));
            // A line comment in an empty container would swallow what is put before it on its line.
            let inside = self.body.get(container.start + 1..container.end - 1).unwrap_or_default();
            let tail = if inside.starts_with(['\n', '\r']) { "" } else { close.as_str() };
            return vec![(container.start + 1, format!("{lead}{joined}{tail}"))];
        };
        let (comma, line) = self.behind(end, container.end - 1);
        match comma {
            // A trailing comma stays one: what is added ends with its own.
            Some(comma) => vec![(line.max(comma + 1), format!("{lead}{joined},"))],
            None => vec![(end, ",".to_owned()), (line, format!("{lead}{joined}"))],
        }
    }

    /// Between a child and the end of its container: where a comma stands, and where the line of the
    /// child ends but for comments that belong to it.
    fn behind(&self, from: usize, to: usize) -> (Option<usize>, usize) {
        let (mut comma, mut line) = (None, from);
        for (range, kind) in (Trivia { text: self.body, at: from, to }) {
            match kind {
                Kind::Comma => (comma, line) = (Some(range.start), range.end),
                Kind::Space if self.body[range.clone()].contains('\n') => break,
                Kind::Space => {}
                Kind::Comment => line = range.end,
            }
        }
        if comma.is_none() {
            comma = Trivia { text: self.body, at: from, to }.find(|(_, kind)| *kind == Kind::Comma).map(|(range, _)| range.start);
        }
        (comma, line)
    }

    /// The ranges to cut so that the children at `positions` are gone, each with one comma and the
    /// white space before it.
    fn cut(&self, container: Range<usize>, children: &[Range<usize>], positions: &[usize]) -> Vec<Range<usize>> {
        let mut cuts = Vec::new();
        let goes = |at: usize| positions.contains(&at);
        for (at, child) in children.iter().enumerate().filter(|(at, _)| goes(*at)) {
            let before = if at == 0 { container.start + 1 } else { children.get(at - 1).map_or(container.start + 1, |child| child.end) };
            let space = self.body[before..child.start].trim_end_matches([' ', '\t', '\r', '\n']).len();
            cuts.push(before + space..child.end);
        }
        // Commas: one for each child that goes; the ones that are left stand between those that stay.
        let stay: Vec<usize> = (0..children.len()).filter(|at| !goes(*at)).collect();
        let trailing = children.last().and_then(|child| self.comma(child.end, container.end - 1)).is_some();
        for (at, child) in children.iter().enumerate() {
            let Some(comma) =
                children.get(at + 1).map_or_else(|| self.comma(child.end, container.end - 1), |next| self.comma(child.end, next.start))
            else {
                continue;
            };
            let last_to_stay = stay.last() == Some(&at);
            if goes(at) || (last_to_stay && at + 1 < children.len() && !trailing) {
                cuts.push(comma..comma + 1);
            }
        }
        if stay.is_empty() {
            // Nothing but white space is left: the container closes as it opened.
            let inside = container.start + 1..container.end - 1;
            let blank = Trivia { text: self.body, at: children.last().map_or(inside.start, |child| child.end), to: inside.end }
                .all(|(_, kind)| kind != Kind::Comment);
            if blank {
                let from = children.last().map_or(inside.start, |child| child.end);
                cuts.push(from..inside.end);
            }
        }
        cuts
    }

    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        Trivia { text: self.body, at: from, to }.find(|(_, kind)| *kind == Kind::Comma).map(|(range, _)| range.start)
    }

    /// The text with some insertions and cuts.
    fn apply(&self, insertions: &[(usize, String)], cuts: &[Range<usize>]) -> String {
        let mut out = String::with_capacity(self.body.len() + 1024);
        out.push_str(self.mark);
        let mut cuts: Vec<Range<usize>> = cuts.to_vec();
        cuts.sort_by_key(|cut| (cut.start, cut.end));
        let mut at = 0;
        for cut in &cuts {
            if cut.start > at {
                out.push_str(&self.body[at..cut.start]);
            }
            at = at.max(cut.end);
        }
        if cuts.is_empty() {
            for (place, text) in insertions {
                out.push_str(&self.body[at..*place]);
                out.push_str(text);
                at = *place;
            }
        }
        out.push_str(&self.body[at..]);
        out
    }
}

#[cfg(test)]
#[path = "splice_tests.rs"]
mod tests;
