//! A shell call for which reading is not enough: before it, it is put into `loci exec` where the harness lets
//! a hook do that; where not, word is left so that the relay after it looks at what has changed.
//!
//! A rewritten command no longer matches the allow-lists of the harness's user, and some harnesses take it
//! only with leave to run it. So it is done by itself only where nobody is asked anyway, and elsewhere where
//! the settings say so (`rewrite:`).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Answer;
use super::event::{Event, Seam, Take};
use super::harness::Adapter;
use super::state;
use super::tools::{Command, ShellCall};
use crate::custody::act::ActKind;
use crate::custody::asker::Asker;
use crate::custody::jail::calls::{self, Call, Stage};
use crate::custody::jail::{self, standing, witness};
use crate::custody::slip::{self, Happened};
use crate::custody::{self, Ruling, Surroundings, Verdict, find};
use crate::sys::time::Moment;
use crate::sys::{env, jail as kernel, process, shown, time};
use crate::tree::dotdirs::Dotdirs;
use crate::tree::settings::{Custody, REWRITE};

/// How long the look after a command may take.
const LOOK: Duration = Duration::from_millis(400);
/// The longest command that is put into another one; the kernel's bound for a word is 128 KiB.
const MAX_COMMAND: usize = 96 << 10;
/// How much of it is kept for the message to an owner, in characters.
const MAX_TOLD: usize = 12 << 10;
/// How many changed paths are named.
const MAX_NAMED: usize = 5;

/// What of the settings counts here.
pub(super) struct Settings {
    pub(super) custody: Custody,
    pub(super) rewrite: Vec<String>,
}

/// What is known of a call.
pub(super) struct Ground<'a> {
    pub(super) adapter: &'a Adapter,
    pub(super) event: &'a Event,
    pub(super) settings: &'a Settings,
    pub(super) asker: &'a Asker,
    pub(super) surroundings: &'a Surroundings,
}

impl Ground<'_> {
    /// What becomes of a call that reading does not refuse.
    pub(super) fn hold(&self, call: &ShellCall, ruling: &Ruling) -> Answer {
        let opted = self.settings.rewrite.iter().any(|name| name == self.adapter.name);
        // Where no hook is asked about what is typed into a command that goes on, each one that can be is held.
        let all = self.adapter.rewriting.types && opted;
        let unknown = ruling.verdict == Verdict::Unknown;
        if self.settings.custody == Custody::Read || !(unknown || all) || kernel::is_inside() || is_held_already(call, ruling) {
            return Answer::default();
        }
        let way = self.way(call, opted);
        if let Ok(text) = &way
            && let Some(answer) = self.put_in(call, text)
        {
            return answer;
        }
        if !unknown {
            return Answer::default();
        }
        let why = way.err().unwrap_or_else(|| "word of it can't be left in the state folder".to_owned());
        if self.settings.custody == Custody::Required {
            return Answer::block(self.required(ruling, &why));
        }
        let _ = self.leave(call, Stage::Watched);
        self.said_once(&why)
    }

    /// The text of the command, or why it can't be put into `loci exec`.
    fn way(&self, call: &ShellCall, opted: bool) -> Result<String, String> {
        let name = self.adapter.title;
        let takes = self.adapter.point(Seam::BeforeTool, Some(&self.event.native)).is_some_and(|point| point.takes(Take::Input));
        if !takes && !self.adapter.rewriting.with_leave {
            return Err(format!("{name} lets no hook rewrite a call"));
        }
        if !opted && !(self.adapter.rewriting.never_asks)(self.event) {
            return Err(format!("a rewritten call would go past what its user approves in {name}"));
        }
        let [Command::Text(text)] = call.commands.as_slice() else { return Err("it is no single command of a shell".to_owned()) };
        // Codex takes a patch out of a command by itself, and applies it without a shell.
        if text.contains("apply_patch") || text.len() > MAX_COMMAND || text.contains('\0') {
            return Err("it can't stand inside of another command".to_owned());
        }
        if self.event.session.is_none() {
            return Err("the payload names no session".to_owned());
        }
        standing::known(&self.surroundings.state)?;
        Ok(text.clone())
    }

    /// Leaves word of the call.
    fn leave(&self, call: &ShellCall, stage: Stage) -> Option<()> {
        let session = self.event.session.as_deref()?;
        let mut left = calls::new(self.asker, self.adapter.name, session, &self.event.tool, stage, time::now());
        let memory = state::read(&self.surroundings.state, session).ok().flatten();
        left.launch = memory.and_then(|memory| memory.launch).or_else(|| super::gate::stands(self.adapter, self.event));
        left.cwd = Some(call.cwd.clone());
        left.sub_agent = self.event.sub_agent();
        left.command = call.text().chars().take(MAX_TOLD).collect();
        calls::leave(&self.surroundings.state, &calls::key(session, self.event.call.as_deref()), &left).ok()
    }

    /// The call with its command put into `loci exec`.
    fn put_in(&self, call: &ShellCall, text: &str) -> Option<Answer> {
        let own = process::own_program().ok()?;
        let line = Line {
            own: own.to_str()?,
            key: &calls::key(self.event.session.as_deref()?, self.event.call.as_deref()),
            capture: standing::captures(&self.surroundings.state),
            shell: &shell(),
            text,
        };
        let line = if self.adapter.rewriting.goes_on { line.that_goes_on() } else { line.plain() };
        let input = replaced(&self.event.input, text, &line)?;
        self.leave(call, Stage::Asked)?;
        Some(Answer { input: Some(input), leave: self.adapter.rewriting.with_leave, ..Answer::default() })
    }

    /// Once a session: what can't be held.
    fn said_once(&self, why: &str) -> Answer {
        let Some(session) = self.event.session.as_deref() else { return Answer::default() };
        let state = &self.surroundings.state;
        let told = state::read(state, session).ok().flatten().is_some_and(|memory| memory.unheld);
        if told || state::change(state, session, |memory| memory.unheld = true).is_err() {
            return Answer::default();
        }
        let mut text =
            format!("loci: what the programs of a command write is not held in this session: {why}. It is looked at afterwards.");
        if standing::known(state).is_ok() {
            text.push_str(" `loci run --jail` holds it");
            if REWRITE.contains(&self.adapter.name) {
                text.push_str(&format!(", and so does `rewrite: [{}]` in ~/.loci/config.yaml, past your allow-lists", self.adapter.name));
            }
            text.push('.');
        }
        Answer::note(text)
    }

    /// What the model reads where only what is known or held goes on.
    fn required(&self, ruling: &Ruling, why: &str) -> String {
        let what = ruling.acts.iter().find(|act| act.verdict == Verdict::Unknown).map(|act| act.by.as_str()).filter(|by| !by.is_empty());
        let what = what.map(|by| format!(" ({})", shown::text(by))).unwrap_or_default();
        let way = match standing::known(&self.surroundings.state) {
            Ok(()) => {
                "Run it where the kernel holds it, as one command that begins so: loci exec -- COMMAND  (for a line of a shell: loci exec -- bash -c '…'). What is refused there is handed over to its owner by itself."
            }
            Err(_) => "Do it with commands and file tools that name what they write, or ask your user.",
        };
        format!(
            "Not done: what this command would write can't be read from it{what}, and here only what is known or held goes on (`custody: required`). It could not be held by itself: {why}. {way}"
        )
    }
}

/// A program of a shell that can be told to run a text: the user's own where it is one of those.
fn shell() -> String {
    let known = |shell: &String| matches!(Path::new(shell).file_name().and_then(|name| name.to_str()), Some("bash" | "zsh"));
    env::var(env::SHELL).and_then(|shell| shell.into_string().ok()).filter(known).unwrap_or_else(|| "bash".to_owned())
}

/// A word as a shell reads it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A command line that holds another one.
struct Line<'a> {
    own: &'a str,
    key: &'a str,
    capture: bool,
    shell: &'a str,
    text: &'a str,
}

impl Line<'_> {
    fn words(&self, keeps: &str) -> String {
        let capture = if self.capture { " --capture" } else { "" };
        format!("{} exec --call {}{capture}{keeps} -- {} -c {}", quoted(self.own), self.key, quoted(self.shell), quoted(self.text))
    }

    fn plain(&self) -> String {
        self.words("")
    }

    /// The shell that reads it goes where the command has ended.
    fn that_goes_on(&self) -> String {
        format!(
            "{{ loci_dir=$({} 9>&1 1>&8 8>&-); loci_code=$?; }} 8>&1; [ -z \"$loci_dir\" ] || cd -- \"$loci_dir\"; (exit \"$loci_code\")",
            self.words(" --keep-cwd 9")
        )
    }
}

/// The input with its command replaced; `None` where it does not stand there as it was read.
fn replaced(input: &Value, old: &str, new: &str) -> Option<Value> {
    let mut input = input.clone();
    let is_it = |(key, value): &(&String, &mut Value)| matches!(key.as_str(), "command" | "cmd") && value.as_str() == Some(old);
    *input.as_object_mut()?.iter_mut().find(is_it)?.1 = json!(new);
    Some(input)
}

/// Whether all that can't be known of it is what `loci exec` holds, which finds out by itself who asks, and
/// where: in no other words than these.
fn is_held_already(call: &ShellCall, ruling: &Ruling) -> bool {
    let begins = |text: &str| ["loci exec -- ", "loci exec --capture -- "].iter().any(|words| text.trim_start().starts_with(words));
    let only = ruling.acts.iter().filter(|act| act.verdict == Verdict::Unknown).all(|act| act.by.ends_with(": loci exec"));
    only && matches!(call.commands.as_slice(), [Command::Text(text)] if begins(text))
}

/// What the relay after a call adds to its step.
#[derive(Debug, Default)]
pub(super) struct After {
    /// Ids of the messages that it became.
    pub(super) filed: Vec<String>,
    /// For the model.
    pub(super) context: Option<String>,
    /// For the user.
    pub(super) notes: Vec<String>,
}

/// A call that has happened, with what is looked at around it.
pub(super) struct Happening<'a> {
    pub(super) adapter: &'a Adapter,
    pub(super) event: &'a Event,
    pub(super) asker: &'a Asker,
    pub(super) surroundings: &'a Surroundings,
    pub(super) dotdirs: &'a Dotdirs,
}

impl Happening<'_> {
    /// Looks at what was left about the call: whether it was held, and, where not, at what has changed.
    pub(super) fn after(&self) -> After {
        let mut after = After::default();
        let Some(session) = self.event.session.as_deref() else { return after };
        let Some(call) = calls::take(&self.surroundings.state, &calls::key(session, self.event.call.as_deref())) else { return after };
        match call.stage {
            Stage::Ended => after.filed.clone_from(&call.filed),
            // In the background, and held there.
            Stage::Held => {}
            Stage::Asked => {
                after.notes.push("loci: a command that was to be held by the kernel ran outside custody, or not at all".to_owned());
                self.look(session, &call, &mut after);
            }
            Stage::Watched => self.look(session, &call, &mut after),
        }
        after
    }

    fn look(&self, session: &str, call: &Call, after: &mut After) {
        let Some(from) = call.launch.as_deref().or(call.cwd.as_deref()) else { return };
        let Ok(root) = jail::top(from, &self.surroundings.home, self.dotdirs) else { return };
        let begun = Moment::now().up;
        let mut seen = witness::look(&root, call.since_ns, LOOK);
        for dir in find::beside(&root, &self.surroundings.home) {
            let more = witness::look(&dir, call.since_ns, LOOK.saturating_sub(Moment::now().up.saturating_sub(begun)));
            seen.acts.extend(more.acts);
            seen.incomplete |= more.incomplete;
        }
        let ruling = custody::rule(&seen.acts, self.asker, self.surroundings);
        if seen.incomplete {
            after.notes.push("loci: the look at what a command has changed is incomplete: the time for it was over".to_owned());
        }
        if ruling.verdict != Verdict::Refuse {
            return;
        }
        let sub_agent = self.event.sub_agent();
        let happened = Happened {
            asker: self.asker,
            harness: self.adapter.name,
            session,
            call: self.event.call.as_deref(),
            sub_agent: sub_agent.as_deref(),
            tool: &self.event.tool,
            at: time::now(),
        };
        for outcome in slip::send(&happened, &ruling, self.surroundings) {
            match outcome {
                Ok(id) => after.filed.push(id),
                Err(why) => after.notes.push(format!("loci: an owner could not be told what has changed: {why}")),
            }
        }
        let refused: Vec<_> = ruling.refused().collect();
        let one = |act: &&custody::ActRuling| {
            let whose = act.owner.as_ref().map_or("somebody", |owner| owner.who.name());
            let how = if act.act.kind == ActKind::Remove { ", removed" } else { "" };
            format!("{} ({whose}'s{how})", shown::path(act.path()))
        };
        let named: Vec<String> = refused.iter().take(MAX_NAMED).map(one).collect();
        let more = refused.len().saturating_sub(MAX_NAMED);
        let and = if more == 0 { String::new() } else { format!(" and {more} more") };
        let told = if after.filed.is_empty() { String::new() } else { format!(" Its owner was told ({}).", after.filed.join(", ")) };
        let text = format!(
            "While this command ran, what is not yours has changed: {}{and}.{told} Nothing was taken back. If it was this command: undo it, or tell the owner why with `loci delegate`; and run what writes there as `loci exec -- COMMAND`, which holds it.",
            named.join(", ")
        );
        after.notes.push(format!("loci: {text}"));
        after.context = Some(format!("[loci] {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_put_into_another_as_it_is() {
        let line = Line { own: "/l o", key: "0123456789abcdef", capture: true, shell: "bash", text: "echo 'a b'" };
        assert_eq!(line.plain(), r"'/l o' exec --call 0123456789abcdef --capture -- 'bash' -c 'echo '\''a b'\'''");
        let input = json!({ "command": "make", "timeout": 5, "description": "make" });
        assert_eq!(replaced(&input, "make", "held"), Some(json!({ "command": "held", "timeout": 5, "description": "make" })));
        for input in [json!({ "command": "other" }), json!({ "command": ["make"] }), json!("make"), json!({ "script": "make" })] {
            assert_eq!(replaced(&input, "make", "held"), None);
        }
    }
}
