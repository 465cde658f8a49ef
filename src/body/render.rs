//! Rendering: a template and values become nodes. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::language::{Values, render_text, variables_of};
use super::template::{Template, TemplateError, live_name};
use super::{Node, What};
use crate::sys::shown;

/// At most this many variables in a template.
const MAX_VARIABLES: usize = 256;
/// Longest component of a path.
const MAX_NAME: usize = 255;

/// A variable of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value where nobody sets it, from `template.md`.
    pub default: Option<String>,
    /// Whether making a body fails without it.
    pub required: bool,
    /// The files (as stored) that use it.
    pub files: Vec<PathBuf>,
}

/// The text of a file where it is one that gets rendered: UTF-8 without a NUL byte.
fn text_of(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok().filter(|text| !text.contains('\0'))
}

/// Why a component is no name inside the body.
fn bad_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("its name is empty"),
        "." | ".." => Some("its name leads out of the directory"),
        _ if name.contains('/') => Some("its name leads to another directory"),
        _ if name.chars().any(shown::hidden) => Some("its name has a control character in it"),
        _ if name.len() > MAX_NAME => Some("its name is too long"),
        _ => None,
    }
}

fn render_path(template: &Template, rel: &Path, values: &Values) -> Result<PathBuf, TemplateError> {
    let mut out = PathBuf::new();
    for part in rel.components() {
        let Component::Normal(stored) = part else { return Err(template.unfit(rel, None, "its path leads out of the directory")) };
        // What is not UTF-8 has no tags that anybody could have meant.
        let Some(stored) = stored.to_str() else {
            out.push(stored);
            continue;
        };
        let name = render_text(stored, values).map_err(|trouble| template.unfit(rel, None, format!("in its name, {}", trouble.why)))?;
        let name = String::from_utf8(name).unwrap_or_default();
        if let Some(why) = bad_name(&name) {
            return Err(template.unfit(rel, None, format!("{why}: `{}`", shown::text(&name))));
        }
        out.push(live_name(&name));
    }
    Ok(out)
}

/// The text of a link, which must stay inside: `..` only at its front, and no more of them than
/// there are directories above the link. (Behind a name, `..` could go up from wherever that name
/// leads to.)
fn render_link(template: &Template, node: &Node, at: &Path, text: &Path, values: &Values) -> Result<PathBuf, TemplateError> {
    let unfit = |why: &str| template.unfit(&node.rel, None, format!("{why}: it points to `{}`", shown::path(text)));
    let mut out = PathBuf::new();
    let mut room = at.components().count().saturating_sub(1);
    let mut down = false;
    for part in text.components() {
        match part {
            Component::Normal(_) => {
                down = true;
                let name = render_path(template, Path::new(part.as_os_str()), values).map_err(|_| unfit("its text can't be rendered"))?;
                out.push(name);
            }
            Component::ParentDir if !down && room > 0 => {
                room -= 1;
                out.push("..");
            }
            Component::CurDir => {}
            _ => return Err(unfit("the link leads out of the directory")),
        }
    }
    if out.as_os_str().is_empty() {
        return Err(unfit("the link leads nowhere"));
    }
    Ok(out)
}

/// Renders a template: contents, names and the texts of links. Binary files are taken as they are.
///
/// # Errors
/// With file and line, where a value is missing or something leads out of the directory.
pub fn render(template: &Template, values: &Values) -> Result<Vec<Node>, TemplateError> {
    attempt(template, values)?.map_err(|(error, _)| error)
}

type Attempt = Result<Vec<Node>, (TemplateError, bool)>;

/// As [`render`]; the inner error says whether it was a missing value in a file.
fn attempt(template: &Template, values: &Values) -> Result<Attempt, TemplateError> {
    let mut made: BTreeMap<PathBuf, What> = BTreeMap::new();
    for node in &template.nodes {
        let rel = match render_path(template, &node.rel, values) {
            Ok(rel) => rel,
            Err(error) => return Ok(Err((error, true))),
        };
        let what = match &node.what {
            What::Dir => What::Dir,
            What::Link(text) => What::Link(render_link(template, node, &rel, text, values)?),
            What::File { data, mode } => {
                let data = match text_of(data) {
                    None => data.clone(),
                    Some(text) => match render_text(text, values) {
                        Ok(data) => data,
                        Err(trouble) => {
                            return Ok(Err((template.unfit(&node.rel, trouble.line, trouble.why), trouble.missing)));
                        }
                    },
                };
                What::File { data, mode: *mode }
            }
        };
        match made.get(&rel) {
            // Two stored directories may give one.
            Some(What::Dir) if what == What::Dir => {}
            Some(_) => return Err(template.unfit(&node.rel, None, format!("two files of it give `{}`", shown::path(&rel)))),
            None => {
                made.insert(rel, what);
            }
        }
    }
    for rel in made.keys() {
        let parent = rel.parent().filter(|parent| !parent.as_os_str().is_empty());
        if parent.and_then(|parent| made.get(parent)).is_some_and(|what| *what != What::Dir) {
            return Err(template.unfit(rel, None, "something else gives the directory that it lies in"));
        }
    }
    Ok(Ok(made.into_iter().map(|(rel, what)| Node { rel, what }).collect()))
}

/// The variables of a template, found in its files and names, sorted; `given` are the names that
/// loci sets itself, which are left out.
///
/// # Errors
/// With file and line, where a file is not in the language.
pub fn variables(template: &Template, given: &[&str]) -> Result<Vec<Variable>, TemplateError> {
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for node in &template.nodes {
        let mut texts = vec![node.rel.to_string_lossy().into_owned()];
        match &node.what {
            What::File { data, .. } => texts.extend(text_of(data).map(str::to_owned)),
            What::Link(text) => texts.push(text.to_string_lossy().into_owned()),
            What::Dir => {}
        }
        let mut here = BTreeSet::new();
        for text in &texts {
            here.extend(variables_of(text).map_err(|trouble| template.unfit(&node.rel, trouble.line, trouble.why))?);
        }
        for name in here.into_iter().filter(|name| !given.contains(&name.as_str())) {
            files.entry(name).or_default().push(node.rel.clone());
        }
    }
    if let Some((_, files)) = files.iter().nth(MAX_VARIABLES) {
        let rel = files.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
        return Err(template.unfit(rel, None, format!("it has more than {MAX_VARIABLES} variables")));
    }
    let all: Values = files.keys().map(String::as_str).chain(given.iter().copied()).map(|name| (name.to_owned(), "x".to_owned())).collect();
    files
        .into_iter()
        .map(|(name, files)| {
            let default = template.defaults.get(&name).cloned();
            // Whether it is needed is asked of the template itself: render it without.
            let mut without = all.clone();
            without.remove(&name);
            let required = default.is_none() && matches!(attempt(template, &without)?, Err((_, true)));
            Ok(Variable { name, default, required, files })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::template::Origin;
    use super::*;

    fn template(files: &[(&str, &str)]) -> Template {
        let nodes = files.iter().map(|(rel, text)| Node::file(rel, text)).collect();
        Template { name: "t".to_owned(), origin: Origin::Path("/t".into()), description: None, defaults: BTreeMap::new(), nodes }
    }

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn fails(files: &[(&str, &str)], pairs: &[(&str, &str)]) -> String {
        match render(&template(files), &values(pairs)).unwrap_err() {
            TemplateError::Unfit { path, line, why } => format!("{}:{}: {why}", path.display(), line.unwrap_or(0)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unset_value_is_named_with_file_and_line() {
        assert_eq!(fails(&[("f", "a\nb {{ who }}\n{{ other }}")], &[]), "/t/f:2: `who` is not set");
        assert_eq!(fails(&[("f", "{{ a\n")], &[]).split(": ").next(), Some("/t/f:1"));
        assert!(fails(&[("{{ who }}.md", "")], &[]).contains("in its name, `who` is not set"));
    }

    #[test]
    fn names_stay_inside() {
        for (name, value) in
            [("{{ x }}", ".."), ("{{ x }}", "a/b"), ("{{ x }}", "/etc"), ("d/{{ x }}/f", ""), ("{{ x }}", "a\0b"), ("{{ x }}", "a\nb")]
        {
            assert!(fails(&[(name, "")], &[("x", value)]).contains("its name"), "{name} {value:?}");
        }
        assert!(fails(&[("{{ x }}", "")], &[("x", &"y".repeat(256))]).contains("too long"));
        assert!(fails(&[("../f", "")], &[]).contains("leads out"));
        assert!(fails(&[("_loci", ""), (".loci", "")], &[]).contains("two files"));
        assert!(fails(&[("{{ x }}", ""), ("d/f", "")], &[("x", "d")]).contains("gives the directory"));
    }

    fn link(at: &str, text: &str) -> Result<Vec<Node>, TemplateError> {
        let mut template = template(&[]);
        template.nodes.push(Node { rel: at.into(), what: What::Link(text.into()) });
        render(&template, &values(&[("x", "..")]))
    }

    #[test]
    fn links_stay_inside() {
        for (at, text) in
            [("l", "/etc"), ("l", ".."), ("d/l", "../.."), ("d/l", "a/../../.."), ("l", "d/.."), ("l", "{{ x }}"), ("l", "{{ nobody }}")]
        {
            assert!(link(at, text).is_err(), "{at} -> {text}");
        }
        for (at, text) in [("l", "d/e"), (".claude/skills", "../.loci/skills"), ("d/l", ".."), ("l", "./f")] {
            assert!(link(at, text).is_ok(), "{at} -> {text}");
        }
        let nodes = link("_claude/skills", "../_loci/skills").unwrap();
        assert_eq!(nodes[0], Node { rel: ".claude/skills".into(), what: What::Link("../.loci/skills".into()) });
    }

    #[test]
    fn variables_are_found_in_the_template() {
        let mut template =
            template(&[("{{ folder }}/f", "{{ id }} {{ a }} {{ b | default('') }}{% if c is defined %}{{ c }}{% endif %} {{ d }}")]);
        template.defaults = values(&[("d", "four")]);
        let found = variables(&template, &["id"]).unwrap();
        let list: Vec<(&str, bool, Option<&str>)> =
            found.iter().map(|one| (one.name.as_str(), one.required, one.default.as_deref())).collect();
        assert_eq!(list, [("a", true, None), ("b", false, None), ("c", false, None), ("d", false, Some("four")), ("folder", true, None)]);
    }
}
