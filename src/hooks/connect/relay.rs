//! What a configuration says about us: pure decisions over its text.

use serde_json::Value;

use super::splice::{self, Known, Made, Unfit};
use super::yaml;
use crate::hooks::event::{Point, Seam};
use crate::hooks::harness::{Adapter, Call, Relay, Whose, whose};

/// A list of hooks in a harness's configuration, and what is to stand in it.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// The harness, as the gate is called with.
    pub(super) harness: &'static str,
    /// The event, which is the list's key.
    pub(super) event: &'static str,
    /// Our elements.
    pub(super) groups: Vec<Value>,
    /// Whether the configuration is YAML, whose elements are hooks themselves.
    pub(super) yaml: bool,
}

impl List {
    pub(super) fn elements(&self, text: &str) -> Result<Vec<Value>, Unfit> {
        if self.yaml { yaml::elements(text, self.event) } else { splice::elements(text, self.event) }
    }

    /// Whether the configuration holds our elements, just as they should be.
    pub(super) fn stands_in(&self, text: &str) -> Result<bool, Unfit> {
        let found: Vec<Value> = self.elements(text)?.into_iter().filter(|group| self.ours(group) > 0).collect();
        Ok(found == self.groups)
    }

    /// Whether the configuration calls us at all.
    pub(super) fn called_in(&self, text: &str) -> Result<bool, Unfit> {
        Ok(self.elements(text)?.iter().any(|group| self.ours(group) > 0))
    }

    /// The configuration with our elements put in.
    fn put_into(&self, text: &str) -> Result<String, Unfit> {
        if self.groups.is_empty() {
            return Ok(text.to_owned());
        }
        if self.yaml { yaml::insert(text, self.event, &self.groups) } else { splice::insert(text, self.event, &self.groups) }
    }

    /// The configuration without any call of ours. A group that holds others' hooks as well loses
    /// ours alone.
    pub(super) fn taken_from(&self, text: &str, made: Made) -> Result<String, Unfit> {
        let groups = self.elements(text)?;
        let mut text = text.to_owned();
        for (at, group) in groups.iter().enumerate().filter(|_| !self.yaml) {
            let hooks = hooks(group);
            if self.ours(group) > 0 && self.ours(group) < hooks.len() {
                let positions: Vec<usize> =
                    (0..hooks.len()).filter(|hook| hooks.get(*hook).is_some_and(|hook| self.whose(hook) == Whose::Ours)).collect();
                text = splice::remove_inside(&text, self.event, at, &positions)?;
            }
        }
        let whole: Vec<usize> = groups
            .iter()
            .enumerate()
            .filter(|(_, group)| self.ours(group) > 0 && self.ours(group) == hooks(group).len())
            .map(|(at, _)| at)
            .collect();
        match (whole.is_empty(), self.yaml) {
            (true, _) => Ok(text),
            (false, true) => yaml::remove(&text, self.event, &whole, made),
            (false, false) => splice::remove(&text, self.event, &whole, made),
        }
    }

    /// The first command of ours, for trying it.
    pub(super) fn command(&self, text: &str) -> Result<Option<String>, Unfit> {
        let groups = self.elements(text)?;
        let mut hooks = groups.iter().flat_map(hooks).filter(|hook| self.whose(hook) == Whose::Ours);
        Ok(hooks.find_map(|hook| hook.get("command")?.as_str().map(str::to_owned)))
    }

    fn ours(&self, group: &Value) -> usize {
        hooks(group).iter().filter(|hook| self.whose(hook) == Whose::Ours).count()
    }

    fn whose(&self, hook: &Value) -> Whose {
        hook.get("command").and_then(Value::as_str).map_or(Whose::Nobodys, |command| whose(command, self.harness))
    }
}

/// The lists of a harness, that of the gate first; those that are to stay as they are have no element.
pub(super) fn all(adapter: &Adapter, call: &Call) -> Vec<List> {
    type Make = fn(&Call, &Point) -> Vec<Value>;
    let (make, yaml): (Make, bool) = match adapter.wiring.relay {
        Relay::Groups { groups, .. } => (groups, false),
        Relay::Yaml(items) => (items, true),
        Relay::Files(_) => return Vec::new(),
    };
    let mut points: Vec<&Point> = adapter.points.iter().collect();
    points.sort_by_key(|point| point.seam != Seam::BeforeTool);
    let list = |event, groups| List { harness: adapter.name, event, groups, yaml };
    let mut lists: Vec<List> = Vec::new();
    for point in points {
        let groups = if call.at(point.seam) { make(call, point) } else { Vec::new() };
        lists.push(list(point.native, groups));
    }
    if let Relay::Groups { more, .. } = adapter.wiring.relay {
        lists.extend(more.iter().map(|(event, make)| list(event, make(call))));
    }
    lists
}

/// What is to stand in a harness's configuration.
pub(super) fn lists(adapter: &Adapter, call: &Call) -> Vec<List> {
    all(adapter, call).into_iter().filter(|list| !list.groups.is_empty()).collect()
}

/// Every list that could hold a call of ours.
pub(super) fn every(adapter: &Adapter) -> Vec<List> {
    all(adapter, &Call { program: None, harness: adapter.name, observe: false })
}

/// Whether the configuration holds all of them, just as they should be.
pub(super) fn stand_in(lists: &[List], text: &str) -> Result<bool, Unfit> {
    lists.iter().try_fold(true, |all, list| Ok(list.stands_in(text)? && all))
}

/// Whether the configuration holds any call of ours.
pub(super) fn called_in(lists: &[List], text: &str) -> Result<bool, Unfit> {
    lists.iter().try_fold(false, |any, list| Ok(list.called_in(text)? || any))
}

/// The configuration with all of them put in.
pub(super) fn put_into(lists: &[List], text: &str) -> Result<String, Unfit> {
    lists.iter().try_fold(text.to_owned(), |text, list| list.put_into(&text))
}

/// What has to be made for each of them, by the name of its event.
pub(super) fn missing(lists: &[List], text: &str, whole: bool) -> Result<Vec<(&'static str, Made)>, Unfit> {
    let one = |list: &List| {
        let made = if whole {
            Made::Whole
        } else if list.yaml {
            yaml::missing(text, list.event)?
        } else {
            splice::missing(text, list.event)?
        };
        Ok((list.event, made))
    };
    lists.iter().map(one).collect()
}

/// An entry of ours into which somebody has written something of their own is theirs to take out.
///
/// # Errors
/// The line of what they wrote.
fn without_own_words(lists: &[List], text: &str) -> Result<(), Unfit> {
    let groups = || lists.iter().flat_map(|list| &list.groups);
    let keys = |value: &'_ Value| value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<String>>()).unwrap_or_default();
    let of_groups: Vec<String> = groups().flat_map(keys).collect();
    let of_hooks: Vec<String> = groups().flat_map(hooks).flat_map(keys).collect();
    let known = Known { group: of_groups.iter().map(String::as_str).collect(), hook: of_hooks.iter().map(String::as_str).collect() };
    for list in lists {
        for (at, group) in list.elements(text)?.iter().enumerate().filter(|(_, group)| list.ours(group) > 0) {
            let inside = hooks(group);
            let ours: Vec<usize> =
                (0..inside.len()).filter(|at| inside.get(*at).is_some_and(|hook| list.whose(hook) == Whose::Ours)).collect();
            let only = (ours.len() < inside.len()).then_some(ours.as_slice());
            let found = if list.yaml {
                yaml::own_words(text, list.event, at, &known.hook)?
            } else {
                splice::own_words(text, list.event, at, only, &known)?
            };
            if let Some((line, what)) = found {
                let why = format!(
                    "{what} in the relay at `hooks.{}` is not of loci and would go with it: take it out, or the whole entry",
                    list.event
                );
                return Err(Unfit { line, why });
            }
        }
    }
    Ok(())
}

/// The configuration without any of them, the last one taken out first: what was made along goes with
/// the last that stands in it.
pub(super) fn taken_from(lists: &[List], text: &str, made: &dyn Fn(&str) -> Made) -> Result<String, Unfit> {
    without_own_words(lists, text)?;
    lists.iter().rev().try_fold(text.to_owned(), |text, list| {
        let lost = |left: &str| if list.yaml { yaml::lost_comment(&text, left) } else { splice::lost_comment(&text, left) };
        let left = list.taken_from(&text, made(list.event))?;
        if lost(&left).is_none() {
            return Ok(left);
        }
        // Somebody's words stand where only ours were: what was made along stays for them.
        let left = list.taken_from(&text, Made::Elements)?;
        let why = || format!("a comment in the relay at `hooks.{}` is not of loci and would go with it: write it elsewhere", list.event);
        lost(&left).map_or(Ok(left), |line| Err(Unfit { line, why: why() }))
    })
}

/// Commands in these lists that call a `loci` which is not the one that relays call.
pub(super) fn foreign(lists: &[List], text: &str) -> Result<Vec<String>, Unfit> {
    let mut found = Vec::new();
    for list in lists {
        let groups = list.elements(text)?;
        let others = groups.iter().flat_map(hooks).filter(|hook| list.whose(hook) == Whose::Foreign);
        found.extend(others.filter_map(|hook| hook.get("command")?.as_str().map(str::to_owned)));
    }
    found.dedup();
    Ok(found)
}

/// What is left of a file of hooks in JSON without the commands of ours: the inner `None` where that says
/// nothing more, the outer one where it is no such file, or has none.
pub(super) fn without_hooks(adapter: &Adapter, text: &str) -> Option<Option<String>> {
    let command = |hook: &Value| hook.get("bash").and_then(Value::as_str).map_or(Whose::Nobodys, |command| whose(command, adapter.name));
    let (mut left, mut any) = (text.to_owned(), false);
    for point in adapter.points {
        let hooks = splice::elements(&left, point.native).ok()?;
        let ours: Vec<usize> = (0..hooks.len()).filter(|at| hooks.get(*at).map(command) == Some(Whose::Ours)).collect();
        if !ours.is_empty() {
            any = true;
            left = splice::remove(&left, point.native, &ours, Made::Hooks).ok()?;
        }
    }
    if !any {
        return None;
    }
    let says = ["hooks", "version"].iter().fold(0, |count, key| count + usize::from(splice::top(&left, key).ok().flatten().is_some()));
    let bare: Option<Value> = serde_json::from_str(&left).ok();
    let nothing = bare.is_some_and(|bare| bare.as_object().is_some_and(|fields| fields.len() == says && !fields.contains_key("hooks")));
    Some((!nothing).then_some(left))
}

/// The hooks of a group; in YAML an element is the hook itself.
fn hooks(group: &Value) -> &[Value] {
    match group.get("hooks") {
        Some(hooks) => hooks.as_array().map_or(&[], Vec::as_slice),
        None => std::slice::from_ref(group),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> List {
        let groups = vec![json!({ "hooks": [{ "type": "command", "command": "/h/.loci/bin/loci gate --for claude" }] })];
        List { harness: "claude", event: "Pre", groups, yaml: false }
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
        let older = r#"{"hooks":{"Pre":[{"hooks":[{"type":"command","command":"/old/.loci/bin/loci gate --for claude"}]}]}}"#;
        assert!(list().called_in(older).unwrap() && !list().stands_in(older).unwrap());
        let newer = list().put_into(&list().taken_from(older, Made::Whole).unwrap()).unwrap();
        assert!(list().stands_in(&newer).unwrap());
        assert_eq!(list().command(&newer).unwrap().as_deref(), Some("/h/.loci/bin/loci gate --for claude"));
    }

    #[test]
    fn what_another_program_does_is_left_and_named() {
        let text = r#"{"hooks":{"Pre":[{"hooks":[{"command":"/x/loci gate --for claude"}]}]}}"#;
        assert!(!list().called_in(text).unwrap());
        assert_eq!(foreign(&[list()], text).unwrap(), ["/x/loci gate --for claude"]);
        assert_eq!(list().taken_from(text, Made::Whole).unwrap(), text);
    }

    #[test]
    fn of_a_file_of_hooks_others_commands_stay() {
        let copilot = crate::hooks::harness::named("copilot").unwrap();
        let ours = r#"{"version":1,"hooks":{"preToolUse":[{"bash":"/h/.loci/bin/loci gate --for copilot"}]}}"#;
        assert_eq!(without_hooks(copilot, ours), Some(None));
        let mixed = r#"{"version":1,"hooks":{"preToolUse":[{"bash":"/h/.loci/bin/loci gate --for copilot"},{"bash":"mine"}]}}"#;
        assert_eq!(without_hooks(copilot, mixed).unwrap().as_deref(), Some(r#"{"version":1,"hooks":{"preToolUse":[{"bash":"mine"}]}}"#));
        for other in ["{}", "", "#!/bin/sh", r#"{"hooks":{"preToolUse":[]}}"#] {
            assert_eq!(without_hooks(copilot, other), None, "{other}");
        }
    }
}
