//! What approving a request would do: worked out anew each time, shown, and bound to a hash.

use std::path::{Path, PathBuf};

use crate::cli::context::Context;
use crate::cli::errand::{called, nothing_left, preview};
use crate::cli::failure::Failure;
use crate::cli::grant;
use crate::custody::act::{Act, ActKind};
use crate::custody::maildir::Mailbox;
use crate::custody::requests::{self, Asked, Fit, Request};
use crate::custody::{self, Asker, Who, Why};
use crate::sys::shown;
use crate::text::digest;
use crate::tree::real;

/// What a person is shown before anything is done.
pub(super) struct Shown {
    /// The words.
    pub(super) text: String,
    /// What they, the letter and all that would be done come to.
    pub(super) hash: String,
    /// What would be done.
    pub(super) todo: Todo,
}

/// What would be done.
pub(super) enum Todo {
    /// A patch that fits.
    Patch(crate::sys::plan::Plan),
    /// A verb.
    Verb(Vec<String>, PathBuf),
    /// Nothing is left to be done.
    There,
    /// It can't be done, for this reason.
    Cannot(String),
}

/// Works out what approving a request would do, without doing it.
pub(super) fn look(context: &Context, mailbox: &Mailbox, request: &Request) -> Result<Shown, Failure> {
    let message = &request.message;
    let from = shown::text(message.text("from").unwrap_or("?")).to_string();
    let (words, grounds, todo) = match requests::asked(mailbox, request)? {
        Asked::Nothing(why) => (message.body(), String::new(), Todo::Cannot(why.to_owned())),
        Asked::Patch { target, base, result, diff } => {
            let ruled = judged(context, &target)?;
            let todo = match ruled {
                Err(why) => Todo::Cannot(why),
                Ok(_) => match requests::fit(&target, base.as_deref(), &result, &diff)? {
                    Fit::Plan(plan) => Todo::Patch(plan),
                    Fit::There => Todo::There,
                    Fit::No(why) => Todo::Cannot(why.to_owned()),
                },
            };
            (format!("{}\n{diff}", target.display()), result, todo)
        }
        Asked::Verb { argv, cwd } => {
            let head = format!("in {}: {}", shown::path(&cwd), called(&argv));
            match preview(context, &argv, &cwd) {
                Err(why) => (head, String::new(), Todo::Cannot(why)),
                Ok((words, object)) => {
                    let nothing = nothing_left(&object);
                    let todo = if nothing { Todo::There } else { Todo::Verb(argv, cwd) };
                    (format!("{head}\nwould do:\n{words}"), object, todo)
                }
            }
        }
    };
    let parts = [message.data.as_slice(), words.as_bytes(), grounds.as_bytes()];
    let lengths: Vec<u8> = parts.iter().flat_map(|part| (part.len() as u64).to_le_bytes()).collect();
    let hash = digest::sha256_of_parts(std::iter::once(lengths.as_slice()).chain(parts)).chars().take(32).collect();
    let mut text = format!("{} of {from}\n", message.id);
    for line in words.lines() {
        text.push_str(&line.split('\t').map(|part| shown::text(part).to_string()).collect::<Vec<_>>().join("\t"));
        text.push('\n');
    }
    Ok(Shown { text, hash, todo })
}

/// Whether a path still is what it was: itself and no link to elsewhere, and the human's. Else why not.
fn judged(context: &Context, target: &Path) -> Result<Result<(), String>, Failure> {
    let real = real::real(target, true);
    if real.path != target || real.trouble.is_some() {
        return Ok(Err(format!("it leads to {} by now", shown::path(&real.path))));
    }
    let act = Act { kind: ActKind::Write, path: target.to_owned(), follow: true, below: false };
    let ruling = custody::rule(&[act], &Asker::default(), &grant::surroundings(context)?);
    let human = |act: &custody::ActRuling| {
        matches!(act.why, Why::Wall(_)) || matches!(act.owner.as_ref().map(|owner| &owner.who), Some(Who::Human | Who::Unclear))
    };
    Ok(if ruling.acts.iter().all(human) { Ok(()) } else { Err("it is not the human's any more".to_owned()) })
}
