//! `loci mirror`: a terminal session that runs already is looked at, and typed into.

mod document;
mod serve;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::mirror::{self, Attached, MirrorError, Tmux};
use crate::loadout::{Item, Level, find};
use crate::sys::time::Moment;
use crate::sys::{disk, shown, term, time};
use crate::tree::settings;

/// Look at a terminal session that runs already, and type into it
#[derive(Debug, ClapArgs)]
#[command(
    subcommand_required = true,
    after_help = "A session of tmux is attached by its name. It is not owned: one that is not there is not started, and ends as it likes.\nA heartbeat or a loop with `target: {terminal: NAME}` types there while no person does.\n\nExamples:\n  loci mirror attach main\n  loci mirror screen main\n  loci mirror type main 'Go on.'\n  loci mirror serve main"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Bind a name to the pane that is in front in that session
    #[command(after_help = "Exit 1 where no such session is there; nothing is started.\n\nExample:\n  loci mirror attach main")]
    Attach {
        /// The session's name in tmux
        name: String,
        /// The server's socket: a path, or a name as for `tmux -L`; default: the one that tmux itself would ask
        #[arg(long, value_name = "SOCKET")]
        socket: Option<PathBuf>,
        /// Print what would be attached, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Forget it
    #[command(after_help = "The session goes on.\n\nExample:\n  loci mirror detach main")]
    Detach {
        /// Its name
        name: String,
        /// Print what would be forgotten, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Paste a text, and submit it
    #[command(
        after_help = "Without TEXT it is read from standard input. A pane that somebody scrolls in is brought back first. Control characters\nbut line ends and tabs are refused: they would press keys.\n\nExamples:\n  loci mirror type main 'Go on.'\n  loci mirror type main --wait 60 < prompt.md"
    )]
    Type {
        /// Its name
        name: String,
        /// The text
        text: Option<String>,
        /// Then wait until the screen has stood still for two seconds, at most so many seconds, and print it
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..=3600))]
        wait: Option<u16>,
        /// Print whether it could be typed, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Print what stands on its screen
    #[command(after_help = "Exit 1 where it is not attached.\n\nExamples:\n  loci mirror screen main\n  loci mirror screen main --follow")]
    Screen {
        /// Its name
        name: String,
        /// Print it again whenever it changes, until it goes or a signal comes
        #[arg(long)]
        follow: bool,
    },
    /// Offer screen, state, typing and attaching to programs of this machine, over HTTP
    #[command(
        after_help = "It listens on 127.0.0.1 alone, and answers whoever sends the token that it prints: a new one with each start, which stands nowhere\nelse. Where the session is not there it says so, and starts none; ended, it leaves the session as it is.\n\n  GET /screen   GET /state   POST /type[?wait=SECONDS]   GET /attach   POST /attach\n\nExample:\n  loci mirror serve main --port 7070\n  curl -H 'authorization: Bearer TOKEN' -d 'Go on.' http://127.0.0.1:7070/type"
    )]
    Serve {
        /// Its name
        name: String,
        /// The port; 0 is any that is free
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// The server's socket, for attaching anew: a path, or a name as for `tmux -L`; default: where it was attached
        #[arg(long, value_name = "SOCKET")]
        socket: Option<PathBuf>,
    },
    /// Screen and loadout as one document
    #[command(
        after_help = "The loadout is read from disk each time, where the session's program stands.\n\nExample:\n  loci mirror state main --json"
    )]
    State {
        /// Its name
        name: String,
    },
}

/// Between two looks at a screen.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a screen stands still before whatever it shows is over.
const STILL: Duration = Duration::from_secs(2);

/// Runs it.
///
/// # Errors
/// Where tmux does not answer, or the disk does not take it.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.what {
        What::Attach { name, socket, dry_run } => attach(context, &name, socket.as_deref(), dry_run),
        What::Detach { name, dry_run } => detach(context, &name, dry_run),
        What::Type { name, text, wait, dry_run } => type_in(context, &name, text, wait, dry_run),
        What::Screen { name, follow } => screen(context, &name, follow),
        What::Serve { name, port, socket } => serve::run(context, &name, port, socket),
        What::State { name } => state(context, &name),
    }
}

fn failed(error: MirrorError) -> Failure {
    let text = format!("failed to {error}");
    match error {
        MirrorError::Disk(error) => error.into(),
        MirrorError::NotAttached(name) | MirrorError::NotThere(name) | MirrorError::Another(name) => {
            Failure::new("mirror", text).hint(format!("loci mirror attach {}", shown::text(&name)))
        }
        _ => Failure::new("mirror", text),
    }
}

fn is_gone(error: &MirrorError) -> bool {
    matches!(error, MirrorError::NotAttached(_) | MirrorError::NotThere(_) | MirrorError::Another(_))
}

/// What is attached by a name and is there; where not, that is said, and the answer is no.
fn found(context: &Context, name: &str) -> Result<Option<(Attached, mirror::Pane)>, Failure> {
    let looked = match mirror::attached(&context.state, name) {
        Ok(Some(attached)) => attached.look(&context.env.vars).map(|pane| (attached, pane)),
        Ok(None) => Err(MirrorError::NotAttached(name.to_owned())),
        Err(error) => Err(error),
    };
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_gone(&error) => {
            let why = document::why(&error);
            context.print(|| format!("{}: {why}\n", shown::text(name)), || document::not_there(name, &why))?;
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

fn attach(context: &Context, name: &str, socket: Option<&Path>, dry_run: bool) -> Outcome {
    let path = mirror::file(&context.state, name);
    if !mirror::is_name(name) {
        return Err(Failure::new("mirror", format!("`{}` is no name of a session", shown::text(name))).hint("tmux list-sessions"));
    }
    if !dry_run && let Some(answer) = grant::or_request(context, &path, "loci mirror attach")? {
        return Ok(answer);
    }
    let found = match (Tmux { socket, env: &context.env.vars }).find(name, time::now()) {
        Ok(found) => found,
        Err(error) if is_gone(&error) => {
            context.print(
                || format!("not attached: no session is called {}; none is started\n", shown::text(name)),
                || document::not_there(name, "no such session is there"),
            )?;
            return Ok(Answer::No);
        }
        Err(error) => return Err(failed(error)),
    };
    if !dry_run {
        mirror::keep(&context.state, &found).map_err(failed)?;
    }
    context.print(
        || {
            let word = if dry_run { "would be attached" } else { "attached" };
            format!("{word}: {name}, pane {}, where {} runs\n", shown::text(&found.pane), shown::text(&found.program))
        },
        || document::attached(&found, !dry_run),
    )?;
    Ok(Answer::Yes)
}

fn detach(context: &Context, name: &str, dry_run: bool) -> Outcome {
    let path = mirror::file(&context.state, name);
    if !dry_run && let Some(answer) = grant::or_request(context, &path, "loci mirror detach")? {
        return Ok(answer);
    }
    let was = mirror::is_name(name) && disk::look(&path)?.is_some();
    if was && !dry_run {
        disk::remove_file(&path)?;
    }
    context.print(
        || match (was, dry_run) {
            (false, _) => format!("{}: not attached\n", shown::text(name)),
            (true, false) => format!("detached: {name}\n"),
            (true, true) => format!("would be detached: {name}\n"),
        },
        || json!({ "schema": 1, "name": name, "done": was && !dry_run }),
    )?;
    Ok(if was { Answer::Yes } else { Answer::No })
}

fn type_in(context: &Context, name: &str, text: Option<String>, wait: Option<u16>, dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &mirror::file(&context.state, name), "loci mirror type")? {
        return Ok(answer);
    }
    let text = match text {
        Some(text) => text,
        None => {
            let (bytes, more) = term::stdin(mirror::MAX_TEXT as u64)
                .map_err(|error| Failure::new("io", "failed to read standard input").caused_by(&error))?;
            if more {
                return Err(Failure::new("mirror", format!("failed to type that: it has more than {} bytes", mirror::MAX_TEXT)));
            }
            String::from_utf8(bytes).map_err(|_| Failure::new("mirror", "failed to type that: it is not UTF-8"))?
        }
    };
    let text = text.strip_suffix('\n').unwrap_or(&text);
    mirror::is_typable(text).map_err(failed)?;
    let Some((attached, _)) = found(context, name)? else { return Ok(Answer::No) };
    let env = &context.env.vars;
    if !dry_run {
        attached.type_in(env, text, || true).map_err(failed)?;
    }
    let seen = match wait.filter(|_| !dry_run) {
        None => None,
        Some(seconds) => Some(stands_still(&attached, env, seconds).map_err(failed)?),
    };
    context.print(
        || match &seen {
            Some((screen, _)) => format!("{}\n", shown_screen(screen)),
            None if dry_run => format!("would be typed into {name}: {} bytes\n", text.len()),
            None => format!("typed into {name}: {} bytes\n", text.len()),
        },
        || document::typed(name, !dry_run, text.len(), seen.as_ref()),
    )?;
    Ok(if seen.is_some_and(|(_, still)| !still) { Answer::No } else { Answer::Yes })
}

/// The screen when it has stood still, or when so many seconds are over; whether it stands still.
fn stands_still(attached: &Attached, env: &BTreeMap<OsString, OsString>, seconds: u16) -> Result<(String, bool), MirrorError> {
    let (begun, most) = (Moment::now().boot, Duration::from_secs(u64::from(seconds)));
    let (mut screen, mut since) = (String::new(), begun);
    loop {
        let now = Moment::now().boot;
        let seen = attached.screen(env)?;
        if seen != screen {
            (screen, since) = (seen, now);
        }
        if now.saturating_sub(since) >= STILL {
            return Ok((screen, true));
        }
        if now.saturating_sub(begun) >= most {
            return Ok((screen, false));
        }
        std::thread::sleep(PAUSE);
    }
}

/// A screen is what a program drew: line ends stay, other controls are shown.
fn shown_screen(screen: &str) -> String {
    screen.lines().map(|line| shown::text(line).to_string()).collect::<Vec<_>>().join("\n")
}

fn screen(context: &Context, name: &str, follow: bool) -> Outcome {
    let Some((attached, _)) = found(context, name)? else { return Ok(Answer::No) };
    let mut last = None;
    loop {
        let screen = match attached.screen(&context.env.vars) {
            Ok(screen) => screen,
            Err(error) if follow && is_gone(&error) => {
                context.say(&format!("{name}: it is gone"));
                return Ok(Answer::Yes);
            }
            Err(error) => return Err(failed(error)),
        };
        if last.as_ref() != Some(&screen) {
            context.print(|| format!("{}\n", shown_screen(&screen)), || document::screen(name, &screen))?;
            last = Some(screen);
        }
        if !follow || term::reader_is_gone(PAUSE) {
            return Ok(Answer::Yes);
        }
    }
}

/// Screen and loadout: what the terminal shows, and what the directories that its program reads hold now.
fn state(context: &Context, name: &str) -> Outcome {
    let Some((attached, pane)) = found(context, name)? else { return Ok(Answer::No) };
    let screen = attached.screen(&context.env.vars).map_err(failed)?;
    let level = Level { dir: disk::canonical(&pane.cwd)?, dotdirs: settings::load(&context.home)?.dotdirs, state: context.state.clone() };
    let found = find::items(&level);
    context.print(
        || {
            let row = |item: &Item| vec![item.state().word().to_owned(), item.label(), item.dotdir.clone()];
            let rows: Vec<Vec<String>> = found.items.iter().map(row).collect();
            format!("{}\n\nin {}:\n{}", shown_screen(&screen), context.shown(&level.dir), table(&rows))
        },
        || document::state(&attached, &level.dir, &screen, &found.items),
    )?;
    Ok(Answer::Yes)
}
