//! Connectors: putting the relays into a harness's own configuration, and taking them out.
//!
//! What stands in the configuration is a harness's and its user's: nothing in it changes but the
//! relays. What is needed to give back every byte is kept in the state folder: a receipt for each
//! file, and the file as it was.

pub mod check;
mod jsonc;
mod receipt;
mod relay;
pub mod splice;
pub mod tamper;
pub mod trust;
mod yaml;

use std::path::{Path, PathBuf};

use receipt::Receipt;
use splice::{Made, Unfit};

use crate::hooks::harness::{self, Adapter, Call, Ours, Relay};
use crate::sys::disk::{self, Kind, PathError};
use crate::sys::env::Env;
use crate::sys::plan::{Plan, Step};
use crate::sys::shown;
use crate::tree::{climb, real};

/// The most of a configuration that is worked on.
const MAX_FILE: u64 = 4 << 20;

/// Whose configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The user's: every project.
    User,
    /// One user's in a project: the file is not tracked with it.
    Project(PathBuf),
    /// Everybody's in a project: the file is tracked with it.
    Shared(PathBuf),
}

/// Where things are on this machine.
#[derive(Debug, Clone)]
pub struct Ground<'a> {
    /// The environment, for the variables that move a harness's folder.
    pub env: &'a Env,
    /// The home that holds the registry.
    pub home: &'a Path,
    /// The user's own home, which harnesses use.
    pub user_home: &'a Path,
    /// The machine-local state folder.
    pub state: &'a Path,
}

/// What becomes of one file.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The file (real, where it is there).
    pub file: PathBuf,
    /// What stands in it; `None` where it is not there.
    pub before: Option<Vec<u8>>,
    /// What will stand in it; `None` where it will not be there.
    pub after: Option<Vec<u8>>,
}

/// What is to be done to one harness, as a value.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its configuration file; of several, the one that is looked for.
    pub file: PathBuf,
    /// The files, in their order.
    pub edits: Vec<Edit>,
    /// Commands that stand in it and call another `loci` than relays do: they are left alone.
    pub foreign: Vec<String>,
    /// How many files with what is trusted change along.
    trusted: usize,
    /// The folders that were made for files which are taken out.
    folders: Vec<PathBuf>,
    /// All that has to be done; empty where it is done already.
    pub plan: Plan,
}

impl Change {
    /// Whether the harness has been told already that the relays which will stand there are trusted.
    #[must_use]
    pub fn is_trusted(&self, adapter: &Adapter, ground: &Ground<'_>) -> bool {
        let Some(edit) = self.edits.first() else { return false };
        let after = String::from_utf8_lossy(edit.after.as_deref().unwrap_or_default()).into_owned();
        matches!(trust::missing(adapter, ground, &edit.file, &relay::every(adapter), &after), Ok(None))
    }

    /// Has the harness told as well that the relays are trusted. `at` is the time.
    ///
    /// # Errors
    /// Where what it keeps can't be worked on.
    pub fn trust(&mut self, adapter: &Adapter, ground: &Ground<'_>, at: &str) -> Result<(), ConnectError> {
        let Some(edit) = self.edits.first().cloned() else { return Ok(()) };
        let after = text(&edit.file, edit.after.as_deref())?;
        if let Some(more) = trust::give(adapter, ground, &edit.file, after, &mut self.plan, at)? {
            self.edits.push(more);
            once_each(&mut self.plan);
        }
        Ok(())
    }
}

/// Why a configuration can't be worked on; reads on after "failed to …". Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// What stands in the file does not allow it.
    #[error("change {}: {}", shown::path(.path), .unfit.why)]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Where and why.
        unfit: Unfit,
    },
    /// The file can't be used at all.
    #[error("change {}: {why}", shown::path(.path))]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The harness reads no such file.
    #[error("connect {title} for one user in a project: it reads no file there that is not tracked")]
    NoLocal {
        /// The harness.
        title: &'static str,
    },
    /// The harness reads no file of a project.
    #[error("connect {title} for a project: it reads no hooks there")]
    NoShared {
        /// The harness.
        title: &'static str,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] PathError),
}

impl Ground<'_> {
    /// The name of the program that stays true over upgrades: a link.
    #[must_use]
    pub fn link(&self) -> PathBuf {
        self.home.join(".loci/bin/loci")
    }

    /// The configuration folder of a harness.
    #[must_use]
    pub fn folder(&self, adapter: &Adapter) -> PathBuf {
        let (variable, tail) = adapter.wiring.moved_by;
        let moved = self.env.get(variable).map(Path::new).filter(|path| path.is_absolute());
        moved.map_or_else(|| self.user_home.join(adapter.wiring.folder), |folder| folder.join(tail))
    }

    /// The file that a relay goes into, links followed.
    ///
    /// # Errors
    /// Where the harness has none of that kind, or a link leads nowhere.
    pub fn file(&self, adapter: &Adapter, reach: &Reach) -> Result<PathBuf, ConnectError> {
        let path = match reach {
            Reach::User => self.folder(adapter).join(adapter.wiring.file),
            Reach::Shared(project) => match adapter.wiring.shared {
                Some(shared) => project.join(shared),
                None => return Err(ConnectError::NoShared { title: adapter.title }),
            },
            Reach::Project(project) => match adapter.wiring.local {
                Some(local) => project.join(local),
                None => return Err(ConnectError::NoLocal { title: adapter.title }),
            },
        };
        real(path)
    }

    fn call(&self, adapter: &Adapter, reach: &Reach, observe: bool) -> Result<Call, ConnectError> {
        let link = self.link();
        let program = match reach {
            Reach::Shared(_) => None,
            Reach::User | Reach::Project(_) => match link.to_str() {
                Some(text) => Some(text.to_owned()),
                None => return Err(ConnectError::File { path: link, why: "its name is not UTF-8, so no configuration can name it" }),
            },
        };
        Ok(Call { program, harness: adapter.name, observe })
    }
}

/// The file that a name leads to.
fn real(path: PathBuf) -> Result<PathBuf, ConnectError> {
    match disk::look(&path)?.map(|meta| meta.kind) {
        None | Some(Kind::File) => Ok(path),
        Some(Kind::Link) if disk::is_file(&path) => Ok(disk::canonical(&path)?),
        Some(Kind::Link) => Err(ConnectError::File { path, why: "it is a link that leads to no file" }),
        Some(_) => Err(ConnectError::File { path, why: "it is not a file" }),
    }
}

/// One of the files of a harness, and what is to stand in it.
struct Target {
    file: PathBuf,
    /// `None`: nothing of ours.
    ours: Option<Ours>,
}

/// The files of a harness: the one that holds its settings, or those that are ours as a whole. The
/// latter that are not wanted this time are named as well.
fn targets(adapter: &Adapter, file: PathBuf, call: Option<&Call>) -> Result<Vec<Target>, ConnectError> {
    let Relay::Files(make) = adapter.wiring.relay else { return Ok(vec![Target { file, ours: None }]) };
    let wanted = call.map(make).unwrap_or_default();
    let every = |observe| make(&Call { program: None, harness: adapter.name, observe });
    let mut names: Vec<String> = wanted.iter().map(|ours| ours.name.clone()).collect();
    for ours in [every(false), every(true)].into_iter().flatten() {
        if !names.contains(&ours.name) {
            names.push(ours.name);
        }
    }
    let named = |name: String| {
        let own = file.file_name().is_some_and(|own| own == name.as_str());
        let path = if own { file.clone() } else { real(file.with_file_name(&name))? };
        Ok(Target { file: path, ours: wanted.iter().find(|ours| ours.name == name).cloned() })
    };
    names.into_iter().map(named).collect()
}

/// What connecting a harness takes. `program` is what the link is to lead to; with `observe` the
/// relays only watch.
///
/// # Errors
/// Where the configuration can't be worked on.
pub fn connect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, program: &Path, observe: bool) -> Result<Change, ConnectError> {
    let file = ground.file(adapter, reach)?;
    let call = ground.call(adapter, reach, observe)?;
    let mut change =
        Change { file: file.clone(), edits: Vec::new(), foreign: Vec::new(), trusted: 0, folders: Vec::new(), plan: Plan::default() };
    let mut linked = Plan::default();
    if link(&mut linked, &ground.link(), program)? {
        // Before the link: one that a killed run has left is then known to be ours.
        mark(&mut change.plan, ground.state)?;
    }
    change.plan.steps.extend(linked.steps);
    for target in targets(adapter, file, Some(&call))? {
        if target.ours.is_none() && matches!(adapter.wiring.relay, Relay::Files(_)) {
            take_out(adapter, &target.file, ground, &mut change)?;
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
    let Target { file, ours } = target;
    let before = read(&file)?;
    let kept = Receipt::read(ground.state, adapter.name, &file)?;
    // What stood there without us: as it was kept, if nobody has been at it since.
    let bare = bare(adapter, &file, before.as_deref(), kept.as_ref(), ground.state)?;
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
        let receipt = Receipt::new(adapter.name, &file, made, bare.as_deref(), &after, folders.clone(), kept.as_ref());
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
fn readable(adapter: &Adapter, file: &Path, now: &str) -> Result<(), ConnectError> {
    let Relay::Groups { comments, .. } = adapter.wiring.relay else { return Ok(()) };
    if now.trim().is_empty() {
        return Ok(());
    }
    splice::strictly(now, comments).map_err(|unfit| {
        let takes = if comments { "no trailing commas" } else { "no comments and no trailing commas" };
        let why = format!("{} takes {takes} there, and leaves the whole file out: {}", adapter.title, unfit.why);
        ConnectError::Unfit { path: file.to_owned(), unfit: Unfit { line: unfit.line, why } }
    })
}

/// What taking the relays out takes.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>) -> Result<Change, ConnectError> {
    let file = ground.file(adapter, reach)?;
    let mut change =
        Change { file: file.clone(), edits: Vec::new(), foreign: Vec::new(), trusted: 0, folders: Vec::new(), plan: Plan::default() };
    let mut let_go = 0;
    let mut targets = targets(adapter, file, None)?;
    // The folder goes with the file that it came with, which was the first one.
    targets.reverse();
    for target in targets {
        let_go += usize::from(take_out(adapter, &target.file, ground, &mut change)?);
    }
    let_go += change.trusted;
    // Relays that are part of a project, of which nothing is kept here, may call it still: it goes only where connecting has
    // made it.
    let mark = made_link(ground.state);
    if let_go > 0
        && Receipt::count(ground.state)? <= let_go
        && let Some(was) = disk::read_if_there(&mark)?
    {
        unlink(&mut change.plan, &ground.link())?;
        change.plan.steps.push(Step::Remove { path: mark, was, mode: 0o600 });
    }
    Ok(change)
}

/// Takes what is ours out of one file; whether there was a receipt for it.
fn take_out(adapter: &Adapter, file: &Path, ground: &Ground<'_>, change: &mut Change) -> Result<bool, ConnectError> {
    let before = read(file)?;
    let kept = Receipt::read(ground.state, adapter.name, file)?;
    let after = bare(adapter, file, before.as_deref(), kept.as_ref(), ground.state)?;
    if kept.is_some()
        && let Some(now) = &before
        && trust::take_back(adapter, ground, file, text(file, Some(now))?, &mut change.plan)?
    {
        change.trusted += 1;
    }
    if let Some(was) = before.clone().filter(|_| before != after) {
        may_write(file)?;
        match after.clone() {
            Some(data) => change.plan.steps.push(Step::Write { path: file.to_owned(), data, mode: None, was: Some(was) }),
            None => {
                let mode = disk::look(file)?.map_or(0o644, |meta| meta.mode);
                change.plan.steps.push(Step::Remove { path: file.to_owned(), was, mode });
                // The folders that came with it go with the last of the files, from the innermost on, as far as they
                // are empty.
                for folder in kept.iter().flat_map(|receipt| &receipt.folders) {
                    if !change.folders.contains(folder) {
                        change.folders.push(folder.clone());
                    }
                }
                change.folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
                let going = |step: &Step| matches!(step, Step::Remove { .. } | Step::RemoveDir { .. }).then(|| step.path().to_owned());
                let mut inner: Vec<PathBuf> = change.plan.steps.iter().filter_map(going).collect();
                for folder in &change.folders {
                    let alone = disk::list(folder).is_ok_and(|there| there.iter().all(|entry| inner.contains(&folder.join(&entry.name))));
                    if !alone {
                        break;
                    }
                    change.plan.steps.push(Step::RemoveDir { path: folder.clone() });
                    inner.push(folder.clone());
                }
            }
        }
    }
    if let Some(receipt) = &kept {
        receipt.remove(&mut change.plan, ground.state)?;
    }
    if before.is_some() || file == change.file {
        change.edits.push(Edit { file: file.to_owned(), before, after });
    }
    Ok(kept.is_some())
}

/// What stands in a configuration without our relays: what was kept, byte for byte, where nobody has
/// been at it since; `None` where nothing is left of what was made.
fn bare(adapter: &Adapter, file: &Path, now: Option<&[u8]>, kept: Option<&Receipt>, state: &Path) -> Result<Option<Vec<u8>>, ConnectError> {
    if let Some(receipt) = kept
        && let Some(original) = receipt.original(state, now)?
    {
        return Ok(original);
    }
    let Some(now) = now else { return Ok(None) };
    if let Relay::Files(make) = adapter.wiring.relay {
        return without_ours(adapter, make, file, now, kept.is_some());
    }
    let lists = relay::every(adapter);
    let unfit = |unfit| ConnectError::Unfit { path: file.to_owned(), unfit };
    let text = text(file, Some(now))?;
    if !relay::called_in(&lists, text).map_err(unfit)? {
        return Ok(Some(now.to_vec()));
    }
    // Without a receipt nobody knows what was made along; an empty list says nothing, so it goes.
    let made = |event: &str| kept.map_or(Made::Hooks, |receipt| receipt.made_for(event));
    let left = relay::taken_from(&lists, text, &made).map_err(unfit)?;
    let gone = left.trim().is_empty() && kept.is_some_and(|receipt| receipt.before.is_none());
    Ok((!gone).then(|| left.into_bytes()))
}

/// What is left of a file that is ours as a whole: nothing, in this or an older form; what somebody has added
/// to it.
fn without_ours(
    adapter: &Adapter,
    make: fn(&Call) -> Vec<Ours>,
    file: &Path,
    now: &[u8],
    kept: bool,
) -> Result<Option<Vec<u8>>, ConnectError> {
    let Ok(text) = std::str::from_utf8(now) else { return Ok((!is_ours(adapter, now)).then(|| now.to_vec())) };
    if let Some(left) = relay::without_hooks(adapter, text) {
        return Ok(left.map(String::into_bytes));
    }
    if !is_ours(adapter, now) {
        return Ok(Some(now.to_vec()));
    }
    // Which program it calls stands in it, and the rest of it as well: it is looked for as it would be written for that.
    let name = file.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let program = programs(text);
    let forms =
        program.iter().flat_map(|program| [false, true].map(|observe| Call { program: program.clone(), harness: adapter.name, observe }));
    let texts = forms.flat_map(|call| make(&call)).filter(|ours| ours.name == name).map(|ours| ours.text);
    for ours in texts {
        if let Some((before, after)) = text.split_once(&ours) {
            let left = format!("{before}{after}");
            return Ok((!left.trim().is_empty()).then(|| left.into_bytes()));
        }
    }
    if kept {
        return Err(ConnectError::File { path: file.to_owned(), why: CHANGED });
    }
    Ok(None)
}

/// The programs that a file of ours may call.
fn programs(text: &str) -> Vec<Option<String>> {
    let links = text.match_indices("/.loci/bin/loci").filter_map(|(at, found)| {
        let before = text.get(..at)?;
        let start = before.rfind(['"', '\'', ' ', '\n']).map_or(0, |at| at + 1);
        let path = text.get(start..at + found.len())?;
        path.starts_with('/').then(|| Some(path.to_owned()))
    });
    let mut all: Vec<Option<String>> = links.chain([None]).collect();
    all.sort();
    all.dedup();
    all
}

/// Why a file of ours is not touched.
pub const CHANGED: &str = "somebody has changed it since it was put there";
/// Why a file that we would put there is not.
pub const TAKEN: &str = "something that is not ours stands there";

/// Whether a file is one that is ours as a whole: it says so near its top, or each command in it is.
fn is_ours(adapter: &Adapter, now: &[u8]) -> bool {
    let top = now.get(..now.len().min(200)).unwrap_or_default();
    String::from_utf8_lossy(top).contains(OURS) || std::str::from_utf8(now).is_ok_and(|text| relay::without_hooks(adapter, text).is_some())
}

/// What stands near the top of a file that is ours as a whole.
const OURS: &str = "Put here by `loci connect ";

fn read(file: &Path) -> Result<Option<Vec<u8>>, ConnectError> {
    if disk::look_through(file)?.is_some_and(|meta| meta.len > MAX_FILE) {
        return Err(ConnectError::File { path: file.to_owned(), why: "it is larger than 4 MiB" });
    }
    Ok(disk::read_if_there(file)?)
}

fn text<'a>(file: &Path, data: Option<&'a [u8]>) -> Result<&'a str, ConnectError> {
    let invalid = |error: std::str::Utf8Error| {
        let line = data.unwrap_or_default().iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
        ConnectError::Unfit { path: file.to_owned(), unfit: Unfit { line, why: "it is not UTF-8 text".to_owned() } }
    };
    std::str::from_utf8(data.unwrap_or_default()).map_err(invalid)
}

/// A file without the right to write is left alone, though its folder would let us replace it.
fn may_write(file: &Path) -> Result<(), ConnectError> {
    match disk::look(file)? {
        Some(meta) if meta.mode & 0o200 == 0 => Err(ConnectError::File { path: file.to_owned(), why: "it is read-only" }),
        _ => Ok(()),
    }
}

/// The folders above a path that are not there, outermost first.
fn missing_above(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = climb::up(path).skip(1).take_while(|dir| !disk::is_dir(dir)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// Makes the link that relays call, or sets it right; whether it was not there.
fn link(plan: &mut Plan, link: &Path, program: &Path) -> Result<bool, ConnectError> {
    let kind = disk::look(link)?.map(|meta| meta.kind);
    match kind {
        None => plan.steps.extend(missing_above(link).into_iter().map(|path| Step::MakeDir { path })),
        Some(Kind::Link) => {
            let target = disk::read_link(link)?;
            if target == program || disk::canonical(link).is_ok_and(|leads| leads == program) {
                return Ok(false);
            }
            plan.steps.push(Step::Unlink { path: link.to_owned(), target });
        }
        // Somebody put the program itself there: as good as a link.
        Some(Kind::File) => return Ok(false),
        Some(_) => return Err(ConnectError::File { path: link.to_owned(), why: "it is neither a link nor a program" }),
    }
    plan.steps.push(Step::Link { path: link.to_owned(), target: program.to_owned() });
    Ok(kind.is_none())
}

/// The file that says that the link was made by connecting: one that was there before stays.
fn made_link(state: &Path) -> PathBuf {
    state.join("connect/link")
}

fn mark(plan: &mut Plan, state: &Path) -> Result<(), ConnectError> {
    let path = made_link(state);
    if disk::look(&path)?.is_none() {
        plan.steps.extend(missing_above(&path).into_iter().map(|path| Step::MakeDir { path }));
        plan.steps.push(Step::Write { path, data: b"made by loci connect\n".to_vec(), mode: Some(0o600), was: None });
    }
    Ok(())
}

/// Takes the link away, and its folder where nothing else is in it.
fn unlink(plan: &mut Plan, link: &Path) -> Result<(), ConnectError> {
    if disk::look(link)?.is_some_and(|meta| meta.kind == Kind::Link) {
        plan.steps.push(Step::Unlink { path: link.to_owned(), target: disk::read_link(link)? });
        if let Some(folder) = link.parent().filter(|folder| disk::list(folder).is_ok_and(|entries| entries.len() == 1)) {
            plan.steps.push(Step::RemoveDir { path: folder.to_owned() });
        }
    }
    Ok(())
}

/// The folders with settings that loci has connected and that do not have their harness's usual name,
/// each with the name that it stands for.
#[must_use]
pub fn moved(state: &Path) -> Vec<(PathBuf, &'static str)> {
    let one = |(harness, file): (String, PathBuf)| {
        let folder = harness::named(&harness)?.wiring.folder;
        // The receipt has the name that it was connected by; the judge has real ones.
        let parent = real::real(file.parent().filter(|parent| parent.is_absolute())?, true).path;
        (!parent.ends_with(folder)).then_some((parent, folder))
    };
    Receipt::files(state).into_iter().filter_map(one).collect()
}

/// Sets the link right where it leads nowhere any more: an upgrade may have moved the program. Every
/// start of the program but the gate's comes by here; it costs one look.
pub fn mend_link(home: &Path, program: impl FnOnce() -> Option<PathBuf>) {
    let link = home.join(".loci/bin/loci");
    let dangles = matches!(disk::look(&link), Ok(Some(meta)) if meta.kind == Kind::Link) && matches!(disk::look_through(&link), Ok(None));
    if dangles && let (Ok(target), Some(program)) = (disk::read_link(&link), program()) {
        let steps = vec![Step::Unlink { path: link.clone(), target }, Step::Link { path: link, target: program }];
        // Whoever can't mend it finds out by `loci connect --check`.
        let _ = Plan { steps }.apply();
    }
}
