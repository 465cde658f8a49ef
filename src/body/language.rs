//! The language of templates: the part of Jinja whose cost can't exceed its text.
//!
//! `{{ name }}` with filters, `{% if %}`, `{% raw %}` and comments. What binds names or multiplies
//! (`for`, `set`, `*`, …) is refused, since a few lines of it fill any memory; fuel and a bound on the
//! outcome hold the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::sys::shown;
use crate::text::yaml;

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// Longest file that is rendered; a longer one with a tag in it is refused.
const MAX_SOURCE: usize = 1 << 20;
/// Longest outcome of rendering one file.
const MAX_OUTPUT: usize = 8 << 20;
/// Longest tag.
const MAX_TAG: usize = 1 << 10;
/// Instructions that rendering one file may take.
const FUEL: u64 = 1_000_000;

/// The statements that a template may use.
const STATEMENTS: [&str; 6] = ["if", "elif", "else", "endif", "raw", "endraw"];

fn environment<'a>() -> Environment<'a> {
    let mut env = Environment::empty();
    // Delimiters are the usual ones, so this can't fail.
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build() {
        env.set_syntax(syntax);
    }
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(FUEL));
    env.add_filter("default", |value: &Value, other: Value| if value.is_undefined() { other } else { value.clone() });
    env.add_filter("lower", |text: String| text.to_lowercase());
    env.add_filter("upper", |text: String| text.to_uppercase());
    env.add_filter("title", |text: String| title(&text));
    env.add_filter("sentence", |text: String| if text.ends_with(['.', '!', '?']) { text } else { text + "." });
    // For templates of both, JSON and YAML: no value can break out of its line.
    env.add_filter("quote", |text: String| yaml::json(&text));
    env.add_test("defined", |value: &Value| !value.is_undefined());
    env
}

/// `billing-desk` → `Billing desk`.
fn title(text: &str) -> String {
    let spaced = text.replace(['-', '_'], " ");
    let mut chars = spaced.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Whether some text has a tag in it.
pub(super) fn has_tag(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag))
}

/// What in a source is outside the language: line and reason. Every `{{` and `{%` is looked at,
/// wherever it stands, so that no way of nesting comments and raw parts can hide one.
fn outside_language(source: &str) -> Option<(usize, String)> {
    let bytes = source.as_bytes();
    for (at, pair) in bytes.windows(2).enumerate() {
        let statement = match pair {
            b"{%" => true,
            b"{{" => false,
            _ => continue,
        };
        let line = || source.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let inner = source.get(at + 2..).unwrap_or_default();
        let Some(body) = tag_body(inner, if statement { "%}" } else { "}}" }) else {
            return Some((line(), format!("a tag has no end, or is longer than {MAX_TAG} bytes")));
        };
        if statement {
            let word: String =
                body.trim_start_matches(['-', '+']).trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !STATEMENTS.contains(&word.as_str()) {
                return Some((line(), format!("`{{% {} %}}` is not part of the language of templates", shown::text(&word))));
            }
        }
        // A brace in a tag would make its end a matter of counting.
        if let Some(sign) = without_strings(body).chars().find(|c| matches!(c, '*' | '{')) {
            return Some((line(), format!("`{sign}` in a tag is not part of the language of templates")));
        }
    }
    None
}

/// The inside of a tag up to its end, strings skipped as Jinja does; `None` where there is no end
/// within [`MAX_TAG`].
fn tag_body<'a>(inner: &'a str, end: &str) -> Option<&'a str> {
    let mut quote: Option<u8> = None;
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate().take(MAX_TAG) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'"' || byte == b'\'' => quote = Some(byte),
            None if inner.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(end.as_bytes())) => return inner.get(..at),
            None => {}
        }
    }
    None
}

/// The text of a tag with its strings taken out.
fn without_strings(body: &str) -> String {
    let mut out = String::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for c in body.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None => out.push(c),
        }
    }
    out
}

/// A sink that stops where an outcome gets too long.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.0.len() + data.len() > MAX_OUTPUT {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too long"));
        }
        self.0.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a text could not be rendered: the line, the reason, and the variable where one is missing.
pub(super) struct Trouble {
    /// The line, from 1.
    pub(super) line: Option<usize>,
    /// In words.
    pub(super) why: String,
    /// A variable has no value.
    pub(super) missing: bool,
}

/// Renders a text.
pub(super) fn render_text(source: &str, values: &Values) -> Result<Vec<u8>, Trouble> {
    if !has_tag(source) {
        return Ok(source.as_bytes().to_vec());
    }
    if source.len() > MAX_SOURCE {
        return Err(Trouble { line: None, why: format!("it has tags and is longer than {} KiB", MAX_SOURCE >> 10), missing: false });
    }
    if let Some((line, why)) = outside_language(source) {
        return Err(Trouble { line: Some(line), why, missing: false });
    }
    let env = environment();
    let trouble = |error: &Error, unset: &BTreeSet<String>| Trouble {
        line: error.line(),
        missing: error.kind() == ErrorKind::UndefinedError,
        why: explain(error, source, unset),
    };
    let template = env.template_from_str(source).map_err(|error| trouble(&error, &BTreeSet::new()))?;
    let mut out = Bounded(Vec::new());
    let result = template.render_captured_to(Value::from_pairs(values.clone()), &mut out).map(|_| ());
    result.map_err(|error| {
        let unset = template.undeclared_variables(false).into_iter().filter(|name| !values.contains_key(name)).collect();
        trouble(&error, &unset)
    })?;
    Ok(out.0)
}

/// An error in words that name the variable, which the engine's own do not.
fn explain(error: &Error, source: &str, unset: &BTreeSet<String>) -> String {
    match error.kind() {
        ErrorKind::UndefinedError => {
            let text = error.line().and_then(|line| source.lines().nth(line.saturating_sub(1))).unwrap_or_default();
            let on_line = |name: &&String| text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name.as_str());
            let mut names: Vec<&String> = unset.iter().filter(on_line).collect();
            if names.is_empty() {
                names = unset.iter().collect();
            }
            match names.as_slice() {
                [] => "a value in it is not defined".to_owned(),
                names => {
                    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                    format!("{} is not set", list.join(" or "))
                }
            }
        }
        ErrorKind::OutOfFuel => "rendering it takes too long".to_owned(),
        ErrorKind::WriteFailure => format!("it would be longer than {} MiB", MAX_OUTPUT >> 20),
        kind => error.detail().map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}")),
    }
}

/// The variables that a text uses.
pub(super) fn variables_of(source: &str) -> Result<BTreeSet<String>, Trouble> {
    if !has_tag(source) {
        return Ok(BTreeSet::new());
    }
    if let Some((line, why)) = outside_language(source) {
        return Err(Trouble { line: Some(line), why, missing: false });
    }
    let env = environment();
    let parsed = env.template_from_str(source);
    let parsed = parsed.map_err(|error| Trouble { line: error.line(), why: explain(&error, source, &BTreeSet::new()), missing: false })?;
    Ok(parsed.undeclared_variables(false).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str, pairs: &[(&str, &str)]) -> String {
        let values = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        String::from_utf8(render_text(text, &values).unwrap_or_else(|trouble| panic!("{}", trouble.why))).unwrap()
    }

    fn fails(text: &str, pairs: &[(&str, &str)]) -> String {
        let values = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let trouble = render_text(text, &values).err().unwrap();
        format!("{}: {}", trouble.line.unwrap_or(0), trouble.why)
    }

    #[test]
    fn values_filters_and_conditions() {
        assert_eq!(one("a {{ x }}\r\nb\n\n", &[("x", "1 < 2")]), "a 1 < 2\r\nb\n\n");
        assert_eq!(one("{{ x | sentence }}", &[("x", "Keeps it")]), "Keeps it.");
        assert_eq!(one("{{ x | title }} {{ y | default('z') }}", &[("x", "big-desk")]), "Big desk z");
        assert_eq!(one("d: {{ x | quote }}\n", &[("x", "a: \"b\"\n---")]), "d: \"a: \\\"b\\\"\\n---\"\n");
        assert_eq!(one("a\n{% if x is defined %}\nb\n{% else %}\nc\n{% endif %}\nd\n", &[]), "a\nc\nd\n");
        assert_eq!(one("{% raw %}${{ matrix.os }}{% endraw %}", &[]), "${{ matrix.os }}");
    }

    #[test]
    fn what_could_fill_the_memory_is_refused() {
        for text in [
            "\n{% set a = 'x' ~ 'x' %}",
            "\n{% for a in [1] %}{% endfor %}",
            "\n{%- with a = 1 %}{% endwith %}",
            "\n{{ 'x' * 10000000 }}",
            "\n{{ '*' if 2 ** 9 }}",
            "\n{# {{ 'x' * 2 }} #}",
            "\n{{ [{'a': {}}, 'x' * 9] }}",
            "\n{% filter upper %}x{% endfilter %}",
            "\n{{ x",
            "\n{{ 'x }}",
            "\n{% if '\"' == \"'\" * 9 %}{% endif %}",
        ] {
            assert!(fails(text, &[]).starts_with("2: "), "{text}");
        }
        assert_eq!(one("**{{ '*' }}** 2 * 3 { % for %}", &[]), "***** 2 * 3 { % for %}");
        // Each of these tags would end at the end of the file: looked at in full, that takes hours.
        assert!(fails(&format!("{}' }}}}", "{{\\'".repeat(MAX_SOURCE / 4 - 2)), &[]).starts_with("1: a tag has no end"));
        let much = "{{ x }}".repeat(10_000);
        assert!(fails(&much, &[("x", &"y".repeat(10_000))]).contains("longer than 8 MiB"));
        let steps = "{{ x }}".repeat(MAX_SOURCE / 7);
        let _ = one(&steps, &[("x", "y")]);
    }
}
