//! Putting the relays in.

use std::path::Path;

use super::bare::bare;
use super::file::{may_write, missing_above, read, text};
use super::receipt::Receipt;
use super::splice::Unfit;
use super::take::take_out;
use super::whole::{TAKEN, Target, targets};
use super::{Change, ConnectError, Edit, Ground, Reach, link, relay, strict, trust};
use crate::hooks::harness::{Adapter, Call, Relay};
use crate::sys::disk;
use crate::sys::plan::{Plan, Step};

impl Change {
    /// Whether the harness has been told already that the relays which will stand there are trusted.
    #[must_use]
    pub fn is_trusted(&self, adapter: &Adapter, ground: &Ground<'_>) -> bool {
        let Some(edit) = self.edits.first() else { return false };
        let spot = self.spot(edit);
        let after = String::from_utf8_lossy(edit.after.as_deref().unwrap_or_default()).into_owned();
        matches!(trust::missing(adapter, ground, &spot, &relay::every(adapter), &after), Ok(None))
    }

    /// Has the harness told as well that the relays are trusted. `at` is the time.
    ///
    /// # Errors
    /// Where what it keeps can't be worked on.
    pub fn trust(&mut self, adapter: &Adapter, ground: &Ground<'_>, at: &str) -> Result<(), ConnectError> {
        let Some(edit) = self.edits.first().cloned() else { return Ok(()) };
        let after = text(&edit.file, edit.after.as_deref())?;
        if let Some(more) = trust::give(adapter, ground, &self.spot(&edit), after, &mut self.plan, at)? {
            self.edits.push(more);
            once_each(&mut self.plan);
        }
        Ok(())
    }
}

/// What connecting a harness takes. `program` is what the link is to lead to; with `observe` the
/// relays only watch.
///
/// # Errors
/// Where the configuration can't be worked on.
pub fn connect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, program: &Path, observe: bool) -> Result<Change, ConnectError> {
    let spot = ground.spot(adapter, reach)?;
    let call = ground.call(adapter, reach, observe)?;
    let mut change = Change::of(&spot);
    let mut linked = Plan::default();
    if link::put(&mut linked, &ground.link(), program)? {
        // Before the link: one that a killed run has left is then known to be ours.
        link::mark(&mut change.plan, ground.state)?;
    }
    change.plan.steps.extend(linked.steps);
    for target in targets(adapter, spot, Some(&call))? {
        if target.ours.is_none() && matches!(adapter.wiring.relay, Relay::Files(_)) {
            take_out(adapter, &target.spot, ground, &mut change)?;
            continue;
        }
        put_in(adapter, reach, ground, &call, target, &mut change)?;
    }
    once_each(&mut change.plan);
    Ok(change)
}

/// Several files may want the same folder made.
fn once_each(plan: &mut Plan) {
    let mut made = Vec::new();
    plan.steps.retain(|step| match step {
        Step::MakeDir { path } if made.contains(path) => false,
        Step::MakeDir { path } => {
            made.push(path.clone());
            true
        }
        _ => true,
    });
}

fn put_in(
    adapter: &Adapter,
    reach: &Reach,
    ground: &Ground<'_>,
    call: &Call,
    target: Target,
    change: &mut Change,
) -> Result<(), ConnectError> {
    let Target { spot, ours } = target;
    let file = spot.file.clone();
    let before = read(&file)?;
    let kept = Receipt::read(ground.state, adapter.name, &spot)?;
    // What stood there without us: as it was kept, if nobody has been at it since.
    let bare = bare(adapter, &spot, before.as_deref(), kept.as_ref(), ground.state)?;
    let program = ours.as_ref().is_some_and(|ours| ours.program);
    let (after, made) = match ours {
        Some(ours) => {
            if bare.is_some() {
                return Err(ConnectError::File { path: file, why: TAKEN });
            }
            (ours.text.into_bytes(), Vec::new())
        }
        None => {
            let lists = relay::lists(adapter, call);
            let unfit = |unfit| ConnectError::Unfit { path: file.clone(), unfit };
            let now = text(&file, before.as_deref())?;
            readable(adapter, &file, now)?;
            change.foreign.extend(relay::foreign(&lists, now).map_err(unfit)?);
            if relay::stand_in(&relay::all(adapter, call), now).map_err(unfit)? {
                (now.as_bytes().to_vec(), Vec::new())
            } else {
                let bare = text(&file, bare.as_deref())?;
                let made = relay::missing(&lists, bare, before.is_none()).map_err(unfit)?;
                (relay::put_into(&lists, bare).map_err(unfit)?.into_bytes(), made)
            }
        }
    };
    // One that is a program has to be one.
    let idle = program && disk::look_through(&file)?.is_some_and(|meta| meta.mode & 0o100 == 0);
    if before.as_ref() != Some(&after) || idle {
        may_write(&file)?;
        let folders = missing_above(&file);
        // Those that were made for another file of ours go with whichever goes last.
        let mut going = Receipt::folders_above(ground.state, &file);
        going.extend(folders.iter().filter(|folder| !going.contains(folder)).cloned().collect::<Vec<_>>());
        let receipt = Receipt::new(adapter.name, &spot, made, bare.as_deref(), &after, going, kept.as_ref());
        if let Some(old) = kept.filter(|old| old.file != file) {
            old.remove(&mut change.plan, ground.state)?;
        }
        receipt.write(&mut change.plan, ground.state, bare.as_deref())?;
        change.plan.steps.extend(folders.into_iter().map(|path| Step::MakeDir { path }));
        let mode = match (before.is_none(), program, reach) {
            (_, true, _) => Some(0o755),
            // A user's settings may hold secrets; what is tracked with a project holds none.
            (true, false, Reach::User) => Some(0o600),
            _ => None,
        };
        change.plan.steps.push(Step::Write { path: file.clone(), data: after.clone(), mode, was: before.clone() });
    }
    change.edits.push(Edit { file, before, after: Some(after) });
    Ok(())
}

/// Whether the harness itself can read what stands there. One that can't throws all of it away, and what is
/// put in with it: nobody would be asked.
pub(super) fn readable(adapter: &Adapter, file: &Path, now: &str) -> Result<(), ConnectError> {
    let Relay::Groups { comments, mark, .. } = adapter.wiring.relay else { return Ok(()) };
    let refused = |line, why: &str| {
        let why = format!("{} {why} there, and leaves the whole file out", adapter.title);
        Err(ConnectError::Unfit { path: file.to_owned(), unfit: Unfit { line, why } })
    };
    if !mark && now.starts_with(strict::MARK) {
        return refused(1, "takes no byte order mark (the three bytes EF BB BF)");
    }
    if now.trim().is_empty() {
        return Ok(());
    }
    let Err(unfit) = strict::strictly(now, comments) else { return Ok(()) };
    if !comments && strict::strictly(now, true).is_ok() {
        return refused(unfit.line, "takes no comments");
    }
    if unfit.why == strict::TRAILING {
        return refused(unfit.line, "takes no trailing commas");
    }
    refused(unfit.line, &format!("takes no such JSON ({})", unfit.why))
}
