//! Which program a body is handed to, and with which message.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Args;
use crate::body::home;
use crate::body::sockets::{self, Socket, SocketError};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::sys::{env, process, shown, term};
use crate::tree::card::AgentFile;

/// The most of a message that is read from standard input.
const MAX_MESSAGE: u64 = 16 << 20;

/// A failure about a socket.
pub(super) fn from_socket(context: &Context, error: SocketError) -> Failure {
    let message = format!("failed to {error}");
    match error {
        SocketError::Unknown { name, near } => {
            let known = sockets::names(&context.home).unwrap_or_default();
            let file = sockets::folder(&context.home).join(format!("{name}.md"));
            let hint = near.map_or_else(
                || format!("one of {}; or write {}", known.join(", "), shown::path(&file)),
                |near| format!("loci run DIR --runtime {near}"),
            );
            Failure::new("runtime", message).hint(hint)
        }
        SocketError::Unfit { path, line, .. } => {
            Failure::new("runtime", message).at(&path, line).hint(format!("${{EDITOR:-vi}} {}", word(&path)))
        }
        SocketError::Lacks { name, .. } => {
            let file = sockets::folder(&context.home).join(format!("{name}.md"));
            Failure::new("runtime", message).hint(format!("say how in {}", shown::path(&file)))
        }
        SocketError::Disk(error) => error.into(),
    }
}

/// The socket that is meant: as asked, as the identity file says, or the one harness that is there.
pub(super) fn socket(context: &Context, card: &AgentFile, args: &Args) -> Result<Socket, Failure> {
    let find = |name: &str| sockets::find(name, &context.home).map_err(|error| from_socket(context, error));
    if let Some((program, rest)) = args.command.split_first() {
        let text = |word: &OsString| {
            word.to_str().map(str::to_owned).ok_or_else(|| Failure::new("usage", "the words of the command have to be text"))
        };
        if let Some(name) = args.runtime.as_deref().filter(|name| *name != sockets::COMMAND) {
            let named = sockets::find(name, &context.home).ok().and_then(|socket| socket.program).unwrap_or_else(|| name.to_owned());
            let what = format!(
                "failed to choose a program: `--runtime {}` is {}, and behind `--` stands {}",
                shown::text(name),
                shown::text(&named),
                shown::text(&program.to_string_lossy())
            );
            return Err(Failure::new("usage", what).hint(format!(
                "loci run {} MESSAGE --runtime {}",
                word(&args.dir),
                word(Path::new(name))
            )));
        }
        let mut socket = find(args.runtime.as_deref().unwrap_or(sockets::COMMAND))?;
        socket.program = Some(text(program)?);
        socket.headless = Some(rest.iter().map(text).collect::<Result<_, _>>()?);
        socket.interactive = None;
        return Ok(socket);
    }
    if let Some(name) = args.runtime.as_deref().or(card.runtime.as_deref()) {
        return find(name);
    }
    let there = home::harnesses(context.env.get(env::PATH));
    match there.as_slice() {
        [(name, _)] => find(name),
        [] => Err(Failure::new("runtime", "failed to find a program to run it with: no harness is in PATH")
            .hint(format!("loci run {} MESSAGE -- COMMAND", word(&args.dir)))),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
            let what = format!("failed to choose a runtime: {} are installed, and its identity file names none", names.join(", "));
            let hint = format!("loci run {} --runtime {}", word(&args.dir), names.first().copied().unwrap_or_default());
            Err(Failure::new("runtime", what).at(&card.path, None).hint(hint))
        }
    }
}

/// The program of a socket, where it is there.
pub(super) fn program(context: &Context, socket: &Socket) -> Result<PathBuf, Failure> {
    let file = sockets::folder(&context.home).join(format!("{}.md", socket.name));
    let Some(name) = &socket.program else {
        return Err(Failure::new("runtime", format!("failed to run {}: its socket names no program", shown::text(&socket.name)))
            .hint(format!("name it behind `--`, or as `program` in {}", shown::path(&file))));
    };
    let path = Path::new(name);
    let found = if path.is_absolute() {
        path.parent().and_then(|dir| process::find_program(&path.file_name()?.to_string_lossy(), dir.as_os_str()))
    } else if name.contains('/') {
        // A word of the command line, from where the person is.
        let path = context.absolute(path);
        path.parent().and_then(|dir| process::find_program(&path.file_name()?.to_string_lossy(), dir.as_os_str()))
    } else {
        context.env.get(env::PATH).and_then(|dirs| process::find_program(name, dirs))
    };
    found.ok_or_else(|| {
        let place = if name.contains('/') { "it is not there, or can't be run" } else { "no directory of PATH has it" };
        Failure::new("runtime", format!("failed to run {}: its program is `{}`, and {place}", shown::text(&socket.name), shown::text(name)))
            .hint(format!("install it, or name another one as `program` in {}", shown::path(&file)))
    })
}

/// The message, where it is to be one turn.
pub(super) fn message(context: &Context, args: &Args) -> Result<Option<String>, Failure> {
    let none =
        || Failure::new("usage", "there is no message, and no terminal to have a session at").hint("loci run DIR \"what it is to do\"");
    if let Some(message) = &args.message {
        return if message.trim().is_empty() { Err(Failure::new("usage", "the message is empty")) } else { Ok(Some(message.clone())) };
    }
    if context.sink.is_none() && !context.flags.json && args.command.is_empty() && term::is_a_session() {
        return Ok(None);
    }
    if context.sink.is_some() || term::stdin_is_terminal() {
        return if args.dry_run { Ok(None) } else { Err(none()) };
    }
    let (data, more) = term::stdin(MAX_MESSAGE).map_err(|error| Failure::new("io", "failed to read the message").caused_by(&error))?;
    let text = String::from_utf8(data).map_err(|_| Failure::new("usage", "the message on standard input is no UTF-8 text"))?;
    match text {
        _ if more => Err(Failure::new("usage", "the message on standard input is longer than 16 MiB")),
        text if text.trim().is_empty() => Err(none()),
        text => Ok(Some(text)),
    }
}
