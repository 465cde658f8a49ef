//! Reading the file of a socket.

use std::path::Path;

use super::{MAX_GRACE, MAX_WORDS, Socket, SocketError};
use crate::sys::shown;
use crate::text::header::{self, Header, Status};
use crate::text::near;

/// The keys of a socket file.
const KEYS: [&str; 19] = [
    "description",
    "program",
    "headless",
    "interactive",
    "model",
    "session",
    "resume",
    "last",
    "told",
    "needs",
    "harness",
    "grace",
    "unjailed",
    "instructions",
    "first_only",
    "imports",
    "rules",
    "skills",
    "agents",
];

/// Reads a file of a socket over what is known of it.
pub(super) fn read(mut socket: Socket, path: &Path, text: &[u8]) -> Result<Socket, SocketError> {
    let header = header::parse(text);
    let unfit = |line: Option<usize>, why: String| SocketError::Unfit { path: path.to_owned(), line, why };
    if header.status != Status::Ok || !header.notes.is_empty() {
        let note = header.notes.first();
        let why = note.map_or_else(|| "its front matter can't be read".to_owned(), |note| shown::text(&note.text).to_string());
        return Err(unfit(note.map(|note| note.line).or(Some(1)), why));
    }
    if let Some(odd) = header.fields.iter().find(|field| !KEYS.contains(&field.key.as_str())) {
        let meant = near::nearest(&odd.key, KEYS).map(|key| format!("; did you mean `{key}`?")).unwrap_or_default();
        return Err(unfit(Some(odd.line), format!("no socket has the key `{}`{meant}", shown::text(&odd.key))));
    }
    let take = Keys { header: &header, path };
    macro_rules! set {
        ($($key:ident: $how:ident),+ $(,)?) => { $(if let Some(value) = take.$how(stringify!($key))? { socket.$key = value.into(); })+ };
    }
    set!(description: text, program: text, headless: words, interactive: words, model: words, session: words, resume: words, last: words);
    set!(told: text, needs: words, harness: text, unjailed: text, instructions: words, first_only: flag, imports: flag, rules: words, skills: words, agents: words);
    if let Some(seconds) = take.seconds("grace")? {
        socket.grace = seconds;
    }
    if let Some(program) = &socket.program {
        let plain = Path::new(program).is_absolute() || (!program.contains('/') && !program.is_empty());
        if !plain {
            return Err(unfit(header.line("program"), "`program` has to be a name to look for in PATH, or an absolute path".to_owned()));
        }
    }
    // A word that stands for nothing would be handed to the program as it is.
    for (key, list, marks) in [
        ("headless", socket.headless.as_ref(), &["{message}", "{model}", "{session}"][..]),
        ("interactive", socket.interactive.as_ref(), &["{model}", "{session}"]),
        ("model", socket.model.as_ref(), &["{model}"]),
        ("session", socket.session.as_ref(), &["{session}"]),
        ("resume", socket.resume.as_ref(), &["{session}"]),
        ("last", socket.last.as_ref(), &[]),
    ] {
        let odd = |word: &&String| {
            let mut rest = (*word).clone();
            for mark in marks {
                rest = rest.replace(mark, "");
            }
            ["{message}", "{model}", "{session}"].iter().any(|mark| rest.contains(mark))
        };
        if let Some(word) = list.into_iter().flatten().find(odd) {
            return Err(unfit(header.line(key), format!("`{key}` can't have `{}`", shown::text(word))));
        }
        if let Some((mark, meant)) = list.into_iter().flatten().find_map(|word| slip(word)) {
            let meant = meant.map(|meant| format!("; did you mean `{{{meant}}}`?")).unwrap_or_default();
            return Err(unfit(header.line(key), format!("`{key}` has `{}`, which stands for nothing{meant}", shown::text(mark))));
        }
        let needed = matches!(key, "model" | "session" | "resume");
        if needed && list.is_some_and(|list| !list.is_empty() && !list.iter().any(|word| marks.iter().any(|mark| word.contains(mark)))) {
            return Err(unfit(
                header.line(key),
                format!("`{key}` needs a word with `{{{}}}`", if key == "model" { "model" } else { "session" }),
            ));
        }
    }
    Ok(socket)
}

/// What words stand for.
const MARKS: [&str; 3] = ["message", "model", "session"];

/// A word in braces that was meant to stand for something and does not: one that is near to what does, or that is
/// all of what is handed over. What a program itself takes in braces stands among other characters (`%{http_code}`).
fn slip(word: &str) -> Option<(&str, Option<&'static str>)> {
    let inner = |at: usize| {
        let text = word.get(at + 1..)?;
        let name = text.get(..text.find('}')?)?;
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b' '));
        plain.then_some((word.get(at..at + name.len() + 2)?, name))
    };
    let mut braced = word.match_indices('{').filter_map(|(at, _)| inner(at)).filter(|(_, name)| !MARKS.contains(name));
    braced.find_map(|(whole, name)| {
        let plain = name.trim().to_ascii_lowercase();
        let meant = MARKS.into_iter().find(|mark| *mark == plain).or_else(|| near::nearest(&plain, MARKS));
        (meant.is_some() || whole == word).then_some((whole, meant))
    })
}

/// The keys of a socket's file.
struct Keys<'a> {
    header: &'a Header,
    path: &'a Path,
}

impl Keys<'_> {
    fn fail(&self, key: &str, what: &str) -> SocketError {
        SocketError::Unfit { path: self.path.to_owned(), line: self.header.line(key), why: format!("`{key}` has to be {what}") }
    }

    fn text(&self, key: &str) -> Result<Option<String>, SocketError> {
        let Some(field) = self.header.field(key) else { return Ok(None) };
        let text = field.text().filter(|text| !text.is_empty() && !field.value.is_null()).ok_or_else(|| self.fail(key, "text"))?;
        Ok(Some(text.to_owned()))
    }

    fn words(&self, key: &str) -> Result<Option<Vec<String>>, SocketError> {
        let Some(field) = self.header.field(key) else { return Ok(None) };
        let words = field.value.as_array().filter(|list| list.len() <= MAX_WORDS);
        let words =
            words.and_then(|list| list.iter().map(|word| word.as_str().filter(|word| !word.contains('\0')).map(str::to_owned)).collect());
        words.map(Some).ok_or_else(|| self.fail(key, &format!("a list of at most {MAX_WORDS} texts (put numbers and `-` in quotes)")))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, SocketError> {
        let Some(field) = self.header.field(key) else { return Ok(None) };
        field.value.as_bool().map(Some).ok_or_else(|| self.fail(key, "true or false"))
    }

    fn seconds(&self, key: &str) -> Result<Option<u64>, SocketError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let seconds = text.strip_suffix('s').unwrap_or(&text).parse().ok().filter(|seconds| (1..=MAX_GRACE).contains(seconds));
        seconds.map(Some).ok_or_else(|| self.fail(key, &format!("seconds, from `1s` to `{MAX_GRACE}s`")))
    }
}
