//! The rename algebra: which renames a set needs, given what is there. Pure.

use std::path::{Path, PathBuf};

use super::set::{Scope, Set};
use super::{Conflict, ConflictKind, Item, Section, State};
use crate::sys::shown;

/// One rename that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// `section/item`.
    pub label: String,
    /// Its section.
    pub section: Section,
    /// What it becomes.
    pub state: State,
    /// From.
    pub from: PathBuf,
    /// To.
    pub to: PathBuf,
    /// Whether it is the link of a linked folder.
    pub linked_folder: bool,
}

/// Why an item was not switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnly {
    /// It lies in a dotdir of a harness, and nobody allowed that.
    Vendor,
    /// It lies outside the dotdirs of the level, behind a folder that is a link.
    Outside,
}

/// What follows from a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Exactly the renames that are needed, in the order of the set.
    pub renames: Vec<Rename>,
    /// The set that takes them back.
    pub undo: Set,
    /// `section/item` of entries that name nothing here; they stay in the set: sets travel.
    pub unknown: Vec<String>,
    /// `dotdir/section/item` of what was not done because it may not be written.
    pub read_only: Vec<(String, ReadOnly)>,
    /// `section/item` of what was as wanted before, with its state.
    pub already: Vec<(String, State)>,
    /// `dotdir/section/item` of what is on and has an inactive copy beside it.
    pub both: Vec<String>,
    /// `section/item` of what an earlier set said and a later one overruled.
    pub overruled: Vec<String>,
    /// What makes it impossible; then nothing is to be done.
    pub conflicts: Vec<Conflict>,
}

impl Decision {
    /// Whether hooks are switched.
    #[must_use]
    pub fn has_hooks(&self) -> bool {
        self.renames.iter().any(|rename| rename.section == Section::Hooks)
    }
}

/// What an entry of a set names.
enum Named<'a> {
    /// The item, in one or several dotdirs.
    Items(Vec<&'a Item>),
    /// Nothing here.
    Nothing,
    /// A stem of several.
    Several(Vec<String>),
}

fn is(name: &Path, word: &str) -> bool {
    // Compared as bytes: names are exact, also where the disk is not.
    name.as_os_str() == word
}

fn stem_is(item: &Item, word: &str) -> bool {
    item.section != Section::Skills && item.name.extension().is_some() && item.name.with_extension("").as_os_str() == word
}

fn named<'a>(items: &'a [Item], scope: &Scope, word: &str) -> Named<'a> {
    let here =
        || items.iter().filter(|item| item.section == scope.section && scope.dotdir.as_ref().is_none_or(|dotdir| *dotdir == item.dotdir));
    let exact: Vec<&Item> = here().filter(|item| is(&item.name, word)).collect();
    if !exact.is_empty() {
        return Named::Items(exact);
    }
    let by_stem: Vec<&Item> = here().filter(|item| stem_is(item, word)).collect();
    let mut names: Vec<String> = by_stem.iter().map(|item| shown::path(&item.name).to_string()).collect();
    names.sort();
    names.dedup();
    match names.len() {
        0 => Named::Nothing,
        1 => Named::Items(by_stem),
        _ => Named::Several(names),
    }
}

/// What a set, or several in a row, wants of each item.
struct Wanted<'a> {
    item: &'a Item,
    state: State,
    /// The entry as it was written.
    word: String,
    /// Which of the sets said so.
    set: usize,
}

/// Works out what sets, applied one after the other, come to. `vendor` allows writing in the dotdirs
/// of harnesses.
#[must_use]
pub fn decide(items: &[Item], sets: &[&Set], vendor: bool) -> Decision {
    let mut decision = Decision::default();
    let mut wanted: Vec<Wanted<'_>> = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        for (scope, word, state) in set.entries() {
            let conflict = |why| Conflict { section: scope.section, name: word.to_owned(), why };
            match named(items, scope, word) {
                Named::Nothing => {
                    let label = format!("{scope}/{}", shown::text(word));
                    if !decision.unknown.contains(&label) {
                        decision.unknown.push(label);
                    }
                }
                Named::Several(names) => decision.conflicts.push(conflict(ConflictKind::Ambiguous(names))),
                Named::Items(hits) => {
                    for item in hits {
                        let fresh = Wanted { item, state, word: word.to_owned(), set: index };
                        match wanted.iter_mut().find(|one| std::ptr::eq(one.item, item)) {
                            None => wanted.push(fresh),
                            Some(before) if before.state == state => {}
                            Some(before) if before.set == index => decision.conflicts.push(conflict(ConflictKind::Contradiction)),
                            Some(before) => {
                                decision.overruled.push(item.label());
                                *before = fresh;
                            }
                        }
                    }
                }
            }
        }
    }
    let mut switched: Vec<&Item> = Vec::new();
    for Wanted { item, state, word, .. } in &wanted {
        if item.state() == *state {
            decision.already.push((item.label(), *state));
            if item.is_both() {
                decision.both.push(item.full_label());
            }
        } else if item.vendor && !vendor {
            decision.read_only.push((item.full_label(), ReadOnly::Vendor));
        } else if item.outside {
            decision.read_only.push((item.full_label(), ReadOnly::Outside));
        } else {
            let (from, to) = match state {
                State::On => (&item.inactive, &item.active),
                State::Off => (&item.active, &item.inactive),
            };
            if item.is_both() || item.barred {
                let why = ConflictKind::TargetExists(to.clone());
                decision.conflicts.push(Conflict { section: item.section, name: word.clone(), why });
            } else {
                switched.push(item);
                decision.renames.push(Rename {
                    label: item.label(),
                    section: item.section,
                    state: *state,
                    from: from.clone(),
                    to: to.clone(),
                    linked_folder: item.linked_folder,
                });
            }
        }
    }
    decision.undo = undo(items, &switched, vendor);
    decision
}

/// The set that puts the switched items back, and touches no other. An item of the same name in
/// another dotdir that was not switched makes it name the dotdir.
fn undo(items: &[Item], switched: &[&Item], vendor: bool) -> Set {
    let mut set = Set::default();
    for item in switched {
        // Only what a set can name was switched by one.
        let Some(name) = item.name.to_str() else { continue };
        let others = items.iter().any(|other| {
            other.section == item.section
                && other.name == item.name
                && !other.outside
                && (vendor || !other.vendor)
                && !switched.iter().any(|one| std::ptr::eq(*one, other))
        });
        let scope = Scope { section: item.section, dotdir: others.then(|| item.dotdir.clone()) };
        let known = set.sections.iter().any(|(one, items)| *one == scope && items.iter().any(|(one, _)| one == name));
        if !known {
            set.push(scope, name.to_owned(), item.state());
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(dotdir: &str, section: Section, name: &str, on: bool, off: bool) -> Item {
        let active = Path::new("/r").join(dotdir).join(section.name()).join(name);
        Item {
            section,
            name: name.into(),
            dotdir: dotdir.to_owned(),
            inactive: super::super::with_ending(&active),
            active,
            is_on: on,
            is_off: off,
            barred: false,
            vendor: dotdir == ".claude",
            outside: false,
            linked_folder: false,
        }
    }

    fn set(text: &str) -> Set {
        Set::parse(text, false).unwrap()
    }

    #[test]
    fn an_exact_name_wins_over_a_stem_and_a_stem_must_be_one() {
        let items = [
            item(".loci", Section::Hooks, "pre", true, false),
            item(".loci", Section::Hooks, "pre.sh", true, false),
            item(".loci", Section::Rules, "team/a.md", true, false),
            item(".loci", Section::Rules, "x.md", true, false),
            item(".loci-clock", Section::Rules, "x.txt", true, false),
        ];
        let one = decide(&items, &[&set("hooks: {pre: off}\nrules: {team/a: off}")], false);
        assert_eq!(one.renames.iter().map(|rename| rename.label.as_str()).collect::<Vec<_>>(), ["hooks/pre", "rules/team/a.md"]);
        // A stem never reaches into folders: a set that travels must not hit another item.
        assert_eq!(decide(&items, &[&set("rules: {a: off}")], false).unknown, ["rules/a"]);
        let two = decide(&items, &[&set("rules: {x: off}")], false);
        assert_eq!(two.conflicts.len(), 1);
        assert!(decide(&items, &[&set("rules: {x: off, x.md: off}")], false).conflicts.len() == 1);
    }

    #[test]
    fn both_present_is_on_and_cannot_go_off() {
        let items = [item(".loci", Section::Rules, "a.md", true, true)];
        let on = decide(&items, &[&set("rules: {a: on}")], false);
        assert_eq!((on.renames.len(), on.conflicts.len(), on.both.as_slice()), (0, 0, &[".loci/rules/a.md".to_owned()][..]));
        let off = decide(&items, &[&set("rules: {a: off}")], false);
        assert!(matches!(off.conflicts[0].why, ConflictKind::TargetExists(_)));
    }

    #[test]
    fn of_several_sets_the_later_wins_but_one_must_not_contradict_itself() {
        let items = [item(".loci", Section::Rules, "a.md", true, false)];
        let later = decide(&items, &[&set("rules: {a: off}"), &set("rules: {a.md: on}")], false);
        assert_eq!((later.renames.len(), later.overruled.as_slice()), (0, &["rules/a.md".to_owned()][..]));
        let torn = decide(&items, &[&set("rules: {a: off, a.md: on}")], false);
        assert_eq!(torn.conflicts[0].why, ConflictKind::Contradiction);
    }

    #[test]
    fn the_undo_set_touches_nothing_else() {
        let items = [item(".claude", Section::Rules, "a.md", true, false), item(".loci", Section::Rules, "a.md", false, true)];
        let decision = decide(&items, &[&set("rules: {a.md: off}")], true);
        assert_eq!(decision.undo, set(".claude/rules: {a.md: on}"));
        // Without the permission, the harness's own is left and named.
        let decision = decide(&items, &[&set("rules: {a.md: off}")], false);
        assert_eq!(decision.read_only, [(".claude/rules/a.md".to_owned(), ReadOnly::Vendor)]);
        let decision = decide(&items, &[&set("rules: {a.md: on}")], false);
        assert_eq!(decision.undo, set("rules: {a.md: off}"));
    }
}
