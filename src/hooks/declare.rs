//! What a hook file says about itself in a text header: the loader knows what it binds to without ever
//! running it. Pure: bytes in, a value out.

use std::time::Duration;

use globset::{Glob, GlobMatcher};

use super::event::Seam;
use crate::custody::act::ActKind;

/// How many lines are looked through.
pub const LINES: usize = 30;
/// How long a hook may take where it does not say.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that it may say.
pub const LONGEST: Duration = Duration::from_secs(600);
/// The longest line that is looked at, in bytes.
const MAX_LINE: usize = 4096;
/// The most patterns that `hook-tools` names.
const MAX_TOOLS: usize = 64;

/// A hook's header.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The seams that it binds to, in the order of a turn; never empty.
    pub seams: Vec<Seam>,
    /// How long it may take.
    pub timeout: Duration,
    /// Patterns over tools and acts; empty: every tool.
    pub tools: Vec<Pattern>,
    /// What could not be made sense of, for people.
    pub remarks: Vec<String>,
}

/// One pattern of `hook-tools`: matched without case.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As written.
    pub text: String,
    matcher: GlobMatcher,
}

impl Declared {
    /// Whether it is asked about a call of this tool that does these acts.
    #[must_use]
    pub fn concerns(&self, tool: &str, acts: &[ActKind]) -> bool {
        let fits = |pattern: &Pattern| {
            pattern.matcher.is_match(tool.to_lowercase()) || acts.iter().any(|act| pattern.matcher.is_match(act.word()))
        };
        self.tools.is_empty() || tool.is_empty() || self.tools.iter().any(fits)
    }
}

/// Reads a header; `None` where the file has none, or none that names a seam: it is a helper then,
/// and `remarks` of it say nothing to anybody.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<Result<Declared, Vec<String>>> {
    let mut events: Option<&str> = None;
    let (mut timeout, mut tools) = (None, None);
    let mut remarks = Vec::new();
    // A start is enough: the lines are bounded, and so is each one.
    let start = bytes.get(..bytes.len().min(LINES * MAX_LINE)).unwrap_or_default();
    let text = String::from_utf8_lossy(start);
    for line in text.lines().take(LINES) {
        let Some((key, value)) = declaration(line) else { continue };
        let slot = match key {
            Key::Events => &mut events,
            Key::Timeout => &mut timeout,
            Key::Tools => &mut tools,
        };
        if slot.is_some() {
            remarks.push(format!("`{}` stands there twice; the first one counts", key.word()));
        } else {
            *slot = Some(value);
        }
    }
    let events = events?;
    let mut seams = Vec::new();
    for word in words(events) {
        match Seam::of(word) {
            Some(seam) => seams.push(seam),
            None => remarks.push(format!("`{}` is no seam", crate::sys::shown::text(word))),
        }
    }
    seams.sort_unstable();
    seams.dedup();
    if seams.is_empty() {
        remarks.push("`hook-events` names no seam".to_owned());
        return Some(Err(remarks));
    }
    let timeout = timeout.map_or(TIMEOUT, |text| seconds(text, &mut remarks));
    let tools = tools.map(|text| patterns(text, &mut remarks)).unwrap_or_default();
    Some(Ok(Declared { seams, timeout, tools, remarks }))
}

/// What a line can declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Events,
    Timeout,
    Tools,
}

impl Key {
    fn word(self) -> &'static str {
        match self {
            Self::Events => "hook-events",
            Self::Timeout => "hook-timeout",
            Self::Tools => "hook-tools",
        }
    }
}

/// The declaration in a line: a comment leader, the key in any case with `-` or `_`, a colon.
fn declaration(line: &str) -> Option<(Key, &str)> {
    if line.len() > MAX_LINE {
        return None;
    }
    let line = line.trim_start_matches(['\u{feff}', ' ', '\t']);
    let rest = line.trim_start_matches(['#', '/', '-', ';', '*', '%', '<', '!']);
    let leader = line.get(..line.len() - rest.len())?;
    let known = ["#", "//", "--", ";", "*", "/*", "%", "<!--"];
    if !known.iter().any(|known| leader.starts_with(known)) {
        return None;
    }
    let (key, value) = rest.split_once(':')?;
    let key = key.trim();
    let key = [Key::Events, Key::Timeout, Key::Tools].into_iter().find(|one| key.replace('_', "-").eq_ignore_ascii_case(one.word()))?;
    let value = value.trim();
    let value = value.strip_suffix("*/").or_else(|| value.strip_suffix("-->")).unwrap_or(value);
    Some((key, value.trim()))
}

/// Words with commas or blanks between them, brackets and quotes left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_matches(['[', ']']);
    text.split([',', ' ', '\t']).map(|word| word.trim_matches(['"', '\''])).filter(|word| !word.is_empty())
}

fn seconds(text: &str, remarks: &mut Vec<String>) -> Duration {
    let number = text.trim_end_matches(['s', 'S']).trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match number {
        Some(number) if (1.0..=LONGEST.as_secs_f64()).contains(&number) => Duration::from_secs_f64(number),
        Some(number) if number < 1.0 => {
            remarks.push("`hook-timeout` is less than 1 second; 1 is taken".to_owned());
            Duration::from_secs(1)
        }
        Some(_) => {
            remarks.push(format!("`hook-timeout` is more than {} seconds; that is taken", LONGEST.as_secs()));
            LONGEST
        }
        None => {
            remarks.push(format!("`hook-timeout` is no number of seconds; {} is taken", TIMEOUT.as_secs()));
            TIMEOUT
        }
    }
}

/// A pattern that can't be read would make a hook blind, or see everything: it matches nothing, and is said.
fn patterns(text: &str, remarks: &mut Vec<String>) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for word in words(text).flat_map(|word| word.split('|')).filter(|word| !word.is_empty()) {
        if patterns.len() == MAX_TOOLS {
            remarks.push(format!("`hook-tools` names more than {MAX_TOOLS}; the rest was left out"));
            break;
        }
        match Glob::new(&word.to_lowercase()) {
            Ok(glob) => patterns.push(Pattern { text: word.to_owned(), matcher: glob.compile_matcher() }),
            Err(error) => remarks.push(format!("`hook-tools`: {error}")),
        }
    }
    if patterns.is_empty() && !text.is_empty() {
        // All of them were bad: to see every tool was not what was asked for.
        if let Ok(never) = Glob::new("\u{0}") {
            patterns.push(Pattern { text: String::new(), matcher: never.compile_matcher() });
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Declared {
        header(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_header_stands_behind_any_leader_in_any_case() {
        for line in [
            "# hook-events: before-tool, after-run",
            "#hook-events:before-tool after-run",
            "// Hook-Events: AFTER-RUN,before-tool",
            "-- hook_events: after_run, before_tool",
            ";; HOOK-EVENTS : [before-tool, 'after-run']",
            " * hook-events: before-tool, after-run",
            "/* hook-events: before-tool, after-run */",
            "<!-- hook-events: before-tool, after-run -->",
            "\u{feff}# hook-events: before-tool, after-run",
        ] {
            for text in [line.to_owned(), format!("#!/bin/sh\r\n\r\n{line}\r\necho\r\n")] {
                assert_eq!(read(&text).seams, [Seam::AfterRun, Seam::BeforeTool], "{text}");
            }
        }
    }

    #[test]
    fn code_is_no_header_and_neither_is_what_stands_late() {
        for text in [
            "",
            "#!/bin/sh\necho hook-events: before-tool\n",
            "hook_events: list[str] = []\n",
            "# hook-event: before-tool\n",
            "# the hook-events: before-tool\n",
            "- hook-events: before-tool\n",
            &format!("{}# hook-events: before-tool\n", "\n".repeat(30)),
        ] {
            assert!(header(text.as_bytes()).is_none(), "{text}");
        }
        assert!(header(format!("{}# hook-events: before-tool\n", "\n".repeat(29)).as_bytes()).is_some());
    }

    #[test]
    fn what_makes_no_sense_is_said_and_never_more_than_was_meant() {
        assert!(matches!(header(b"# hook-events: before-lunch\n"), Some(Err(remarks)) if remarks.len() == 2));
        let hook = read("# hook-events: before-tool, lunch\n# hook-timeout: 0\n# hook-timeout: 9\n# hook-tools: [a\n");
        assert_eq!((hook.seams.as_slice(), hook.timeout, hook.remarks.len()), (&[Seam::BeforeTool][..], Duration::from_secs(1), 3));
        let hook = read("# hook-events: before-tool\n# hook-tools: {a\n");
        assert!(!hook.concerns("Bash", &[ActKind::Run]) && hook.remarks.len() == 1);
        for (text, seconds) in [("30", 30.0), ("2.5", 2.5), ("5s", 5.0), ("x", 10.0), ("-3", 1.0), ("1e9", 600.0), ("NaN", 10.0)] {
            assert_eq!(read(&format!("# hook-events: on-error\n# hook-timeout: {text}\n")).timeout.as_secs_f64(), seconds, "{text}");
        }
    }

    #[test]
    fn patterns_are_over_tools_and_acts() {
        let hook = read("# hook-events: before-tool\n# hook-tools: Bash, mcp__*, write\n");
        assert!(hook.concerns("bash", &[ActKind::Run]) && hook.concerns("mcp__fs__x", &[]) && hook.concerns("Edit", &[ActKind::Write]));
        assert!(!hook.concerns("Read", &[ActKind::Read]) && hook.concerns("", &[]));
        assert!(read("# hook-events: before-tool\n").concerns("anything", &[]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = header(&bytes);
        }

        #[test]
        fn anything_near_a_header(text in "(#|//|--|;|\\*|x)? ?[hH]ook[-_](events|timeout|tools|x) ?:? ?[-a-z_, \\[\\]{}*0-9.é]{0,40}(\r?\n.{0,20}){0,3}") {
            if let Some(Ok(hook)) = header(text.as_bytes()) {
                prop_assert!(!hook.seams.is_empty() && hook.timeout >= Duration::from_secs(1) && hook.timeout <= LONGEST);
                let _ = hook.concerns(&text, &[]);
            }
        }

        /// Whatever stands before and behind it, a declared seam is found.
        #[test]
        fn a_declared_seam_is_found(before in "([a-z \"'=]{0,20}\n){0,29}", which in 0_usize..9, rest in ".{0,40}") {
            let seam = Seam::ALL[which];
            let text = format!("{before}# hook-events: {}\n{rest}", seam.word());
            prop_assert_eq!(header(text.as_bytes()).unwrap().unwrap().seams, [seam]);
        }
    }
}
