//! What a configuration says about us: pure decisions over its text.

use serde_json::Value;

use super::splice::{self, Made, Unfit};
use crate::hooks::harness::Call;

/// A list of hooks in a harness's configuration, and what is to stand in it.
#[derive(Debug, Clone)]
pub(super) struct List<'a> {
    /// The harness, as the gate is called with.
    pub(super) harness: &'a str,
    /// The event, which is the list's key.
    pub(super) event: &'a str,
    /// Our elements.
    pub(super) groups: Vec<Value>,
}

impl List<'_> {
    /// Whether the configuration holds our elements, just as they should be.
    pub(super) fn stands_in(&self, text: &str) -> Result<bool, Unfit> {
        let found: Vec<Value> = splice::elements(text, self.event)?.into_iter().filter(|group| self.ours(group) > 0).collect();
        Ok(found == self.groups)
    }

    /// Whether the configuration calls the gate at all.
    pub(super) fn called_in(&self, text: &str) -> Result<bool, Unfit> {
        Ok(splice::elements(text, self.event)?.iter().any(|group| self.ours(group) > 0))
    }

    /// The configuration with our elements put in.
    pub(super) fn put_into(&self, text: &str) -> Result<String, Unfit> {
        splice::insert(text, self.event, &self.groups)
    }

    /// The configuration without any call of the gate. A group that holds others' hooks as well loses
    /// ours alone.
    pub(super) fn taken_from(&self, text: &str, made: Made) -> Result<String, Unfit> {
        let groups = splice::elements(text, self.event)?;
        let mut text = text.to_owned();
        for (at, group) in groups.iter().enumerate() {
            let hooks = hooks(group);
            if self.ours(group) > 0 && self.ours(group) < hooks.len() {
                let positions: Vec<usize> =
                    (0..hooks.len()).filter(|hook| hooks.get(*hook).is_some_and(|hook| self.is_call(hook))).collect();
                text = splice::remove_inside(&text, self.event, at, &positions)?;
            }
        }
        let whole: Vec<usize> = groups
            .iter()
            .enumerate()
            .filter(|(_, group)| self.ours(group) > 0 && self.ours(group) == hooks(group).len())
            .map(|(at, _)| at)
            .collect();
        if whole.is_empty() { Ok(text) } else { splice::remove(&text, self.event, &whole, made) }
    }

    /// The first command of ours, for trying it.
    pub(super) fn command(&self, text: &str) -> Result<Option<String>, Unfit> {
        let groups = splice::elements(text, self.event)?;
        let mut hooks = groups.iter().flat_map(hooks).filter(|hook| self.is_call(hook));
        Ok(hooks.find_map(|hook| hook.get("command")?.as_str().map(str::to_owned)))
    }

    fn ours(&self, group: &Value) -> usize {
        hooks(group).iter().filter(|hook| self.is_call(hook)).count()
    }

    fn is_call(&self, hook: &Value) -> bool {
        let Some(command) = hook.get("command").and_then(Value::as_str) else { return false };
        ["gate", "hook after-tool"].iter().any(|verb| {
            command.split_once(&format!("{verb} --for {}", self.harness)).is_some_and(|(program, rest)| {
                let program = program.trim_end().trim_end_matches(['"', '\'']);
                program.ends_with("/loci") && !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-' || next == '_')
            })
        })
    }
}

/// What is to stand in a harness's configuration: the list of the gate's event first, then those after
/// a tool call.
pub(super) fn lists<'a>(
    harness: &'a str,
    call: &Call,
    (event, groups): (&'static str, fn(&Call) -> Vec<Value>),
    (after, after_group): (&'static [&'static str], fn(&Call) -> Value),
) -> Vec<List<'a>> {
    let mut lists = vec![List { harness, event, groups: groups(call) }];
    lists.extend(after.iter().map(|event| List { harness, event, groups: vec![after_group(call)] }));
    lists
}

/// Whether the configuration holds all of them, just as they should be.
pub(super) fn stand_in(lists: &[List<'_>], text: &str) -> Result<bool, Unfit> {
    lists.iter().try_fold(true, |all, list| Ok(list.stands_in(text)? && all))
}

/// Whether the configuration holds any call of ours.
pub(super) fn called_in(lists: &[List<'_>], text: &str) -> Result<bool, Unfit> {
    lists.iter().try_fold(false, |any, list| Ok(list.called_in(text)? || any))
}

/// The configuration with all of them put in.
pub(super) fn put_into(lists: &[List<'_>], text: &str) -> Result<String, Unfit> {
    lists.iter().try_fold(text.to_owned(), |text, list| list.put_into(&text))
}

/// What has to be made for each of them.
pub(super) fn missing(lists: &[List<'_>], text: &str) -> Result<Vec<Made>, Unfit> {
    lists.iter().map(|list| splice::missing(text, list.event)).collect()
}

/// The configuration without any of them, the last one taken out first: what was made along goes with
/// the last that stands in it.
pub(super) fn taken_from(lists: &[List<'_>], text: &str, made: &dyn Fn(usize) -> Made) -> Result<String, Unfit> {
    lists.iter().enumerate().rev().try_fold(text.to_owned(), |text, (at, list)| list.taken_from(&text, made(at)))
}

fn hooks(group: &Value) -> &[Value] {
    group.get("hooks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> List<'static> {
        let groups = vec![json!({ "hooks": [{ "type": "command", "command": "/h/.loci/bin/loci gate --for claude" }] })];
        List { harness: "claude", event: "Pre", groups }
    }

    #[test]
    fn ours_is_told_from_everything_that_looks_like_it() {
        let call = |command: &str| list().is_call(&json!({ "command": command }));
        for command in [
            "/h/.loci/bin/loci gate --for claude",
            "'/h/a b/.loci/bin/loci' gate --for claude",
            "[ -x \"$H/.loci/bin/loci\" ] || exit 0; exec \"$H/.loci/bin/loci\" gate --for claude",
            "[ -x /h/loci ] || exit 0; exec /h/loci hook after-tool --for claude",
        ] {
            assert!(call(command), "{command}");
        }
        for command in [
            "/h/.loci/bin/loci gate --for claude-next",
            "echo gate --for claude",
            "/x/notloci gate --for claude",
            "/h/loci hook --for claude",
        ] {
            assert!(!call(command), "{command}");
        }
    }

    #[test]
    fn a_group_shared_with_others_loses_ours_alone() {
        let text = r#"{"hooks":{"Pre":[{"matcher":"*","hooks":[{"command":"mine"},{"command":"/h/.loci/bin/loci gate --for claude"}]}]}}"#;
        let without = list().taken_from(text, Made::Whole).unwrap();
        assert_eq!(without, r#"{"hooks":{"Pre":[{"matcher":"*","hooks":[{"command":"mine"}]}]}}"#);
        assert!(list().called_in(text).unwrap() && !list().called_in(&without).unwrap());
    }

    #[test]
    fn an_older_relay_is_not_what_should_stand_there() {
        let older = r#"{"hooks":{"Pre":[{"hooks":[{"type":"command","command":"/old/loci gate --for claude"}]}]}}"#;
        assert!(list().called_in(older).unwrap() && !list().stands_in(older).unwrap());
        let newer = list().put_into(&list().taken_from(older, Made::Whole).unwrap()).unwrap();
        assert!(list().stands_in(&newer).unwrap());
        assert_eq!(list().command(&newer).unwrap().as_deref(), Some("/h/.loci/bin/loci gate --for claude"));
    }
}
