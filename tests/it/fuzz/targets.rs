//! What is fuzzed: each target takes any bytes, and panics where something does not hold. The same functions are run over
//! the checked-in seeds by tests/it, by the driver of tests/fuzz with mutations, and by libFuzzer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use loci::clock::deliverable;
use loci::clock::job;
use loci::clock::ledger::Fold;
use loci::clock::loops::exit;
use loci::clock::schedule::{self, Cron, duration};
use loci::custody::gitpatch::{self, Side};
use loci::custody::inbox;
use loci::custody::patch::{self, SectionKind};
use loci::custody::shell::{self, Input, Reading, Words};
use loci::custody::{hunk, merge};
use loci::hooks::answer::Answer;
use loci::hooks::event::Seam;
use loci::hooks::{declare, harness, tools};
use loci::loadout::set::Set;
use loci::sys::shown::hidden;
use loci::sys::time;
use loci::text::header;
use loci::tree::settings;
use serde_json::Value;

use super::toy::Toy;

/// A target by its name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All of them; the seeds of each lie in `fixtures/fuzz/NAME`.
pub(crate) const ALL: &[Target] = &[
    ("cel", cel),
    ("cron", cron),
    ("envelope", envelope),
    ("front-matter", front_matter),
    ("glob", glob),
    ("hook-header", hook_header),
    ("job", job_file),
    ("ledger", ledger),
    ("letter", letter),
    ("patch", patches),
    ("set", set_file),
    ("settings", settings_file),
    ("shell", shell_command),
    ("tool-call", tool_call),
];

/// Runs the target of a name once.
///
/// # Panics
/// Where something does not hold.
pub(crate) fn run(name: &str, data: &[u8]) {
    let target = ALL.iter().find(|(one, _)| *one == name).map(|(_, target)| target);
    target.unwrap_or_else(|| panic!("{name} is no target"))(data);
}

/// The first line, and what comes behind it.
fn halves(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Front matter: lines within the file, a body that is a part of it, each key once.
fn front_matter(data: &[u8]) {
    for read in [header::parse(data), header::parse_yaml(data)] {
        assert!(read.body.start <= read.body.end && read.body.end <= data.len(), "a body of {:?} in {} bytes", read.body, data.len());
        assert!(read.body_of(data).len() == read.body.len());
        let mut keys: Vec<&str> = read.fields.iter().map(|field| field.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), read.fields.len(), "a key stands there twice");
        for line in read.fields.iter().map(|field| field.line).chain(read.notes.iter().map(|note| note.line)) {
            assert!(line <= lines(data) + 1, "line {line} of {}", lines(data));
        }
        let text = read.object().to_string();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        for field in &read.fields {
            let _ = field.text();
        }
    }
}

/// A set: what is read and written reads the same.
fn set_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for json in [false, true] {
        if let Ok(set) = Set::parse(text, json) {
            let written = set.to_yaml();
            let again = Set::parse(&written, false).unwrap_or_else(|error| panic!("{error:?} in {written:?}"));
            assert!(again.to_yaml() == written, "{written:?}");
            let said = |set: &Set| set.entries().map(|(scope, item, state)| format!("{scope} {item:?} {state}")).collect::<Vec<_>>();
            assert_eq!(said(&set), said(&again));
        }
    }
}

/// Jobs, heartbeats and loops: an error names a line of the file, and is one line itself.
fn job_file(data: &[u8]) {
    let path = Path::new("/r/.loci-clock/jobs/a.md");
    let errors = [job::parse("a", path, data).err(), job::parse_beat(path, data).err(), job::parse_loop("a", path, data).err()];
    for error in errors.into_iter().flatten() {
        assert!(error.line.is_none_or(|line| (1..=lines(data) + 1).contains(&line)), "{error:?} of {} lines", lines(data));
        plain(&error.to_string());
    }
}

/// Lines as an editor counts them.
fn lines(data: &[u8]) -> usize {
    1 + data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count()
}

/// What is said of a file is one line, and nothing in it speaks to the terminal.
fn plain(said: &str) {
    assert!(!said.chars().any(hidden), "{said:?}");
}

/// The header of a hook, and whether it concerns a call.
fn hook_header(data: &[u8]) {
    let read = declare::header(data);
    if let Some(Err(remarks)) = &read {
        remarks.iter().for_each(|remark| plain(remark));
    }
    if let Some(Ok(declared)) = read {
        assert!(!declared.seams.is_empty() && declared.timeout > Duration::ZERO, "{declared:?}");
        let _ = declared.concerns("Write", &[]);
        let _ = declared.concerns(&String::from_utf8_lossy(data), &[]);
    }
    let _ = loci::hooks::run::command(Path::new("/r/h.py"), false, data);
}

/// What each harness says at each seam, and what is answered: an answer is bounded, and JSON where it begins as such.
fn envelope(data: &[u8]) {
    let _ = (harness::tool_name(data), harness::event_name(data));
    let text: String = String::from_utf8_lossy(data).into_owned();
    let answers = [
        Answer::default(),
        Answer::note(text.as_str()),
        Answer::block(text.as_str()),
        Answer { context: text.clone(), input: Some(Value::String(text.clone())), leave: true, ..Answer::default() },
    ];
    for adapter in harness::ALL {
        for (nth, seam) in Seam::ALL.into_iter().enumerate() {
            let Ok(event) = adapter.event(seam, data) else { continue };
            let _ = (event.sub_agent(), event.is_after_compaction(), (adapter.rewriting.never_asks)(&event));
            for (at, answer) in answers.iter().enumerate() {
                // In turn: both for each answer costs twice as much.
                let native = ((nth + at) % 2 == 0).then_some(text.as_str());
                let reply = adapter.reply(seam, native, answer);
                if reply.stdout.starts_with('{') {
                    assert!(serde_json::from_str::<Value>(&reply.stdout).is_ok(), "{}: {}", adapter.name, reply.stdout);
                }
            }
        }
    }
}

/// The call of any tool, by its name and its arguments: what it would do lies at absolute paths.
fn tool_call(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (name, input) = halves(&text);
    let input = serde_json::from_str(input).unwrap_or_else(|_| serde_json::json!({ "command": input, "file_path": input, "patch": input }));
    let intent = tools::read_call(name, &input, Path::new("/r"), Some(Path::new("/home/a")), tools::WRITE_WORDS);
    let _ = (intent.class.writes(), tools::hides_its_file(&input));
    for act in &intent.acts {
        assert!(act.path.is_absolute(), "{act:?}");
    }
    // Whatever else stands in a call: the file that it names is written.
    if let Value::Object(mut input) = input {
        input.insert("file_path".to_owned(), "/r/owned/first".into());
        let intent = tools::read_call("Write", &Value::Object(input), Path::new("/r"), Some(Path::new("/home/a")), tools::WRITE_WORDS);
        assert!(intent.acts.iter().any(|act| act.path == Path::new("/r/owned/first")), "{:?}", intent.acts);
    }
}

/// A shell command: within the budget, what is cut off is said, and nothing that follows a write hides it: by then the
/// shell has done it.
fn shell_command(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    read_shell(text);
    let reading = read_shell(&format!("echo x > /r/owned/first\n{text}"));
    let seen = reading.acts.iter().any(|found| found.act.path == Path::new("/r/owned/first"));
    assert!(seen || !reading.unknown.is_empty(), "the first line is not seen: {reading:?}");
}

fn read_shell(text: &str) -> Reading {
    let env: BTreeMap<String, String> = [("HOME".to_owned(), "/r".to_owned()), ("PATH".to_owned(), "/bin".to_owned())].into();
    let reading = shell::read(&Input { command: Words::Script(text), cwd: Path::new("/r"), env: &env, home: None }, &Toy);
    assert!(reading.spent <= shell::BUDGET * 3, "{} units", reading.spent);
    assert!(reading.spent <= shell::BUDGET || !reading.unknown.is_empty(), "cut off and not said");
    for found in &reading.acts {
        assert!(found.act.path.is_absolute(), "{found:?}");
    }
    reading
}

/// Lines of the ledger, and of an inbox's log: as many torn ones as can't be read, and half a line costs no other.
fn ledger(data: &[u8]) {
    let fold = Fold::of(data);
    let lines = data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    assert!(fold.torn <= lines && fold.open.len() <= lines);
    let mut torn = data.to_vec();
    torn.extend_from_slice(b"\n{\"half\":");
    let more = Fold::of(&torn);
    assert!(more.open == fold.open && more.torn == fold.torn + 1, "a torn line takes another one with it");
    let (folded, skipped) = inbox::fold_bytes(data);
    assert!(folded.len() <= lines && skipped <= lines);
}

/// A message: its parts, whatever stands in it.
fn letter(data: &[u8]) {
    let message = inbox::parsed("20261130T101522Z-6f3a9c2e71d04b58.md", data);
    let _ = (message.body(), message.is_answer(), message.text("from"), message.list("targets"));
    assert!(!message.id.is_empty());
}

/// Patches: sections within the text, a diff of ours that makes one text of another, a merge that keeps both sides.
fn patches(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for section in patch::sections(&text) {
        let part = text.get(section.range.clone()).unwrap_or_else(|| panic!("{section:?} of {} bytes", text.len()));
        for base in [None, Some("alpha\nbeta\ngamma\n"), Some("")] {
            let _ = hunk::apply(section.kind, part, base);
        }
    }
    // Three texts, by a line that parts them.
    let mut parts = text.split("\n====\n");
    let (one, two) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if !one.contains('\0') && !two.contains('\0') && one != two {
        let made = gitpatch::file(Path::new("a.txt"), Some(&side(one)), Some(&side(two)));
        let sections = patch::sections(&made);
        assert_eq!(sections.len(), 1, "{made:?}");
        let patched =
            hunk::apply(SectionKind::Update, &made, Some(one)).unwrap_or_else(|| panic!("it does not apply: {made:?} to {one:?}"));
        assert_eq!(patched.text.as_deref(), Some(two), "{made:?}");
    }
    assert_eq!(merge::merge(one, two, two).ok().as_deref(), Some(two), "both sides are one");
    assert_eq!(merge::merge(one, one, two).ok().as_deref(), Some(two), "one side stays");
    assert_eq!(merge::merge(one, two, one).ok().as_deref(), Some(two), "the other side stays");
    let _ = merge::merge(one, two, parts.next().unwrap_or_default());
}

fn side(text: &str) -> Side<'_> {
    Side { mode: 0o100_644, data: text.as_bytes() }
}

/// Patterns of paths, regular expressions and counts of deliverables.
fn glob(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, path) = halves(&text);
    if let Ok(matcher) = deliverable::pattern(pattern) {
        let _ = matcher.is_match(path);
    }
    if let Ok(regex) = deliverable::regex(pattern) {
        let _ = regex.is_match(path.as_bytes());
    }
    if let Ok(count) = deliverable::count(&Value::from(pattern)) {
        let _ = count.holds(1);
    }
}

/// Schedules: the next instant comes after the one before it, and an interval reads as it is shown.
fn cron(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (first, zone) = halves(&text);
    // Past the search for the name that was meant, which costs more than all the rest.
    let zone = time::zone(zone.trim()).unwrap_or(jiff::tz::TimeZone::UTC);
    let start: jiff::Timestamp = "2026-03-29T00:30:00Z".parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    if let Ok(cron) = Cron::parse(first) {
        let mut at = start;
        for _ in 0..4 {
            let Some(next) = cron.next(at, &zone) else { break };
            assert!(next > at, "{first}: {next} after {at}");
            at = next;
        }
    }
    if let Ok(length) = duration::parse(first) {
        let shown = duration::show(length);
        assert_eq!(duration::parse(&shown).ok(), Some(length), "{first:?} is shown as {shown:?}");
        assert!(schedule::every(first).is_err() || length >= Duration::from_secs(1));
    }
    let _ = schedule::at(first);
}

/// The predicate of a loop: what is checked can be evaluated, or says why not.
fn cel(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (expression, state) = halves(&text);
    let state = serde_json::from_str::<Value>(state).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let checked = exit::check(expression);
    let held = exit::holds(expression, &state, 3);
    assert!(checked.is_ok() || held.is_err(), "it is wrong, and holds: {expression:?}");
}

/// The settings of a home.
fn settings_file(data: &[u8]) {
    if let Err(error) = settings::parse(Path::new("/home/a/.loci/config.yaml"), data) {
        assert!(error.line.is_none_or(|line| (1..=lines(data) + 1).contains(&line)), "{error:?} of {} lines", lines(data));
        plain(&error.to_string());
    }
}
