//! A set: `{section: {item: on|off}}`, in YAML or JSON, as people write it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::{Section, State};
use crate::sys::disk::{self, PathError};
use crate::sys::shown;
use crate::text::{header, yaml};

/// The longest set file, in bytes.
pub const MAX_BYTES: u64 = header::MAX_BYTES as u64;

/// Which items: of every dotdir of the level, or of one (`.claude/rules`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The section.
    pub section: Section,
    /// The dotdir; `None`: whichever has the item.
    pub dotdir: Option<String>,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dotdir {
            Some(dotdir) => write!(f, "{dotdir}/{}", self.section),
            None => write!(f, "{}", self.section),
        }
    }
}

/// A saved rename-set, in the order in which it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Set {
    /// The sections with their entries.
    pub sections: Vec<(Scope, Vec<(String, State)>)>,
}

/// A file that is no set; nothing of it was applied.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// It can't be read.
    #[error(transparent)]
    Disk(#[from] PathError),
    /// It says something that a set can't say.
    #[error("read the set {}: {why}", shown::path(.path))]
    Bad {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
}

impl Set {
    /// Adds an entry behind those of its section.
    pub fn push(&mut self, scope: Scope, item: String, state: State) {
        match self.sections.iter_mut().find(|(one, _)| *one == scope) {
            Some((_, items)) => items.push((item, state)),
            None => self.sections.push((scope, vec![(item, state)])),
        }
    }

    /// Every entry.
    pub fn entries(&self) -> impl Iterator<Item = (&Scope, &str, State)> {
        self.sections.iter().flat_map(|(scope, items)| items.iter().map(move |(item, state)| (scope, item.as_str(), *state)))
    }

    /// Whether it says something about hooks: that is for people.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        self.entries().any(|(scope, ..)| scope.section == Section::Hooks)
    }

    /// Reads a set file: JSON where the name ends in `.json`, else YAML.
    ///
    /// # Errors
    /// Where any word of it is none that a set can say; then none of it counts.
    pub fn read(path: &Path) -> Result<Self, SetError> {
        let (data, more) = disk::read_start(path, MAX_BYTES)?;
        let bad = |line, why: String| SetError::Bad { path: path.to_owned(), line, why };
        if more {
            return Err(bad(None, format!("it is longer than {MAX_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&data).map_err(|error| {
            let before = data.get(..error.valid_up_to()).unwrap_or_default();
            bad(Some(1 + before.iter().filter(|byte| **byte == b'\n').count()), "it is not UTF-8".to_owned())
        })?;
        let json = path.extension().is_some_and(|ending| ending == "json");
        Self::parse(text, json).map_err(|(line, why)| bad(line, unquoted(path, why)))
    }

    /// Reads the text of a set.
    ///
    /// # Errors
    /// The line, where it is known, and what is wrong there.
    pub fn parse(text: &str, json: bool) -> Result<Self, (Option<usize>, String)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if !header::is_bounded(text) {
            return Err((None, "it is too long, or its brackets are nested too deep".to_owned()));
        }
        if json {
            serde_json::from_str(text).map_err(|error| {
                let message = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                ((error.line() > 0).then_some(error.line()), message.strip_suffix(&place).unwrap_or(&message).to_owned())
            })
        } else {
            serde_yaml::from_str(text).map_err(|error| yaml::refusal(text, &error))
        }
    }

    /// The set as YAML, as people would write it.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        for (scope, items) in &self.sections {
            text.push_str(&key("", &scope.to_string()));
            text.push('\n');
            for (item, state) in items {
                text.push_str(&key("  ", item));
                text.push_str(&format!(" {state}\n"));
            }
        }
        if text.is_empty() { "{}\n".to_owned() } else { text }
    }
}

/// A key of a mapping with its colon. What is plainly a word, or a section of a dotdir, needs no quotes.
fn key(indent: &str, name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'.' && name.contains('/'))
        && !matches!(name.to_ascii_lowercase().as_str(), "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n");
    let written = if plain { name.to_owned() } else { yaml::scalar(name) };
    // YAML 1.2, 7.4: a key without a mark of its own has at most 1,024 characters; the reader counts bytes.
    if written.len() > 1000 { format!("{indent}? {written}\n{indent}:") } else { format!("{indent}{written}:") }
}

/// The reason as it may be told: it quotes the file, and a link can lead to any file. What was found
/// behind a link is not quoted at all, what is a set's own not at length.
fn unquoted(path: &Path, why: String) -> String {
    const MAX: usize = 160;
    let elsewhere = match (path.parent().map(disk::canonical), disk::canonical(path)) {
        (Some(Ok(folder)), Ok(real)) => real.parent() != Some(folder.as_path()),
        _ => true,
    };
    if elsewhere {
        return "it is a link to a file that is no set".to_owned();
    }
    match why.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", why.get(..at).unwrap_or_default()),
        None => why,
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        struct Items<'a>(&'a [(String, State)]);
        impl Serialize for Items<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(Some(self.0.len()))?;
                for (item, state) in self.0 {
                    map.serialize_entry(item, state)?;
                }
                map.end()
            }
        }
        let mut map = to.serialize_map(Some(self.sections.len()))?;
        for (scope, items) in &self.sections {
            map.serialize_entry(&scope.to_string(), &Items(items))?;
        }
        map.end()
    }
}

fn scope_of(name: &str) -> Option<Scope> {
    let Some((dotdir, section)) = name.rsplit_once('/') else {
        return Some(Scope { section: Section::of(name)?, dotdir: None });
    };
    let fits = dotdir.starts_with('.') && !matches!(dotdir, "." | "..") && !dotdir.chars().any(|c| c == '/' || shown::hidden(c));
    if fits { Some(Scope { section: Section::of(section)?, dotdir: Some(dotdir.to_owned()) }) } else { None }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Sections;
        impl<'de> Visitor<'de> for Sections {
            type Value = Set;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a set: `section: {item: on|off}`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Set, A::Error> {
                let mut set = Set::default();
                let fresh = |known: &Vec<(Scope, Vec<(String, State)>)>, name: &str| {
                    let scope =
                        scope_of(name).ok_or_else(|| format!("`{}` is no section (skills, rules, agents, hooks)", shown::text(name)))?;
                    if known.iter().any(|(one, _)| *one == scope) { Err(format!("`{scope}` is there twice")) } else { Ok(scope) }
                };
                while let Some(scope) = map.next_key_seed(Key(|name: &str| fresh(&set.sections, name)))? {
                    let Items(items) = map.next_value()?;
                    set.sections.push((scope, items));
                }
                Ok(set)
            }
        }
        from.deserialize_map(Sections)
    }
}

/// A key that is checked where it stands, so that an error names its line.
struct Key<F>(F);

impl<'de, T, F: FnMut(&str) -> Result<T, String>> DeserializeSeed<'de> for Key<F> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_str(self)
    }
}

impl<T, F: FnMut(&str) -> Result<T, String>> Visitor<'_> for Key<F> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E: de::Error>(mut self, name: &str) -> Result<T, E> {
        (self.0)(name).map_err(E::custom)
    }
}

struct Items(Vec<(String, State)>);

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Items;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("items: `item: on|off`")
            }
            // All lines of a section commented out.
            fn visit_unit<E: de::Error>(self) -> Result<Items, E> {
                Ok(Items(Vec::new()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Items, A::Error> {
                let mut items: Vec<(String, State)> = Vec::new();
                let mut seen = std::collections::BTreeSet::new();
                let mut fresh = |item: &str| {
                    if seen.insert(item.to_owned()) { Ok(item.to_owned()) } else { Err(format!("`{}` is there twice", shown::text(item))) }
                };
                while let Some(item) = map.next_key_seed(Key(&mut fresh))? {
                    let Word(state) = map.next_value()?;
                    items.push((item, state));
                }
                Ok(Items(items))
            }
        }
        from.deserialize_any(Entries)
    }
}

struct Word(State);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OnOff;
        impl Visitor<'_> for OnOff {
            type Value = Word;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`on` or `off`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Word, E> {
                Ok(Word(if on { State::On } else { State::Off }))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Word, E> {
                match word {
                    "on" | "true" => Ok(Word(State::On)),
                    "off" | "false" => Ok(Word(State::Off)),
                    other => Err(de::Error::custom(format_args!("`{}` is neither `on` nor `off`", shown::text(other)))),
                }
            }
        }
        from.deserialize_any(OnOff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(text: &str, json: bool) -> Vec<(String, State)> {
        Set::parse(text, json).unwrap().entries().map(|(scope, item, state)| (format!("{scope}/{item}"), state)).collect()
    }

    #[test]
    fn on_and_off_in_every_spelling() {
        for (on, off) in [("on", "off"), ("true", "false"), ("\"on\"", "\"off\""), ("'true'", "'false'"), ("\"true\"", "\"false\"")] {
            let text = format!(
                "skills:\n  k: {on}\n  no: {off}\n  yes: {on}\n  on: {off}\n  true: {off}\n  ~: {on}\n  12: {on}\nrules: {{a.md: {off}}}\n"
            );
            let got = states(&text, false);
            let names: Vec<&str> = got.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(
                names,
                ["skills/k", "skills/no", "skills/yes", "skills/on", "skills/true", "skills/~", "skills/12", "rules/a.md"],
                "{text}"
            );
            let states: Vec<State> = got.iter().map(|(_, state)| *state).collect();
            use State::{Off, On};
            assert_eq!(states, [On, Off, On, Off, Off, On, On, Off], "{text}");
        }
        for (on, off) in [("\"on\"", "\"off\""), ("true", "false"), ("\"true\"", "\"false\"")] {
            let got = states(&format!("{{\"skills\": {{\"no\": {off}, \"k\": {on}}}}}"), true);
            assert_eq!(got, [("skills/no".into(), State::Off), ("skills/k".into(), State::On)]);
        }
        // JSON is YAML, too.
        assert_eq!(states("{\"rules\": {\"a\": false}}", false), [("rules/a".into(), State::Off)]);
        assert_eq!(states("\u{feff}rules:\n", false), []);
        assert_eq!(states("# nothing yet\n", false), []);
        assert_eq!(states(".claude/rules: {a: off}", false), [(".claude/rules/a".into(), State::Off)]);
    }

    #[test]
    fn anything_else_refuses_the_whole_set_and_says_where() {
        for (text, line, word) in [
            ("skills:\n  a: on\n  k: yes\n", Some(3), "neither"),
            ("skills:\n  k: no\n", Some(2), "neither"),
            ("skills:\n  k: On\n", Some(2), "neither"),
            ("skills:\n  k: 1\n", Some(2), "on"),
            ("skills:\n  k:\n", Some(2), "on"),
            ("skills:\n  k: [on]\n", Some(2), "on"),
            ("rules: {}\nskils:\n  k: on\n", Some(2), "no section"),
            ("skills: [k]\n", Some(1), "items"),
            ("skills:\n  k: on\n  k: off\n", Some(3), "twice"),
            ("skills: {k: on}\nskills: {m: on}\n", Some(2), "twice"),
            ("../rules: {a: on}", Some(1), "no section"),
            ("- k\n", Some(1), "set"),
            ("skills: {k: on", None, ""),
            ("a: &a [*a, *a]", None, ""),
        ] {
            let (at, why) = Set::parse(text, false).unwrap_err();
            assert!(line.is_none() || at == line, "{text}: line {at:?}: {why}");
            assert!(why.contains(word), "{text}: {why}");
        }
        for (text, line) in [
            ("{\"skills\":\n{\"k\": 1}}", 2),
            ("{\"skills\": {\"k\":\n\"x\"}}", 2),
            ("{\"skills\": {\"k\": true, \"k\": true}}", 1),
            ("{}\nx", 2),
        ] {
            assert_eq!(Set::parse(text, true).unwrap_err().0, Some(line), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut set = Set::default();
        let skills = Scope { section: Section::Skills, dotdir: None };
        for name in [
            "k",
            "no",
            "true",
            "~",
            "1",
            "a b",
            "é: x",
            "#",
            "",
            "-",
            "a\"b",
            "x.md",
            ".x",
            "..",
            "./x",
            "a\u{2028}b",
            "a\rb",
            "\u{85}",
            "\u{7f}",
            "\u{ffff}",
        ] {
            set.push(skills.clone(), name.to_owned(), State::Off);
        }
        // Beyond what YAML takes for a key that nothing marks as one.
        for long in ["a".repeat(999), "b".repeat(1001), "c d".repeat(1400), "é".repeat(600), "\u{7f}".repeat(1100)] {
            set.push(skills.clone(), long, State::On);
        }
        for dotdir in [".a: b".to_owned(), ".#x".to_owned(), ".\"".to_owned(), ".d".repeat(900)] {
            set.push(Scope { section: Section::Rules, dotdir: Some(dotdir) }, "x".into(), State::On);
        }
        set.push(Scope { section: Section::Rules, dotdir: Some(".claude".into()) }, "t/a.md".into(), State::On);
        assert_eq!(Set::parse(&set.to_yaml(), false).unwrap(), set, "{}", set.to_yaml());
        assert_eq!(Set::parse(&serde_json::to_string(&set).unwrap(), true).unwrap(), set);
        assert_eq!(Set::parse(&Set::default().to_yaml(), false).unwrap(), Set::default());
    }
}
