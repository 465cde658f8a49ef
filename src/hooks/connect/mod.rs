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

use std::path::{Path, PathBuf};

use receipt::Receipt;
use relay::List;
use splice::{Made, Unfit};

use crate::hooks::harness::{self, Adapter, Call, Relay};
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

/// What is to be done to one harness, as a value.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its configuration file (real, where it is there).
    pub file: PathBuf,
    /// What stands in it; `None` where it is not there.
    pub before: Option<Vec<u8>>,
    /// What will stand in it; `None` where it will not be there.
    pub after: Option<Vec<u8>>,
    /// All that has to be done; empty where it is done already.
    pub plan: Plan,
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
            Reach::Shared(project) => project.join(adapter.wiring.shared),
            Reach::Project(project) => match adapter.wiring.local {
                Some(local) => project.join(local),
                None => return Err(ConnectError::NoLocal { title: adapter.title }),
            },
        };
        match disk::look(&path)?.map(|meta| meta.kind) {
            None | Some(Kind::File) => Ok(path),
            Some(Kind::Link) if disk::is_file(&path) => Ok(disk::canonical(&path)?),
            Some(Kind::Link) => Err(ConnectError::File { path, why: "it is a link that leads to no file" }),
            Some(_) => Err(ConnectError::File { path, why: "it is not a file" }),
        }
    }

    fn call(&self, adapter: &Adapter, reach: &Reach) -> Result<Call, ConnectError> {
        let link = self.link();
        let program = match reach {
            Reach::Shared(_) => None,
            Reach::User | Reach::Project(_) => match link.to_str() {
                Some(text) => Some(text.to_owned()),
                None => return Err(ConnectError::File { path: link, why: "its name is not UTF-8, so no configuration can name it" }),
            },
        };
        Ok(Call { program, harness: adapter.name })
    }
}

/// What connecting a harness takes. `program` is what the link is to lead to.
///
/// # Errors
/// Where the configuration can't be worked on.
pub fn connect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>, program: &Path) -> Result<Change, ConnectError> {
    let file = ground.file(adapter, reach)?;
    let before = read(&file)?;
    let call = ground.call(adapter, reach)?;
    let kept = Receipt::read(ground.state, adapter.name, &file)?;
    // What stood there without us: as it was kept, if nobody has been at it since.
    let bare = bare(adapter, &file, before.as_deref(), kept.as_ref(), ground.state)?;
    let (after, made) = match adapter.wiring.relay {
        Relay::File(make) => {
            if bare.is_some() {
                return Err(ConnectError::File { path: file, why: "something that is not ours stands there" });
            }
            (make(&call).into_bytes(), vec![Made::Whole])
        }
        Relay::Groups { event, groups, after, after_group, .. } => {
            let lists = relay::lists(adapter.name, &call, (event, groups), (after, after_group));
            let unfit = |unfit| ConnectError::Unfit { path: file.clone(), unfit };
            let now = text(&file, before.as_deref())?;
            if relay::stand_in(&lists, now).map_err(unfit)? {
                (now.as_bytes().to_vec(), Vec::new())
            } else {
                let bare = text(&file, bare.as_deref())?;
                let made = if before.is_none() { vec![Made::Whole; lists.len()] } else { relay::missing(&lists, bare).map_err(unfit)? };
                (relay::put_into(&lists, bare).map_err(unfit)?.into_bytes(), made)
            }
        }
    };
    let mut plan = Plan::default();
    link(&mut plan, &ground.link(), program)?;
    if before.as_ref() != Some(&after) {
        may_write(&file)?;
        let folders = missing_above(&file);
        let receipt = Receipt::new(adapter.name, &file, &made, bare.as_deref(), &after, folders.clone(), kept.as_ref());
        receipt.write(&mut plan, ground.state, bare.as_deref())?;
        plan.steps.extend(folders.into_iter().map(|path| Step::MakeDir { path }));
        // A user's settings may hold secrets; what is tracked with a project holds none.
        let mode = (before.is_none() && *reach == Reach::User).then_some(0o600);
        plan.steps.push(Step::Write { path: file.clone(), data: after.clone(), mode, was: before.clone() });
    }
    Ok(Change { file, before, after: Some(after), plan })
}

/// What taking the relays out takes.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(adapter: &Adapter, reach: &Reach, ground: &Ground<'_>) -> Result<Change, ConnectError> {
    let file = ground.file(adapter, reach)?;
    let before = read(&file)?;
    let kept = Receipt::read(ground.state, adapter.name, &file)?;
    let after = bare(adapter, &file, before.as_deref(), kept.as_ref(), ground.state)?;
    let mut plan = Plan::default();
    if let Some(was) = before.clone().filter(|_| before != after) {
        may_write(&file)?;
        match after.clone() {
            Some(data) => plan.steps.push(Step::Write { path: file.clone(), data, mode: None, was: Some(was) }),
            None => {
                let mode = disk::look(&file)?.map_or(0o644, |meta| meta.mode);
                plan.steps.push(Step::Remove { path: file.clone(), was, mode });
                // The folders that came with it go with it, from the innermost on, as far as they are empty.
                let mut inner = file.file_name().map(ToOwned::to_owned);
                for folder in kept.iter().flat_map(|receipt| receipt.folders.iter().rev()) {
                    let alone = disk::list(folder).is_ok_and(|there| there.iter().all(|entry| Some(&entry.name) == inner.as_ref()));
                    if !alone {
                        break;
                    }
                    plan.steps.push(Step::RemoveDir { path: folder.clone() });
                    inner = folder.file_name().map(ToOwned::to_owned);
                }
            }
        }
    }
    if let Some(receipt) = &kept {
        receipt.remove(&mut plan, ground.state)?;
        if Receipt::count(ground.state)? <= 1 {
            unlink(&mut plan, &ground.link())?;
        }
    }
    Ok(Change { file, before, after, plan })
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
    match adapter.wiring.relay {
        // A file that is ours as a whole, in this or an older form.
        Relay::File(_) if now.starts_with(OURS) => Ok(None),
        Relay::File(_) => Ok(Some(now.to_vec())),
        Relay::Groups { event, after, .. } => {
            let list = |event: &&'static str| List { harness: adapter.name, event, groups: Vec::new() };
            let lists: Vec<List<'_>> = std::iter::once(&event).chain(after).map(list).collect();
            let unfit = |unfit| ConnectError::Unfit { path: file.to_owned(), unfit };
            let text = text(file, Some(now))?;
            if !relay::called_in(&lists, text).map_err(unfit)? {
                return Ok(Some(now.to_vec()));
            }
            // Without a receipt nobody knows what was made along; an empty list says nothing, so it goes.
            let made = |at: usize| kept.map_or(Made::Hooks, |receipt| receipt.made_for(at));
            let left = relay::taken_from(&lists, text, &made).map_err(unfit)?;
            let gone = left.trim().is_empty() && kept.is_some_and(|receipt| receipt.made == Made::Whole && receipt.before.is_none());
            Ok((!gone).then(|| left.into_bytes()))
        }
    }
}

/// How a file that is ours as a whole begins.
const OURS: &[u8] = b"// Put here by `loci connect ";

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

/// Makes the link that relays call, or sets it right.
fn link(plan: &mut Plan, link: &Path, program: &Path) -> Result<(), ConnectError> {
    match disk::look(link)?.map(|meta| meta.kind) {
        None => plan.steps.extend(missing_above(link).into_iter().map(|path| Step::MakeDir { path })),
        Some(Kind::Link) => {
            let target = disk::read_link(link)?;
            if target == program || disk::canonical(link).is_ok_and(|leads| leads == program) {
                return Ok(());
            }
            plan.steps.push(Step::Unlink { path: link.to_owned(), target });
        }
        // Somebody put the program itself there: as good as a link.
        Some(Kind::File) => return Ok(()),
        Some(_) => return Err(ConnectError::File { path: link.to_owned(), why: "it is neither a link nor a program" }),
    }
    plan.steps.push(Step::Link { path: link.to_owned(), target: program.to_owned() });
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
