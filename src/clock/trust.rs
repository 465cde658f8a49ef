//! What a person allowed here: roots that are enrolled, jobs that are accepted, jobs that are armed. All of
//! it stands in the log of grants of this machine, bound to the digest of what was allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::job::{Action, Job, Loop};
use super::loops::Next;
use crate::custody::grants;
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::time;
use crate::text::digest;

/// How many words of a command line are looked at as scripts, and how long one may be.
const MAX_WORDS: usize = 64;
const MAX_SCRIPT: u64 = 4 << 20;

/// What is allowed in one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Whether the root is enrolled.
    pub enrolled: bool,
    /// Whether its jobs need no accepting.
    pub live: bool,
    /// Digests over a name and what was accepted of it: of thousands of jobs it is much what they are.
    accepted: BTreeSet<[u8; 32]>,
    armed: BTreeMap<String, BTreeMap<String, String>>,
    wakes: BTreeMap<String, PathBuf>,
    stamp: Option<(u64, i128)>,
}

impl Trust {
    /// Reads it again where the log has changed. Says whether it has.
    ///
    /// # Errors
    /// Where the log is there and can't be read: nothing is allowed then.
    pub fn refresh(&mut self, state: &Path, root: &Path) -> Result<bool, PathError> {
        let meta = disk::look(&grants::file(state))?;
        let stamp = meta.map(|meta| (meta.len, meta.mtime_ns));
        if stamp.is_some() && stamp == self.stamp {
            return Ok(false);
        }
        let changed = self.stamp != stamp || stamp.is_none();
        *self = Self { stamp, ..Self::read(state, root)? };
        Ok(changed)
    }

    /// Reads what is allowed.
    ///
    /// # Errors
    /// Where the log is there and can't be read.
    pub fn read(state: &Path, root: &Path) -> Result<Self, PathError> {
        let mut trust = Self::default();
        for grant in grants::read(state)?.all {
            let text = |key: &str| grant.record.get(key).and_then(Value::as_str);
            if text("root").map(Path::new) != Some(root) {
                continue;
            }
            match (grant.kind.as_str(), text("job"), text("hash")) {
                ("enrol", _, _) => {
                    trust.enrolled = true;
                    trust.live |= grant.record.get("live").and_then(Value::as_bool).unwrap_or(false);
                    let jobs = grant.record.get("accepted").and_then(Value::as_object);
                    for (job, hash) in jobs.into_iter().flatten() {
                        if let Some(hash) = hash.as_str() {
                            trust.accepted.insert(accepted(job, hash));
                        }
                    }
                }
                ("accept", Some(job), Some(hash)) => _ = trust.accepted.insert(accepted(job, hash)),
                ("arm", Some(job), Some(hash)) => {
                    if let Some(body) = text("body") {
                        trust.wakes.insert(job.to_owned(), PathBuf::from(body));
                    }
                    trust.armed.entry(job.to_owned()).or_default().insert(hash.to_owned(), grant.id.clone());
                }
                _ => {}
            }
        }
        Ok(trust)
    }

    /// Whether a job as it is was accepted.
    #[must_use]
    pub fn is_accepted(&self, job: &Job, dir: &Path) -> bool {
        // What no file says is accepted by arming it.
        matches!(job.action, Action::Wake { .. }) || self.live || self.accepts(&job.name, &accept_hash(job, dir))
    }

    /// Whether what a job does was armed.
    #[must_use]
    pub fn is_armed(&self, job: &Job, dir: &Path) -> bool {
        self.arms(&job.name, &arm_hash(job, dir))
    }

    /// Whether something of this name was accepted as this.
    #[must_use]
    pub fn accepts(&self, name: &str, hash: &str) -> bool {
        self.live || self.accepted.contains(&accepted(name, hash))
    }

    /// Whether something of this name was armed as this.
    #[must_use]
    pub fn arms(&self, name: &str, hash: &str) -> bool {
        self.armed.get(name).is_some_and(|hashes| hashes.contains_key(hash))
    }

    /// The bodies that somebody armed to be woken, relative to the root, by the name of the job.
    #[must_use]
    pub fn wakes(&self) -> &BTreeMap<String, PathBuf> {
        &self.wakes
    }

    /// The grants that arm a job, whatever it does now.
    #[must_use]
    pub fn arms_of(&self, job: &str) -> Vec<String> {
        self.armed.get(job).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }
}

/// What stands for a name with the hash that was accepted of it.
fn accepted(name: &str, hash: &str) -> [u8; 32] {
    digest::bytes_of_parts([name.as_bytes(), hash.as_bytes()])
}

/// The digest that accepting is bound to: the file, and the scripts in the tree that it names.
#[must_use]
pub fn accept_hash(job: &Job, dir: &Path) -> String {
    over(&job.file, job, dir)
}

/// The digest that arming is bound to: what the job does, and the scripts in the tree that it names.
#[must_use]
pub fn arm_hash(job: &Job, dir: &Path) -> String {
    over(&job.does, job, dir)
}

/// What accepting and arming a loop are bound to: its file, what it does, and with either the scripts that its transition
/// names and the body that it embodies.
#[must_use]
pub fn loop_hashes(one: &Loop, dir: &Path) -> (String, String) {
    let line = match &one.definition.next {
        Next::Run(line) => line.as_str(),
        _ => "",
    };
    (bound(&one.job.file, line, &one.job, dir), bound(&one.job.does, line, &one.job, dir))
}

fn over(own: &[u8; 32], job: &Job, dir: &Path) -> String {
    let line = match &job.action {
        Action::Run(line) => line,
        Action::Agent { .. } | Action::Wake { .. } => "",
    };
    bound(own, line, job, dir)
}

fn bound(own: &[u8; 32], line: &str, job: &Job, dir: &Path) -> String {
    let scripts = scripts(line, dir);
    let mut parts: Vec<&[u8]> = vec![own];
    // A body is what its identity file says: another text or another program in it does something else.
    let identity = match &job.action {
        Action::Agent { body, .. } | Action::Wake { body, .. } => Some(super::wake::identity_digest(&dir.join(body))),
        Action::Run(_) => None,
    };
    parts.extend(identity.iter().map(|digest| digest.as_slice()));
    for (word, text) in &scripts {
        parts.push(word.as_bytes());
        parts.push(text);
    }
    digest::sha256_of_parts(parts)
}

/// Programs whose first argument is a program too.
const INTERPRETERS: [&str; 13] = ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "env", "nice", ".", "source"];

/// Endings of scripts.
const ENDINGS: [&str; 11] = ["sh", "bash", "py", "js", "mjs", "ts", "rb", "pl", "php", "lua", "awk"];

/// The words of a command line that may be scripts: what is called, what an interpreter is given, what is
/// named like one. Where output goes is none: it is another file after each run.
fn candidates(line: &str) -> Vec<(String, bool)> {
    let spaced: String = line
        .chars()
        .flat_map(|c| match c {
            ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '\n' => vec![' ', c, ' '],
            '"' | '\'' | '=' => vec![' '],
            c => vec![c],
        })
        .collect();
    let (mut found, mut called, mut target) = (Vec::new(), true, false);
    for word in spaced.split([' ', '\t', '\r']).filter(|word| !word.is_empty()) {
        match word {
            ";" | "|" | "&" | "(" | ")" | "`" | "\n" => (called, target) = (true, false),
            ">" => target = true,
            "<" => {}
            _ if target => target = false,
            _ => {
                let name = word.rsplit('/').next().unwrap_or(word);
                let named = name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending));
                found.push((word.to_owned(), called || named));
                // Behind an interpreter, and behind its flags, stands what is called.
                called = called && (INTERPRETERS.contains(&name) || word.starts_with('-'));
            }
        }
    }
    found
}

/// The scripts below the directory of a job that its command line names, with what stands in them. A file
/// that may be executed is one wherever it is named.
fn scripts(line: &str, dir: &Path) -> Vec<(String, Vec<u8>)> {
    let file = |(word, sure): (String, bool)| -> Option<(String, Vec<u8>)> {
        let path: PathBuf = dir.join(&word);
        let real = disk::canonical(&path).ok().filter(|real| real.starts_with(dir))?;
        let meta = disk::look(&real).ok()?.filter(|meta| meta.kind == Kind::File)?;
        if !sure && meta.mode & 0o111 == 0 {
            return None;
        }
        Some((word, disk::read_bounded(&real, MAX_SCRIPT).ok()??))
    };
    candidates(line).into_iter().take(MAX_WORDS).filter_map(file).collect()
}

/// The line that grants something, and its id.
#[must_use]
pub fn line(kind: &str, root: &Path, more: &[(&str, Value)], at: Timestamp, salt: &str) -> (String, Value) {
    let at = time::to_second(at);
    let id: String = digest::sha256_of_parts([kind.as_bytes(), at.as_bytes(), salt.as_bytes()]).chars().take(12).collect();
    let mut record = json!({ "schema": 1, "at": at, "event": "granted", "id": id, "kind": kind, "root": root.to_str() });
    if let Some(object) = record.as_object_mut() {
        object.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    }
    (id, record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_from_where_output_goes() {
        let sure = |line: &str| -> Vec<String> { candidates(line).into_iter().filter(|(_, sure)| *sure).map(|(word, _)| word).collect() };
        assert_eq!(sure("./work.sh > out/log 2> out/err; echo ok >> out/done"), ["./work.sh", "echo"]);
        assert_eq!(sure("cd x && bash -e run | tee log"), ["cd", "bash", "-e", "run", "tee"]);
        assert_eq!(sure("python3 tools/report.py --out out/report.md"), ["python3", "tools/report.py"]);
        assert!(candidates("echo x >> started; echo $$ > out/done").iter().all(|(word, _)| word != "started" && word != "out/done"));
    }
}
