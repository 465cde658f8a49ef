//! Exchanges the loadout of a level for a saved one, as one unit.
//!
//! What is there is saved first; if that fails, nothing is touched. The new pieces are brought in
//! beside the live ones and exchanged under the journal; the old ones go when it is certain that
//! the backup has them.

mod exchange;

use std::path::{Path, PathBuf};

use super::archive::{self, Archive, Stores};
use super::history::{self, EMPTY};
use super::relay;
use super::surface::{self, Surface};
use super::{Level, LoadoutError, Settled, digest, wear};
use crate::sys::disk::{self, Kind};
use crate::sys::journal::{self, Held};
use exchange::{exchange, of_thing};

/// What an inject did, or would do.
#[derive(Debug)]
pub struct Report {
    /// The archive that was put in; `None`: the place was emptied.
    pub name: Option<String>,
    /// The backup of what was there, or `empty`.
    pub was: String,
    /// The pieces that were exchanged, brought in or taken away; equal ones stay.
    pub pieces: Vec<Piece>,
    /// The relays of loci that were put back, as `event: command`.
    pub relays: Vec<String>,
    /// What was kept beside the live files because somebody changed it meanwhile.
    pub kept: Vec<PathBuf>,
    /// Why what was replaced could not be removed yet; the next change does it.
    pub unfinished: Option<String>,
    /// The surface that was exchanged.
    pub surface: Surface,
    /// What an earlier change had left.
    pub settled: Settled,
}

/// What happens to a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its path, relative to the level.
    pub path: PathBuf,
    /// `replaced`, `added` or `removed`.
    pub how: &'static str,
}

/// Says whether something that was put aside is known elsewhere: its seal lists the hashes of what
/// is in the backup and in the archive.
pub(super) fn is_kept_elsewhere(path: &Path, seal: &str) -> bool {
    of_thing(path).is_ok_and(|hash| seal.split(',').any(|one| one == hash))
}

/// What is to be put in.
enum Source<'a> {
    Archive(&'a Archive),
    /// Nothing, for this surface.
    Nothing(String, Surface),
}

impl Source<'_> {
    fn surface(&self) -> &Surface {
        match self {
            Self::Archive(archive) => &archive.record.surface,
            Self::Nothing(_, surface) => surface,
        }
    }

    fn harness(&self) -> &str {
        match self {
            Self::Archive(archive) => &archive.record.harness,
            Self::Nothing(harness, _) => harness,
        }
    }
}

/// Puts an archive in. With `dry`, only says what would be done.
///
/// # Errors
/// Where there is no such archive, it is damaged, the backup fails, or the exchange fails; then what
/// was there is there.
pub fn inject(level: &Level, stores: &Stores, name: &str, dry: bool) -> Result<Report, LoadoutError> {
    let archive = archive::find(stores, name)?;
    archive.verified()?;
    run(level, stores, &Source::Archive(&archive), "loci loadout inject", dry)
}

/// Puts back what the last inject replaced; `None` where nothing was ever injected here.
///
/// # Errors
/// As [`inject`].
pub fn restore(level: &Level, stores: &Stores, dry: bool) -> Result<Option<Report>, LoadoutError> {
    let Some(last) = history::of(stores, &level.dir)?.pop() else { return Ok(None) };
    if last.was == EMPTY {
        return run(level, stores, &Source::Nothing(last.harness, last.surface), "loci loadout restore", dry).map(Some);
    }
    let archive = archive::find(stores, &last.was)?;
    archive.verified()?;
    run(level, stores, &Source::Archive(&archive), "loci loadout restore", dry).map(Some)
}

fn run(level: &Level, stores: &Stores, source: &Source<'_>, what: &str, dry: bool) -> Result<Report, LoadoutError> {
    let surface = source.surface();
    refuse_linked_parents(level, surface)?;
    if dry {
        let relays = relay::missing(level, source.harness(), new_file(source))?;
        let pieces = pieces(level, source, &relays)?;
        let was = if digest::list(&level.dir, &full(surface))?.is_empty() { EMPTY.to_owned() } else { "a backup".to_owned() };
        return Ok(Report {
            name: name(source),
            was,
            pieces,
            relays: relays.labels(),
            kept: Vec::new(),
            unfinished: None,
            surface: surface.clone(),
            settled: Settled::default(),
        });
    }
    let (held, settled) = wear::begin(level, what)?;
    // The history belongs to all levels: one at a time.
    let _store = journal::take(&level.state, &crate::text::digest::key("store", &stores.home), what)?;
    let relays = relay::missing(level, source.harness(), new_file(source))?;
    let pieces = pieces(level, source, &relays)?;
    // Where nothing changes, what the last one replaced stays the way back.
    if pieces.is_empty()
        && let Some(last) = history::of(stores, &level.dir)?.pop()
    {
        return Ok(Report {
            name: name(source),
            was: last.was,
            pieces,
            relays: relays.labels(),
            kept: Vec::new(),
            unfinished: None,
            surface: surface.clone(),
            settled,
        });
    }
    let was = back_up(&held, level, stores, source)?;
    let made = exchange(&held, level, stores, source, &pieces, &relays, &was)?;
    Ok(Report {
        name: name(source),
        was: was.map_or(EMPTY.to_owned(), |backup| backup.name),
        pieces,
        relays: relays.labels(),
        kept: made.kept,
        unfinished: made.unfinished.map(|error| error.to_string()),
        surface: surface.clone(),
        settled,
    })
}

fn name(source: &Source<'_>) -> Option<String> {
    match source {
        Source::Archive(archive) => Some(archive.name.clone()),
        Source::Nothing(..) => None,
    }
}

/// The surface with what is left out of archives: backups are complete.
fn full(surface: &Surface) -> Surface {
    Surface { left_out: Vec::new(), ..surface.clone() }
}

fn new_file(source: &Source<'_>) -> Option<PathBuf> {
    match source {
        Source::Archive(archive) => Some(archive.files()),
        Source::Nothing(..) => None,
    }
}

/// A dotdir that is a link leads elsewhere: nothing is replaced through it.
fn refuse_linked_parents(level: &Level, surface: &Surface) -> Result<(), LoadoutError> {
    for piece in surface.pieces() {
        let mut dir = level.dir.clone();
        for part in piece.parent().into_iter().flat_map(Path::components) {
            dir.push(part);
            match disk::look(&dir)?.map(|meta| meta.kind) {
                None | Some(Kind::Dir) => {}
                Some(_) => return Err(LoadoutError::LinkedParent(dir)),
            }
        }
    }
    Ok(())
}

/// What has to be done to which piece.
fn pieces(level: &Level, source: &Source<'_>, relays: &relay::Missing) -> Result<Vec<Piece>, LoadoutError> {
    let mut pieces = Vec::new();
    for piece in source.surface().pieces() {
        if source.surface().left_out.iter().any(|path| path == piece) {
            continue;
        }
        let live = disk::look(&level.dir.join(piece))?.is_some();
        let coming = match source {
            Source::Archive(archive) => disk::look(&archive.files().join(piece))?.is_some(),
            Source::Nothing(..) => false,
        } || relays.is_for(piece);
        let how = match (live, coming) {
            (false, false) => continue,
            (false, true) => "added",
            (true, false) => "removed",
            (true, true) => {
                let only = source.surface().only(piece);
                let same = match source {
                    Source::Archive(archive) if !relays.is_for(piece) => {
                        digest::of(&archive.files(), &only)? == digest::of(&level.dir, &only)?
                    }
                    _ => false,
                };
                if same {
                    continue;
                }
                "replaced"
            }
        };
        pieces.push(Piece { path: piece.to_owned(), how });
    }
    Ok(pieces)
}

/// Saves what is there under a reserved name; the same content is kept once. `None` where nothing
/// is there.
fn back_up(held: &Held, level: &Level, stores: &Stores, source: &Source<'_>) -> Result<Option<Archive>, LoadoutError> {
    let surface = full(source.surface());
    let entries = digest::list(&level.dir, &surface)?;
    if entries.is_empty() {
        return Ok(None);
    }
    let hash = digest::hash(&entries);
    let short: String = hash.chars().skip(digest::VERSION.len()).take(12).collect();
    // A number behind it where the same content was saved as another surface.
    for number in 1..1000 {
        let name = if number == 1 { format!("_backup-{short}") } else { format!("_backup-{short}-{number}") };
        match archive::load(&stores.home, &name)? {
            None => return archive::put(held, level, &stores.home, &name, source.harness(), &surface).map(Some),
            Some(known) if known.record.hash == hash && known.record.surface == surface => {
                known.verified()?;
                return Ok(Some(known));
            }
            Some(_) => {}
        }
    }
    Err(LoadoutError::NameTaken(format!("_backup-{short}")))
}

/// The row of a harness.
pub(super) fn row(harness: &str) -> Option<&'static surface::Row> {
    surface::TABLE.iter().find(|row| row.harness == harness)
}
