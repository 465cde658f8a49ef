//! `loci clock install`: what starts the clock with the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::unit::{self, Call};
use crate::custody::grants;
use crate::sys::plan::{Plan, Step};
use crate::sys::program::Program;
use crate::sys::{disk, env, process, shown};
use crate::tree::climb;

/// How long `crontab` may take.
const LIMIT: Duration = Duration::from_secs(20);
/// The longest unit or crontab that is read.
const MAX_BYTES: u64 = 1 << 20;

/// What is asked for.
#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    /// The roots that it keeps; default: all that are enrolled, whenever it starts
    roots: Vec<PathBuf>,
    /// A user unit of systemd (the default on Linux)
    #[arg(long, group = "way")]
    systemd: bool,
    /// An agent of launchd (the default on macOS)
    #[arg(long, group = "way")]
    launchd: bool,
    /// A line in your crontab
    #[arg(long, group = "way")]
    cron: bool,
    /// Take it away again
    #[arg(long)]
    remove: bool,
    /// Print what would be written, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Systemd,
    Launchd,
    Cron,
}

/// What would be changed, by whatever way.
struct Change {
    /// What it is about: a file, or the crontab.
    place: PathBuf,
    before: Option<Vec<u8>>,
    after: Option<String>,
    /// What is left to the person.
    then: Vec<String>,
}

/// Writes it, or takes it away.
///
/// # Errors
/// Where it can't be written, or what stands there is not ours.
pub(super) fn run(context: &Context, args: &Args) -> Outcome {
    let way = match (args.systemd, args.launchd, args.cron) {
        (true, ..) => Way::Systemd,
        (_, true, _) => Way::Launchd,
        (_, _, true) => Way::Cron,
        _ if cfg!(target_os = "macos") => Way::Launchd,
        _ => Way::Systemd,
    };
    let change = change(context, args, way)?;
    if !args.dry_run
        && let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci clock install")?
    {
        return Ok(answer);
    }
    let same = change.before.as_deref() == change.after.as_deref().map(str::as_bytes);
    if !same && !args.dry_run {
        match way {
            Way::Cron => write_crontab(context, change.after.as_deref().unwrap_or_default())?,
            Way::Systemd | Way::Launchd => plan(&change)?.apply()?,
        }
    }
    let word = match (same, args.remove, args.dry_run) {
        (true, true, _) => "is not there",
        (true, false, _) => "is as it should be",
        (false, true, true) => "would be taken away",
        (false, true, false) => "taken away",
        (false, false, true) => "would be written",
        (false, false, false) => "written",
    };
    context.print(
        || {
            let mut text = format!("{word}: {}\n", shown::path(&change.place));
            if !same && args.dry_run && let Some(after) = change.after.as_deref().filter(|_| !args.remove) {
                text.push_str(after);
            }
            if !same {
                change.then.iter().for_each(|then| text.push_str(&format!("then: {then}\n")));
            }
            text
        },
        || {
            json!({
                "schema": 1, "done": !same && !args.dry_run, "place": change.place.to_string_lossy(), "remove": args.remove,
                "text": change.after, "then": change.then, "plan": if same { json!([]) } else { json!([{ "do": if args.remove { "remove" } else { "write" }, "path": change.place.to_string_lossy() }]) },
            })
        },
    )?;
    Ok(Answer::Yes)
}

fn change(context: &Context, args: &Args, way: Way) -> Result<Change, Failure> {
    let text = |path: &Path| {
        let odd = || Failure::new("path", format!("failed to write it down: the path {} is no UTF-8", shown::path(path)));
        path.to_str().map(str::to_owned).ok_or_else(odd)
    };
    let program = process::own_program().map_err(|error| Failure::new("io", "failed to find this program").caused_by(&error))?;
    let program = text(&program)?;
    let roots: Vec<String> = args.roots.iter().map(|root| text(&super::root_at(context, root)?.dir)).collect::<Result<_, _>>()?;
    let names = [env::PATH, env::LOCI_HOME, env::XDG_STATE_HOME];
    let vars: Vec<(&'static str, String)> =
        names.into_iter().filter_map(|name| Some((name, context.env.get(name)?.to_str()?.to_owned()))).collect();
    let call = Call { program: &program, roots: &roots, vars: &vars };
    let home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    let file = |place: PathBuf, text: String, on: &[&str], off: &[&str]| -> Result<Change, Failure> {
        let before = if disk::look(&place)?.is_some() { disk::read_bounded(&place, MAX_BYTES)? } else { None };
        let then = if args.remove { off } else { on }.iter().map(|one| (*one).to_owned()).collect();
        Ok(Change { place, before, after: (!args.remove).then_some(text), then })
    };
    match way {
        Way::Systemd => {
            let config = context.env.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            let place = config.unwrap_or_else(|| home.join(".config")).join("systemd/user").join(unit::UNIT);
            let on = [
                "systemctl --user daemon-reload",
                "systemctl --user enable --now loci-clock",
                "loginctl enable-linger   # it runs while you are not logged in, too",
            ];
            file(place, call.systemd(), &on, &["systemctl --user disable --now loci-clock", "systemctl --user daemon-reload"])
        }
        Way::Launchd => {
            let place = home.join("Library/LaunchAgents").join(format!("{}.plist", unit::AGENT));
            let log = text(&context.state.join("clock.log"))?;
            let load = format!("launchctl bootstrap gui/$(id -u) {}", shown::path(&place));
            let unload = format!("launchctl bootout gui/$(id -u)/{}", unit::AGENT);
            file(place, call.launchd(&log), &[&load], &[&unload])
        }
        Way::Cron => {
            let before = read_crontab(context)?;
            let line = call.cron();
            let after = unit::crontab(&before, (!args.remove).then_some(line.as_str()));
            Ok(Change { place: PathBuf::from("crontab"), before: Some(before.into_bytes()), after: Some(after), then: Vec::new() })
        }
    }
}

/// The file is written whole, with the directories above it; one that somebody changed in between stays.
fn plan(change: &Change) -> Result<Plan, Failure> {
    let mut plan = Plan::default();
    match (&change.before, &change.after) {
        (Some(was), None) => {
            let mode = disk::look(&change.place)?.map_or(0o644, |meta| meta.mode & 0o7777);
            plan.steps.push(Step::Remove { path: change.place.clone(), was: was.clone(), mode });
        }
        (was, Some(text)) => {
            let absent = |dir: &&Path| matches!(disk::look_through(dir), Ok(None));
            let missing: Vec<&Path> = climb::up(&change.place).skip(1).take_while(absent).collect();
            plan.steps.extend(missing.into_iter().rev().map(|dir| Step::MakeDir { path: dir.to_owned() }));
            plan.steps.push(Step::Write { path: change.place.clone(), data: text.clone().into_bytes(), mode: None, was: was.clone() });
        }
        (None, None) => {}
    }
    Ok(plan)
}

fn crontab(context: &Context, args: &[&str], stdin: &[u8]) -> Result<crate::sys::program::Finished, Failure> {
    let dirs = context.env.get(env::PATH).unwrap_or_default();
    let program = process::find_program("crontab", dirs).ok_or_else(|| {
        Failure::new("not-found", "failed to find `crontab`: no directory of PATH has it").hint("loci clock install --systemd")
    })?;
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let call = Program { file: &program, args, cwd: Path::new("/"), env: context.env.vars.clone(), stdin, limit: LIMIT, keep: 1 << 20 };
    call.run().map_err(|error| Failure::new("run", format!("failed to start {}", shown::path(&program))).caused_by(&error))
}

fn read_crontab(context: &Context) -> Result<String, Failure> {
    let said = crontab(context, &["-l"], b"")?;
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    match said.code {
        Some(0) if said.stdout.len() < (1 << 20) => {
            String::from_utf8(said.stdout).map_err(|_| Failure::new("io", "failed to read the crontab: it is no UTF-8"))
        }
        // Whoever has none is told so with a failure.
        Some(1) if words.contains("no crontab") => Ok(String::new()),
        _ => Err(Failure::new(
            "run",
            format!("failed to read the crontab: {}", shown::text(words.lines().next().unwrap_or("it said nothing"))),
        )),
    }
}

fn write_crontab(context: &Context, text: &str) -> Result<(), Failure> {
    let said = crontab(context, &["-"], text.as_bytes())?;
    if said.code == Some(0) {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    Err(Failure::new("run", format!("failed to write the crontab: {}", shown::text(words.lines().next().unwrap_or("it said nothing")))))
}
