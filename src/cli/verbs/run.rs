//! `loci run`: a body is handed to a program, and the program is the agent.

mod choose;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::json;

use choose::{from_socket, message, program, socket};

use crate::body::embody::{self, Holder, Remembered, Run};
use crate::body::sockets::{self, Call, Session, Socket, SocketError, Turn};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::{Answer, Outcome, grant};
use crate::clock::runs;
use crate::hooks::connect::check::{self, Standing};
use crate::hooks::connect::{Ground, Reach};
use crate::hooks::harness;
use crate::sys::foreground::{self, Deaf};
use crate::sys::hosted::Hosted;
use crate::sys::process::Identity;
use crate::sys::{disk, env, process, random, shown, time};
use crate::tree::card::{self, AgentFile};

/// The longest message that can be a word of a command line; the kernel's bound for one is 128 KiB.
const MAX_WORD: usize = 120 * 1024;
/// The most of a reply that `--json` holds.
const MAX_REPLY: usize = 8 << 20;

/// Stands for an id that is made when it starts.
const UNBORN: &str = "(new)";

/// Hand an agent's directory to a program: one turn with a message, else a session at the terminal
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "The program runs in the directory, with LOCI_AGENT, LOCI_BODY and LOCI_RUN set and nothing else changed. The exit code is its own. Sockets, which say how\na program is called, can be added and changed: ~/.loci/runtimes/NAME.md.\n\nExamples:\n  loci run agents/billing                          a session at the terminal\n  loci run agents/billing \"work through your inbox\"\n  loci run agents/billing \"go on\" --resume --runtime codex\n  loci run agents/billing --jail                   whose a directory is, is held by the kernel (Linux)\n  loci run agents/billing \"count\" -- wc -w           any program: message in, reply out"
)]
pub struct Args {
    /// The directory of the agent
    dir: PathBuf,
    /// What it is to do; without one, and without a terminal, it is read from standard input
    message: Option<String>,
    /// The socket (default: `runtime` of its agent.md, else the one harness that is installed)
    #[arg(long, short, value_name = "NAME")]
    runtime: Option<String>,
    /// The model, as the program calls it
    #[arg(long, short, value_name = "MODEL")]
    model: Option<String>,
    /// Go on with the last session that this program had here
    #[arg(long)]
    resume: bool,
    /// Beside an embodiment that goes on already
    #[arg(long)]
    join: bool,
    /// Hold it in the kernel (Linux): what is others', and what only a person changes, is read-only for the whole session
    #[arg(long)]
    jail: bool,
    /// With --jail: let writes of programs into what is others' happen in a layer, and hand them over as a patch at the end
    #[arg(long, requires = "jail")]
    capture: bool,
    /// Print how the program would be called, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// A program that is no harness, with its words
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Args {
    /// Whether what it is to do stands among the words.
    pub(in crate::cli) fn has_message(&self) -> bool {
        self.message.is_some()
    }
}

/// All that is known before anything starts.
struct Start {
    dir: PathBuf,
    card: AgentFile,
    socket: Socket,
    program: PathBuf,
    call: Call,
    /// `None`: a session at the terminal.
    message: Option<String>,
    /// The id of the session, where it is known before.
    session: Option<String>,
    run: String,
    /// Held in the kernel; `Some(true)`: with layers.
    jail: Option<bool>,
}

/// Runs it.
///
/// # Errors
/// Where the body can't be embodied; then nothing was started.
pub fn run(context: &Context, args: Args) -> Outcome {
    if let Some(job) = context.env.get(env::LOCI_UNARMED) {
        let job = shown::text(&job.to_string_lossy()).to_string();
        context.say(&format!("refused: the job {job} is not armed, and what no person has armed calls no model"));
        context.print(String::new, || json!({ "schema": 1, "done": false, "why": "unarmed", "job": job }))?;
        return Ok(Answer::No);
    }
    let (dir, card) = body(context, &args.dir)?;
    if !args.dry_run
        && !is_armed(context)
        && let Some(answer) = grant::or_request(context, &card.path, &command(&dir, &args))?
    {
        return Ok(answer);
    }
    let start = prepare(context, dir, card, &args)?;
    // In a jail it is more than a wish without a gate as well.
    let warning = if start.jail.is_some() { None } else { unguarded(context, &start) };
    if args.dry_run {
        let (holders, _) = embody::holders(&context.state, &start.dir)?;
        warning.iter().chain(&busy(context, &start, &holders)).for_each(|words| context.say(&format!("note: {words}")));
        context.print(|| words::plan(&start), || words::plan_object(&start, &holders, warning.as_deref()))?;
        return Ok(Answer::Yes);
    }
    if let Some(warning) = &warning {
        context.say(&format!("warning: {warning}"));
    }
    // From here on no signal ends this process before what it started has ended.
    let held = foreground::hold_signals().map_err(|error| Failure::new("io", "failed to hold the signals").caused_by(&error))?;
    let record = embodied(context, &start, args.join)?;
    let result = host(context, &start, &held, &record);
    let ended = embody::end(&context.state, &record);
    let outcome = result?;
    ended?;
    Ok(outcome)
}

/// Whether this is what a person armed: a run of the clock that this process belongs to, before anybody is embodied.
fn is_armed(context: &Context) -> bool {
    let embodied = [env::LOCI_AGENT, env::LOCI_BODY].iter().any(|name| context.env.get(name).is_some());
    let run = context.env.get(env::LOCI_JOB).and_then(|id| id.to_str()).filter(|_| !embodied);
    run.and_then(|id| runs::of_this_process(&context.state, id)).is_some_and(|run| run.armed)
}

/// The body that is meant.
fn body(context: &Context, dir: &Path) -> Result<(PathBuf, AgentFile), Failure> {
    let asked = context.absolute(dir);
    if !disk::is_dir(&asked) {
        return Err(Failure::new("path", format!("failed to run {}: it is no directory", shown::path(&asked))).at(&asked, None));
    }
    let dir = disk::canonical(&asked)?;
    match card::agent(&dir) {
        Some(card) => Ok((dir, card?)),
        None => {
            let what = format!("failed to run {}: no agent lives there", shown::path(&dir));
            Err(Failure::new("body", what).at(&dir, None).hint(format!("loci new {} --into", word(&dir))))
        }
    }
}

/// The command that a person would run for this.
fn command(dir: &Path, args: &Args) -> String {
    let mut words = vec!["loci".to_owned(), "run".to_owned(), word(dir)];
    words.extend(args.message.as_ref().map(|message| word(Path::new(message))));
    for (flag, value) in [("--runtime", &args.runtime), ("--model", &args.model)] {
        words.extend(value.iter().map(|value| format!("{flag} {}", word(Path::new(value)))));
    }
    words.extend(args.resume.then(|| "--resume".to_owned()));
    for (flag, given) in [("--join", args.join), ("--jail", args.jail), ("--capture", args.capture)] {
        words.extend(given.then(|| flag.to_owned()));
    }
    if !args.command.is_empty() {
        words.push("--".to_owned());
        words.extend(args.command.iter().map(|one| word(Path::new(one))));
    }
    words.join(" ")
}

fn prepare(context: &Context, dir: PathBuf, card: AgentFile, args: &Args) -> Result<Start, Failure> {
    let socket = socket(context, &card, args)?;
    let program = program(context, &socket)?;
    if let Some(name) = socket.needs.iter().find(|name| context.env.get(name).is_none()) {
        let what = format!("failed to run {}: its socket needs {} in the environment", shown::text(&socket.name), shown::text(name));
        return Err(Failure::new("runtime", what));
    }
    let message = message(context, args)?;
    // What is only shown says the same each time: a person approves what was shown.
    let random = if args.dry_run { Ok(UNBORN.to_owned()) } else { random::hex20() };
    let random = random.map_err(|error| Failure::new("io", "failed to make an id").caused_by(&error))?;
    let last = if args.resume { embody::remembered(&context.state, &dir, &socket.name)? } else { None };
    let named = if args.dry_run { UNBORN.to_owned() } else { embody::session_id(&random) };
    let (session, id) = match (&last, args.resume) {
        (Some(last), _) if socket.resume.is_some() => (Session::Resumed(&last.session), Some(last.session.clone())),
        (_, true) if socket.last.is_some() => (Session::Last, None),
        (None, true) if socket.resume.is_some() => {
            let what = format!("failed to resume: {} had no session with {} yet", card.id.value, shown::text(&socket.name));
            return Err(Failure::new("not-found", what).hint(format!("loci run {} MESSAGE", word(&args.dir))));
        }
        (_, true) => {
            return Err(from_socket(context, SocketError::Lacks { name: socket.name.clone(), what: "has no `resume`".to_owned() }));
        }
        (_, false) if socket.session.is_some() => (Session::Named(&named), Some(named.clone())),
        (_, false) => (Session::New, None),
    };
    let turn = Turn { message: message.as_deref(), model: args.model.as_deref(), session };
    let call = socket.call(&turn).map_err(|error| from_socket(context, error))?;
    if let Some(message) = message.as_ref().filter(|message| !call.message_on_stdin && message.len() > MAX_WORD) {
        let what =
            format!("failed to run {}: it takes the message as a word, and {} bytes are too long for one", socket.name, message.len());
        return Err(Failure::new("usage", what).hint("write it into a file of the agent, and name that"));
    }
    if let Some(why) = socket.unjailed.as_ref().filter(|_| args.jail) {
        let what = format!("failed to run {} in a jail: {}", shown::text(&socket.name), shown::text(why));
        return Err(Failure::new("runtime", what).hint(format!("loci run {}", word(&args.dir))));
    }
    Ok(Start { dir, card, socket, program, call, message, session: id, run: random, jail: args.jail.then_some(args.capture) })
}

/// Why custody is only a wish with this runtime here; `None` where its gate asks.
fn unguarded(context: &Context, start: &Start) -> Option<String> {
    let name = start.socket.harness();
    let Some(adapter) = harness::named(name) else {
        // Of a program that is no harness, nobody expects that it asks.
        let known = sockets::built_in().any(|one| one == name) && name != sockets::COMMAND;
        return known.then(|| format!("loci has no connector for {name}: whose a directory is holds nobody back there"));
    };
    let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    let ground = Ground { env: &context.env, home: &context.home, user_home: &user_home, state: &context.state };
    let mut worst = None;
    for reach in [Reach::User, Reach::Project(start.dir.clone()), Reach::Shared(start.dir.clone())] {
        match check::standing(adapter, &reach, &ground, &[]) {
            Ok((_, Standing::Connected | Standing::Differs)) => return None,
            Ok((_, standing)) => worst = worst.or_else(|| standing.why().map(|why| shown::text(why).to_string())),
            // Not every harness has every reach.
            Err(_) => {}
        }
    }
    let why = worst.map_or_else(String::new, |why| format!(" ({why})"));
    Some(format!("the gate of {name} is not connected{why}: whose a directory is holds nobody back; run `loci connect {name}`"))
}

/// Who holds the body, in words.
fn busy(context: &Context, start: &Start, holders: &[Holder]) -> Option<String> {
    let Holder { run, orphans } = holders.first()?;
    let by = match orphans.first() {
        None => format!("pid {}", run.process.pid),
        Some(left) => {
            let name = shown::text(&left.name);
            format!("pid {} ({name}), which outlived the run that started it", left.identity.pid)
        }
    };
    Some(format!(
        "{} is embodied already: {} since {}, {by}",
        context.shown(&start.dir),
        shown::text(&run.runtime),
        shown::text(&run.since)
    ))
}

/// Writes down that the body is embodied now, unless somebody else does that already.
fn embodied(context: &Context, start: &Start, join: bool) -> Result<Run, Failure> {
    let _lock = near::hold(context, "run", &start.dir)?;
    let (holders, stale) = embody::holders(&context.state, &start.dir)?;
    if !join && let Some(words) = busy(context, start, &holders) {
        let join = format!("loci run {} --join", word(&start.dir));
        // Whoever ends what a killed run left behind has the body again; to join it would leave it there.
        let hint = match holders.first().and_then(|holder| holder.orphans.first()) {
            Some(left) => format!("kill -9 {}   # and once more; or: {join}", left.identity.pid),
            None => join,
        };
        return Err(Failure::new("locked", format!("failed to run {}: {words}", start.card.id.value)).at(&start.dir, None).hint(hint));
    }
    let record = Run {
        schema: 1,
        run: start.run.clone(),
        agent: start.card.id.value.to_string(),
        body: start.dir.clone(),
        runtime: start.socket.name.clone(),
        process: Identity::of_self(),
        since: time::to_second(time::now()),
    };
    embody::begin(&context.state, &record, &stale)?;
    Ok(record)
}

/// The variables that the program gets besides ours.
fn variables(start: &Start) -> [(&'static str, OsString); 3] {
    [
        (env::LOCI_AGENT, start.card.id.value.as_str().into()),
        (env::LOCI_BODY, start.dir.clone().into()),
        (env::LOCI_RUN, start.run.clone().into()),
    ]
}

/// The program with its words; in a jail, those of the one that makes it.
fn start_words(start: &Start) -> Result<(PathBuf, Vec<OsString>), Failure> {
    let Some(capture) = start.jail else { return Ok((start.program.clone(), start.call.args.clone())) };
    let own = process::own_program().map_err(|error| Failure::new("io", "failed to find the program of loci itself").caused_by(&error))?;
    let mut words: Vec<OsString> = vec!["exec".into(), "--embodied".into()];
    words.extend(capture.then(|| "--capture".into()));
    words.extend(["--".into(), start.program.clone().into()]);
    words.extend(start.call.args.iter().cloned());
    Ok((own, words))
}

fn host(context: &Context, start: &Start, held: &Deaf, record: &Run) -> Outcome {
    let kept = context.flags.json || context.sink.is_some();
    let stdin = start.message.as_deref().filter(|_| start.call.message_on_stdin).map(str::as_bytes);
    let (file, args) = start_words(start)?;
    let hosted = Hosted {
        file: &file,
        args: &args,
        cwd: &start.dir,
        vars: &variables(start),
        mark: env::LOCI_RUN,
        stdin,
        terminal: start.message.is_none(),
        keep: kept.then_some(MAX_REPLY),
        listen: start.socket.told.as_deref(),
        grace: Duration::from_secs(start.socket.grace),
    };
    let over = hosted.run(held).map_err(|error| {
        Failure::new("run", format!("failed to start {}", shown::path(&start.program))).at(&start.program, None).caused_by(&error)
    })?;
    let ended = time::to_second(time::now());
    let names = |members: &[crate::sys::lineage::Member]| {
        members.iter().map(|one| format!("pid {} ({})", one.identity.pid, shown::text(&one.name))).collect::<Vec<_>>().join(", ")
    };
    if !over.behind.gone.is_empty() && !over.told {
        context.say(&format!("note: ended what it left running: {}", names(&over.behind.gone)));
    }
    if !over.behind.left.is_empty() {
        context.say(&format!("warning: this can't be ended, and goes on: {}", names(&over.behind.left)));
    }
    let session = over.heard.clone().or_else(|| start.session.clone());
    // One that failed by itself may never have begun it.
    if let Some(session) = session.clone().filter(|_| over.code == 0 || over.told) {
        let found = Remembered { schema: 1, body: start.dir.clone(), session, run: start.run.clone(), at: ended.clone() };
        embody::remember(&context.state, &start.socket.name, &found)?;
    }
    if kept {
        let reply = || String::from_utf8_lossy(&over.output).into_owned();
        context.print(reply, || words::object(start, &over, record, &ended, session.as_deref(), reply()))?;
    }
    // For whoever approves it, done is done.
    Ok(if over.code == 0 { Answer::Yes } else { Answer::Exit(over.code) })
}
