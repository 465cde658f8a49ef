//! Persona: who the agent is to be. One line in what it is told anyway names it; unlike the place, it
//! stays. The first declaration of a session holds. A read, never an equip.

use std::path::PathBuf;

use super::place::{Ground, surfaces};
use super::state::{Memory, Persona, Piece};
use crate::text::header;
use crate::tree::resolve::{Found, resolve};

/// How the frame of a persona begins and ends: what stands between is taken out wherever it is met again.
const MARK: &str = "<!-- loci:persona ";
const END: &str = "<!-- /loci:persona -->";
/// How much of a file is looked through for a declaration.
const MAX_SCAN: usize = 256 << 10;

/// A declaration: the name, and whether it switches the ambient rules off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The name.
    pub name: String,
    /// Whether it is absolute.
    pub absolute: bool,
}

/// The declaration in a file: the front-matter key, else the first line of its own. Absolute is tested
/// first, since it contains the other; prose that mentions the words declares nothing.
#[must_use]
pub fn declared(bytes: &[u8]) -> Option<Declaration> {
    let bytes = bytes.get(..bytes.len().min(MAX_SCAN)).unwrap_or_default();
    let header = header::parse(bytes);
    for (key, absolute) in [("absolute-persona", true), ("persona", false)] {
        if let Some(name) = header.text(key).and_then(name_of) {
            return Some(Declaration { name, absolute });
        }
    }
    let text = String::from_utf8_lossy(header.body_of(bytes));
    let text = without_frames(&text);
    let lines = || text.lines().map(bare).take(10_000);
    let of = |word: &str| lines().find_map(|line| name_of(strip_word(line, word)?));
    of("absolute persona:")
        .map(|name| Declaration { name, absolute: true })
        .or_else(|| of("persona:").map(|name| Declaration { name, absolute: false }))
}

/// A line, or what stands in it as an HTML comment.
fn bare(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).map_or(line, str::trim)
}

fn strip_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let start = line.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| line.get(word.len()..)).flatten()
}

/// The name of a persona is a file's name; anything else on the line makes it prose.
fn name_of(text: &str) -> Option<String> {
    let name = text.trim();
    let plain =
        (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    (plain && !name.starts_with('.')).then(|| name.to_owned())
}

/// A text without the frames that are marked in it, so that none can double.
fn without_frames(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(MARK) {
        out.push_str(before);
        rest = marked.split_once(END).map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Looks for a declaration where the session has none yet, and renders the persona where the model was
/// not told it as it is now. What is to be told, and what is to be said to people.
pub(super) fn tell(ground: &Ground<'_>, memory: &mut Memory) -> (Option<Piece>, Vec<String>) {
    let mut notes = Vec::new();
    if memory.persona.is_none() {
        memory.persona = first(ground, &mut notes);
    }
    let Some(persona) = &mut memory.persona else { return (None, notes) };
    match find(ground, &persona.name, &mut notes) {
        Some(found) => {
            let digest = found.digest();
            persona.path = Some(found.path.clone());
            if persona.told.as_deref() == Some(&digest) {
                return (None, notes);
            }
            let text = frame(&persona.name, persona.absolute, &found);
            persona.told = Some(digest);
            (Some(Piece { name: found.path.to_string_lossy().into_owned(), text }), notes)
        }
        None => {
            // Said once; it costs nothing else.
            if persona.path.take().is_some() || persona.told.is_none() {
                persona.told = Some("missing".to_owned());
                notes.push(format!(
                    "the persona `{}`, which {} declares, is nowhere to be found",
                    persona.name,
                    crate::sys::shown::path(&persona.declared_in)
                ));
            }
            (None, notes)
        }
    }
}

/// The first declaration: the nearest surface, what stands farther off after it.
fn first(ground: &Ground<'_>, notes: &mut Vec<String>) -> Option<Persona> {
    for (path, standing, bytes) in surfaces(ground) {
        let Some(declaration) = declared(&bytes) else { continue };
        if !standing.is_trusted() {
            notes.push(format!("{} declares a persona and is {}; see `loci trust`", crate::sys::shown::path(&path), standing.word()));
            continue;
        }
        return Some(Persona { name: declaration.name, absolute: declaration.absolute, declared_in: path, path: None, told: None });
    }
    None
}

fn find(ground: &Ground<'_>, name: &str, notes: &mut Vec<String>) -> Option<Found> {
    let found = resolve(&ground.request("personas")).ok()?;
    let wanted = PathBuf::from(format!("{name}.md"));
    for file in found.files.into_iter().rev().filter(|file| file.rel == wanted) {
        let standing = ground.trust.of(&file);
        if standing.is_trusted() {
            return Some(file);
        }
        notes.push(format!("the persona {} is {}; see `loci trust`", crate::sys::shown::path(&file.path), standing.word()));
    }
    None
}

fn frame(name: &str, absolute: bool, found: &Found) -> String {
    let body = String::from_utf8_lossy(found.body());
    let body = without_frames(&body);
    let list = |key: &str| -> Vec<String> {
        let items = found.header.value(key).and_then(serde_json::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(serde_json::Value::as_str).map(str::to_owned).collect()
    };
    let mut text = format!("{MARK}{name} -->\n{}", body.trim());
    for (key, title) in [("skills", "Skills of this persona"), ("tools", "Tools of this persona")] {
        let items = list(key);
        if !items.is_empty() {
            text.push_str(&format!("\n\n{title}: {}", items.join(", ")));
        }
    }
    if absolute {
        text.push_str("\n\nNo other rules of the directories around you hold while you are this.");
    }
    text.push_str(&format!("\n{END}"));
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> Option<(String, bool)> {
        declared(text.as_bytes()).map(|declaration| (declaration.name, declaration.absolute))
    }

    #[test]
    fn only_its_own_line_declares() {
        let own = |name: &str, absolute| Some((name.to_owned(), absolute));
        assert_eq!(said("# x\n\npersona: clerk\n"), own("clerk", false));
        assert_eq!(said("persona: a\nAbsolute Persona: b\n"), own("b", true));
        assert_eq!(said("<!-- persona: clerk -->\r\n"), own("clerk", false));
        assert_eq!(said("---\nabsolute-persona: judge\n---\npersona: clerk\n"), own("judge", true));
        assert_eq!(said("---\npersona: clerk\n---\n"), own("clerk", false));
        for prose in [
            "Use persona: clerk when asked.\n",
            "persona: clerk is what we call it\n",
            "the absolute persona: clerk\n",
            "persona: ../../x\n",
            "persona:\n",
            "persona: .hidden\n",
            "",
        ] {
            assert_eq!(said(prose), None, "{prose}");
        }
    }

    #[test]
    fn a_frame_does_not_double_and_declares_nothing() {
        let framed = format!("{MARK}a -->\npersona: b\n{END}\nrest");
        assert_eq!(said(&framed), None);
        assert_eq!(without_frames(&framed), "\nrest");
        assert_eq!(without_frames(&format!("x{MARK}a")), "x");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text(text in "(absolute |<!-- )?[Pp]ersona: ?[-a-z./ ]{0,12}( -->)?(\n.{0,12}){0,3}") {
            if let Some((name, _)) = said(&text) {
                prop_assert!(!name.contains('/') && !name.is_empty());
            }
        }
    }
}
