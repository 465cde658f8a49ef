//! Variables get their values: assignments as they stand in a command, and what the shell itself sets.

use super::engine::{Engine, UNK};
use super::expand::bounded;
use super::state::{Shell, Value, Var};
use super::words;
use std::collections::BTreeMap;

impl Engine<'_> {
    /// Carries out `name=value`, `name+=value`, `name[i]=value`, `name=(…)`.
    pub(crate) fn assignment(&mut self, sh: &mut Shell, raw: &str, export: bool, ready: bool) {
        let Some(eq) = find_eq(raw) else { return };
        let (left, right) = (&raw[..eq], &raw[eq + 1..]);
        let (left, append) = left.strip_suffix('+').map_or((left, false), |l| (l, true));
        let (name, index) = match left.split_once('[') {
            Some((n, i)) => (n, Some(i.trim_end_matches(']').to_owned())),
            None => (left, None),
        };
        if let Some(inner) = right.strip_prefix('(').filter(|_| !ready || right.ends_with(')')).and_then(|r| r.strip_suffix(')')) {
            self.array(sh, name, inner, append);
        } else {
            let value = if ready {
                right.to_owned()
            } else {
                let w = words::word(right);
                self.one(sh, &w)
            };
            match index {
                Some(i) => self.assign_at(sh, name, &i, value, append),
                None if append => {
                    if matches!(sh.vars.get(name).map(|v| &v.value), Some(Value::List(_))) {
                        self.assign_at(sh, name, "0", value, true);
                    } else if sh.vars.get(name).is_some_and(|v| v.shape == 'i') {
                        let n = self.number(sh, &format!("{name}+({value})"));
                        self.assign(sh, name, n.map_or_else(|| UNK.to_string(), |n| n.to_string()));
                    } else {
                        let old = self.var(sh, name).unwrap_or_default();
                        self.assign(sh, name, old + &value);
                    }
                }
                None if sh.vars.get(name).is_some_and(|v| v.shape == 'i') => {
                    let n = self.number(sh, &value);
                    self.assign(sh, name, n.map_or_else(|| UNK.to_string(), |n| n.to_string()));
                }
                None => self.assign(sh, name, value),
            }
        }
        if export && let Some(v) = sh.vars.get_mut(name) {
            v.exported = true;
        }
    }

    fn array(&mut self, sh: &mut Shell, name: &str, inner: &str, append: bool) {
        let is_map = matches!(sh.vars.get(name).map(|v| &v.value), Some(Value::Map(_)));
        if !append {
            let value = if is_map { Value::Map(Vec::new()) } else { Value::List(BTreeMap::new()) };
            sh.vars.insert(name.to_owned(), Var { value, exported: false, shape: ' ' });
        }
        // the words in the parentheses are those of a command
        let parsed = self.parsed(&format!(": {}", inner.replace('\n', " ")));
        let Ok(super::syntax::Cmd::Simple { words: list, .. }) = &*parsed else {
            self.assign_at(sh, name, "0", UNK.to_string(), false);
            return;
        };
        for w in &list[1..] {
            if w.raw.starts_with('[')
                && let Some(end) = w.raw.find("]=")
            {
                let value = words::word(&w.raw[end + 2..]);
                let v = self.one(sh, &value);
                let index = w.raw[1..end].to_owned();
                self.assign_at(sh, name, &index, v, false);
                continue;
            }
            let all = self.fields(sh, std::slice::from_ref(w));
            for v in all {
                let next = match sh.vars.get(name).map(|v| &v.value) {
                    Some(Value::List(l)) => l.keys().next_back().map_or(0, |k| k + 1),
                    _ => 0,
                };
                self.assign_at(sh, name, &next.to_string(), v, false);
            }
        }
    }

    /// Sets a variable.
    pub(crate) fn assign(&mut self, sh: &mut Shell, name: &str, text: String) {
        super::fuel::did(text.len() * 6);
        let text = bounded(text);
        let mut target = name.to_owned();
        if let Some(Value::Ref(r)) = sh.vars.get(name).map(|v| &v.value) {
            target = r.clone();
        }
        let all = sh.opts.allexport;
        let was_env = !sh.no_env && self.input.env.contains_key(&target);
        let v = sh.vars.entry(target).or_insert_with(|| Var { value: Value::Unset, exported: was_env, shape: ' ' });
        v.exported |= all;
        let text = match v.shape {
            'u' => text.to_uppercase(),
            'l' => text.to_lowercase(),
            _ => text,
        };
        match &mut v.value {
            Value::List(l) => {
                l.insert(0, text);
            }
            other => *other = Value::Text(text),
        }
    }

    /// Sets or extends one element.
    pub(crate) fn assign_at(&mut self, sh: &mut Shell, name: &str, index: &str, text: String, append: bool) {
        let text = bounded(text);
        let is_map = matches!(sh.vars.get(name).map(|v| &v.value), Some(Value::Map(_)));
        if is_map {
            let key = self.key(sh, index);
            if let Some(Value::Map(m)) = sh.vars.get_mut(name).map(|v| &mut v.value) {
                match m.iter_mut().find(|(k, _)| *k == key) {
                    Some((_, v)) if append => v.push_str(&text),
                    Some((_, v)) => *v = text,
                    None => m.push((key, text)),
                }
            }
            return;
        }
        let at = self.number(sh, index);
        let old = self.var(sh, name);
        let v = sh.vars.entry(name.to_owned()).or_insert_with(|| Var { value: Value::Unset, exported: false, shape: ' ' });
        if !matches!(v.value, Value::List(_)) {
            v.value = Value::List(old.map(|o| (0, o)).into_iter().collect());
        }
        if let Value::List(l) = &mut v.value {
            let next = l.keys().next_back().map_or(0, |k| k + 1);
            let at = match at {
                Some(n) if n < 0 => next + n,
                Some(n) => n,
                None => next,
            };
            let slot = l.entry(at).or_default();
            if append {
                slot.push_str(&text);
            } else {
                *slot = text;
            }
        }
    }

    /// Sets an indexed array.
    pub(crate) fn set_list(&mut self, sh: &mut Shell, name: &str, items: Vec<String>) {
        let list: BTreeMap<i64, String> = (0i64..).zip(items).collect();
        sh.vars.insert(name.to_owned(), Var { value: Value::List(list), exported: false, shape: ' ' });
    }
}

/// The `=` of an assignment, outside of the index.
fn find_eq(raw: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in raw.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// Whether a word as written is an assignment.
pub(crate) fn is_assignment(raw: &str) -> bool {
    let Some(eq) = find_eq(raw) else { return false };
    let name = raw[..eq].trim_end_matches('+');
    let name = name.split('[').next().unwrap_or("");
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
