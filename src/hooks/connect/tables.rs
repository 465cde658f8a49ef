//! What Codex keeps about hooks in its settings, which are TOML: read by a parser, and changed as text, so that
//! whatever else stands there keeps every byte. What came out is parsed and compared before anybody writes it.

use std::ops::Range;

use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::splice::Unfit;

/// The keys on the way to what is kept about each hook.
const WAY: [&str; 2] = ["hooks", "state"];
/// What holds the digest that was trusted.
const HASH: &str = "trusted_hash";

/// What is kept about one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// The digest that was trusted.
    pub(super) hash: Option<String>,
    /// Whether it was switched off.
    pub(super) off: bool,
}

/// What is kept about the hook of that name.
///
/// # Errors
/// Where the text is no TOML.
pub(super) fn kept(text: &str, key: &str) -> Result<Option<Kept>, Unfit> {
    let root = parsed(text)?;
    let Some((_, entry)) = state(root.get_ref()).and_then(|state| find(state, key)) else { return Ok(None) };
    let table = entry.get_ref().as_table();
    let value = |name: &str| table.and_then(|table| find(table, name)).map(|(_, value)| value.get_ref());
    let hash = value(HASH).and_then(DeValue::as_str).map(str::to_owned);
    Ok(Some(Kept { hash, off: value("enabled").and_then(DeValue::as_bool) == Some(false) }))
}

/// The switch that keeps Codex from running any hook, where it is thrown.
///
/// # Errors
/// Where the text is no TOML.
pub(super) fn switched_off(text: &str) -> Result<Option<String>, Unfit> {
    let root = parsed(text)?;
    let features = find(root.get_ref(), "features").and_then(|(_, value)| value.get_ref().as_table());
    let off = |name: &&str| features.and_then(|table| find(table, name)).is_some_and(|(_, value)| value.get_ref().as_bool() == Some(false));
    Ok(["hooks", "codex_hooks"].into_iter().find(|name| off(name)).map(|name| format!("features.{name}")))
}

/// The text with the digests of these hooks trusted.
///
/// # Errors
/// Where the text is no TOML, or what stands at the place can't be added to.
pub(super) fn with(text: &str, wanted: &[(&str, &str)]) -> Result<String, Unfit> {
    let mut now = text.to_owned();
    for (key, hash) in wanted {
        now = with_one(&now, key, hash)?;
    }
    let mut value = plain_of(text)?;
    for (key, hash) in wanted {
        let entry = step(step(step(&mut value, WAY[0]), WAY[1]), key);
        if let Some(entry) = entry.as_object_mut() {
            entry.insert(HASH.to_owned(), json!(hash));
        }
    }
    same(text, &now, &value)
}

fn with_one(text: &str, key: &str, hash: &str) -> Result<String, Unfit> {
    let root = parsed(text)?;
    let table = |found: Option<(&Spanned<_>, &Spanned<DeValue<'_>>)>| found.map(|(_, value)| value.span());
    let put = |at: Range<usize>, what: &str| Ok([text.get(..at.start), Some(what), text.get(at.end..)].into_iter().flatten().collect());
    let entry = state(root.get_ref()).and_then(|state| find(state, key));
    let (quoted, hash) = (json!(key), json!(hash));
    if let Some((_, entry)) = entry {
        let inner = entry.get_ref().as_table().ok_or_else(|| unfit(text, entry.span().start, "what is kept about a hook is no table"))?;
        return match find(inner, HASH) {
            Some((_, value)) => put(value.span(), &hash.to_string()),
            None => Err(unfit(text, entry.span().start, "what is kept about a hook of ours names no digest")),
        };
    }
    let hooks = find(root.get_ref(), WAY[0]);
    for (found, what) in [
        (hooks.and_then(|(_, hooks)| find(hooks.get_ref().as_table()?, WAY[1])), format!("{quoted} = {{ {HASH} = {hash} }}")),
        (hooks, format!("{} = {{ {quoted} = {{ {HASH} = {hash} }} }}", WAY[1])),
    ] {
        let Some(span) = table(found) else { continue };
        if found.is_some_and(|(_, value)| value.get_ref().as_table().is_none()) {
            return Err(unfit(text, span.start, "what stands there is no table"));
        }
        // Written in one line: it can't be opened again below.
        if let Some(inner) = text.get(span.clone()).and_then(|text| text.strip_prefix('{')?.strip_suffix('}')) {
            let filled = inner.trim_end();
            let at = span.start + 1 + filled.len();
            let comma = if filled.trim().is_empty() || filled.ends_with(',') { "" } else { "," };
            return put(at..at, &format!("{comma} {what}"));
        }
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let closed = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    Ok(format!("{text}{closed}{end}[{}.{}.{quoted}]{end}{HASH} = {hash}{end}", WAY[0], WAY[1]))
}

/// The text without what is kept about these hooks.
///
/// # Errors
/// As [`with`].
pub(super) fn without(text: &str, keys: &[&str]) -> Result<String, Unfit> {
    let mut now = text.to_owned();
    for key in keys {
        if let Some(range) = place(&now, key)? {
            now = [now.get(..range.start), now.get(range.end..)].into_iter().flatten().collect();
        }
    }
    let mut value = plain_of(text)?;
    if let Some(state) = value.pointer_mut("/hooks/state").and_then(Value::as_object_mut) {
        keys.iter().for_each(|key| drop(state.remove(*key)));
    }
    same(text, &now, &value)
}

/// What has to go so that nothing is kept about a hook.
fn place(text: &str, key: &str) -> Result<Option<Range<usize>>, Unfit> {
    let root = parsed(text)?;
    let Some(state) = state(root.get_ref()) else { return Ok(None) };
    let Some((name, entry)) = find(state, key) else { return Ok(None) };
    let span = entry.span();
    let inner: Vec<Range<usize>> =
        entry.get_ref().as_table().into_iter().flat_map(|table| table.iter()).map(|(_, value)| value.span()).collect();
    let line_end = |at: usize| text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |more| at + more + 1);
    let line_start = |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |before| before + 1);
    Ok(Some(match text.get(span.clone()) {
        Some(said) if said.starts_with('[') => {
            let end = inner.iter().map(|one| one.end).chain([span.end]).max().unwrap_or(span.end);
            // The blank line that came along.
            let start = line_start(span.start);
            let before = text.get(..start).unwrap_or_default();
            let blank = ["\r\n", "\n"].into_iter().find(|end| before.ends_with(end)).map_or(0, str::len);
            let rest = before.get(..before.len() - blank).unwrap_or_default();
            let start = if rest.is_empty() || rest.ends_with('\n') { start - blank } else { start };
            start..line_end(end)
        }
        Some(said) if said.starts_with('{') => {
            let others: Vec<Range<usize>> = state.iter().map(|(key, value)| key.span().start..value.span().end).collect();
            let own = name.span().start..span.end;
            let before = others.iter().filter(|one| one.end <= own.start).map(|one| one.end).max();
            let after = others.iter().filter(|one| one.start >= own.end).map(|one| one.start).min();
            match (before, after) {
                (Some(before), _) => before..own.end,
                (None, Some(after)) => own.start..after,
                (None, None) => own,
            }
        }
        // `hooks.state."…".trusted_hash = "…"`
        _ => {
            let at = inner.iter().map(|one| one.start).min().unwrap_or(span.start);
            line_start(at)..line_end(at)
        }
    }))
}

/// The changed text, where it says what it should.
fn same(before: &str, after: &str, wanted: &Value) -> Result<String, Unfit> {
    let odd =
        || Unfit { line: 1, why: "what Codex keeps about hooks can't be changed there without changing what else it says".to_owned() };
    let (mut now, mut wanted) = (plain_of(after).map_err(|_| odd())?, wanted.clone());
    emptied(&mut now);
    emptied(&mut wanted);
    // The line of the key, where one is to be looked at.
    let line = before.lines().position(|line| line.contains("hooks")).map_or(1, |at| at + 1);
    if now == wanted { Ok(after.to_owned()) } else { Err(Unfit { line, ..odd() }) }
}

/// Without tables that hold nothing any more.
fn emptied(value: &mut Value) {
    let empty = |value: Option<&Value>| value.and_then(Value::as_object).is_some_and(Map::is_empty);
    if let Some(hooks) = value.get_mut(WAY[0]).and_then(Value::as_object_mut)
        && empty(hooks.get(WAY[1]))
    {
        hooks.remove(WAY[1]);
    }
    if empty(value.get(WAY[0]))
        && let Some(root) = value.as_object_mut()
    {
        root.remove(WAY[0]);
    }
}

fn step<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(object) => object.entry(key).or_insert_with(|| json!({})),
        other => other,
    }
}

fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, Unfit> {
    DeTable::parse(text)
        .map_err(|error| unfit(text, error.span().map_or(0, |span| span.start), &format!("it is not valid TOML: {}", error.message())))
}

fn unfit(text: &str, at: usize, why: &str) -> Unfit {
    Unfit { line: text.get(..at).unwrap_or_default().matches('\n').count() + 1, why: why.to_owned() }
}

fn find<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<(&'t Spanned<toml::de::DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    table.iter().find(|(name, _)| name.get_ref().as_ref() == key)
}

fn state<'t, 'i>(root: &'t DeTable<'i>) -> Option<&'t DeTable<'i>> {
    let (_, hooks) = find(root, WAY[0])?;
    let (_, state) = find(hooks.get_ref().as_table()?, WAY[1])?;
    state.get_ref().as_table()
}

fn plain_of(text: &str) -> Result<Value, Unfit> {
    Ok(object(parsed(text)?.get_ref()))
}

fn object(table: &DeTable<'_>) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), plain(value.get_ref()))).collect::<Map<_, _>>().into()
}

fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Table(table) => object(table),
        DeValue::Array(list) => list.iter().map(|one| plain(one.get_ref())).collect::<Vec<_>>().into(),
        DeValue::String(text) => json!({ "text": text.as_ref() }).get("text").cloned().unwrap_or_default(),
        DeValue::Boolean(boolean) => json!(boolean),
        // As they are written: nobody calculates with them.
        other => json!(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "/h/hooks.json:pre_tool_use:0:0";

    fn both(text: &str) -> (String, String) {
        let there = with(text, &[(KEY, "sha256:1"), ("b", "sha256:2")]).unwrap();
        for (key, hash) in [(KEY, "sha256:1"), ("b", "sha256:2")] {
            assert_eq!(kept(&there, key).unwrap(), Some(Kept { hash: Some(hash.to_owned()), off: false }), "{there}");
        }
        let gone = without(&there, &[KEY, "b"]).unwrap();
        (there, gone)
    }

    #[test]
    fn it_comes_and_goes_however_the_rest_is_written() {
        for text in [
            "",
            "a = 1\n",
            "a = 1 # no line end",
            "a = 1\r\n[b]\r\nc = 2\r\n",
            "[hooks]\nstate = { \"a\" = { trusted_hash = \"q\" } }\n[z]\n",
            "[hooks]\nstate = {}\n",
            "hooks = { state = { \"a\" = { trusted_hash = \"q\" } } } # mine\n",
            "hooks = { }\n",
            "[[hooks.PreToolUse]]\nmatcher = \"x\"\n\n[hooks.state.a]\ntrusted_hash = 'q'\n# about z\n[z]\nhooks = false\n",
            "t = \"\"\"\n[hooks.state.\"b\"]\n\"\"\"\n",
            "[features]\nhooks=false\n",
        ] {
            let (there, gone) = both(text);
            assert_ne!(there, text);
            // A table that holds nothing may stay, and blanks in one.
            let solid = |text: &str| text.replace(char::is_whitespace, "").replace("state={}", "");
            assert_eq!(solid(&gone), solid(text), "{there}");
        }
        let (_, gone) = both("a = 1\n[b]\nc = 2\n");
        assert_eq!(gone, "a = 1\n[b]\nc = 2\n");
    }

    #[test]
    fn an_older_digest_is_replaced_where_it_stands() {
        let text = "[hooks.state.\"b\"]\nenabled = false # mine\ntrusted_hash = \"old\"\n[z]\n";
        let there = with(text, &[("b", "new")]).unwrap();
        assert_eq!(there, text.replace("old", "new"));
        assert_eq!(kept(&there, "b").unwrap(), Some(Kept { hash: Some("new".to_owned()), off: true }));
        let dotted = "hooks.state.\"b\".trusted_hash = \"old\"\nx = 1\n";
        assert_eq!(without(dotted, &["b"]).unwrap(), "x = 1\n");
        assert_eq!(kept(dotted, "c").unwrap(), None);
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        for (text, line) in [("x = 1\na=\n", 2), ("[a]\n[a]\n", 2), ("hooks = 7\n", 1), ("x = 1\n[hooks]\nstate = [1]\n", 3)] {
            assert_eq!(with(text, &[("b", "1")]).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn the_switch_is_its_own_key_and_no_other() {
        let off = |text: &str| switched_off(text).unwrap();
        assert_eq!(off("[features]\nhooks = false\n").as_deref(), Some("features.hooks"));
        assert_eq!(off("features.codex_hooks = false\n").as_deref(), Some("features.codex_hooks"));
        assert_eq!(off("[other]\nhooks = false\n[features]\nhooks = true\n"), None);
        assert_eq!(off("hooks = false\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text(text in "(\\[hooks\\]|\\[|\\]|state|hooks|=| |\\{|\\}|\"b\"|trusted_hash|1|,|\n|#|\\.|'x'){0,30}") {
            if let Ok(there) = with(&text, &[("b", "1")]) {
                proptest::prop_assert_eq!(kept(&there, "b").unwrap().unwrap().hash, Some("1".to_owned()));
                if let Ok(gone) = without(&there, &["b"]) {
                    proptest::prop_assert_eq!(kept(&gone, "b").unwrap(), None);
                }
            }
        }
    }
}
