//! `loci permit` and `loci grants`: yes for a time, and what is allowed.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant, near};
use crate::custody::grants::{self, Grant, MAX_PATHS};
use crate::hooks::trust;
use crate::sys::time::{self, Timestamp};
use crate::sys::{random, shown};
use crate::text::name::AgentId;
use crate::tree::real;

/// Let an agent write in what is somebody else's, for a time
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "It holds on this machine, is shown wherever it is used, and ends by itself. It never opens the wall:\nowner files, identity files, hooks and the settings of harnesses stay a person's.\n\nExamples:\n  loci permit alice services/billing --for 30m\n  loci permit --all --for 1h          # stand custody down for a refactoring\n  loci grants\n  loci permit --revoke 3f9c"
)]
pub struct PermitArgs {
    /// Who may
    #[arg(required_unless_present_any = ["all", "revoke"], conflicts_with_all = ["all", "revoke"])]
    agent: Option<String>,
    /// Where: files, or directories with all below
    #[arg(required_unless_present_any = ["all", "revoke"], value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Everybody, everywhere
    #[arg(long, conflicts_with = "revoke")]
    all: bool,
    /// For how long: a number and s, m, h or d; at most 7d
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, required_unless_present = "revoke", conflicts_with = "revoke", value_parser = grants::seconds)]
    seconds: Option<i64>,
    /// Take grants back, of whatever kind: their ids, or the beginnings of them
    #[arg(long, value_name = "ID", num_args = 1..)]
    revoke: Vec<String>,
    /// Print what would be allowed or taken back, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// List every grant that stands
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Permits, roots that the clock fires in, jobs that were accepted or armed, directories that are trusted.\nExit 1 where nothing is granted.\n\nExamples:\n  loci grants --json\n  loci permit --revoke 3f9c    # takes back any of them"
)]
pub struct GrantsArgs {}

/// Permits, or takes back.
///
/// # Errors
/// Where a path can't be named, no such permit stands, or the log can't be written.
pub fn permit(context: &Context, args: PermitArgs) -> Outcome {
    if !args.revoke.is_empty() {
        return revoke(context, &args);
    }
    let agent = args.agent.as_deref().map(AgentId::new).transpose()?;
    if let Some(agent) = &agent {
        near::say_unknown(context, agent.as_str());
    }
    let paths = args.paths.iter().map(|path| place(context, path)).collect::<Result<Vec<PathBuf>, Failure>>()?;
    if paths.len() > MAX_PATHS {
        return Err(Failure::new("usage", format!("failed to permit: {} paths are more than {MAX_PATHS}", paths.len()))
            .hint("loci permit AGENT DIR --for 30m   # a directory holds for all below"));
    }
    if !args.dry_run
        && let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci permit")?
    {
        return Ok(answer);
    }
    let now = time::now();
    let until = Timestamp::from_second(now.as_second().saturating_add(args.seconds.unwrap_or_default())).unwrap_or(now);
    let salt = random::hex20().map_err(|error| Failure::new("io", "failed to get a random id").caused_by(&error))?;
    let Some((id, line)) = grants::permit_line(agent.as_ref(), &paths, until, now, &salt) else {
        return Err(Failure::new("path", "failed to permit: the log takes only names that are UTF-8; permit a directory above")
            .hint("loci permit AGENT DIR --for 30m"));
    };
    if !args.dry_run {
        grants::append(&context.state, &[line])?;
    }
    let who = agent.as_ref().map_or("everybody", AgentId::as_str);
    let list = if paths.is_empty() { vec!["everywhere".to_owned()] } else { paths.iter().map(|path| context.shown(path)).collect() };
    context.print(
        || {
            let list = list.join(", ");
            if args.dry_run {
                return format!("would be permitted: {who} in {list}, for {} seconds\n", args.seconds.unwrap_or_default());
            }
            format!("permitted: {who} in {list} until {}; take it back: loci permit --revoke {id}\n", time::to_second(until))
        },
        || {
            json!({
                "schema": 1, "done": !args.dry_run, "id": (!args.dry_run).then_some(&id), "agent": agent,
                "seconds": args.seconds, "until": (!args.dry_run).then(|| time::to_second(until)),
                "paths": paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(Answer::Yes)
}

/// A place as the judge will see it.
fn place(context: &Context, path: &Path) -> Result<PathBuf, Failure> {
    let found = real::real(&context.absolute(path), true);
    match found.trouble {
        Some(trouble) => Err(Failure::new("path", format!("failed to permit {}: {trouble}", shown::path(path))).at(&found.path, None)),
        None if !found.exists => Err(Failure::new("path", format!("failed to permit {}: it is not there", shown::path(path)))
            .at(&found.path, None)
            .hint("loci permit AGENT DIR --for 30m   # the directory above holds for what is made there later")),
        None => Ok(found.path),
    }
}

fn revoke(context: &Context, args: &PermitArgs) -> Outcome {
    let found = grants::read(&context.state)?;
    let mut ids: Vec<String> = Vec::new();
    for wanted in &args.revoke {
        let fits: Vec<&Grant> = found.standing(time::now()).filter(|grant| grant.id.starts_with(wanted)).collect();
        match fits.as_slice() {
            [one] if !wanted.is_empty() => {
                if !ids.contains(&one.id) {
                    ids.push(one.id.clone());
                }
            }
            [] => {
                return Err(
                    Failure::new("grant", format!("failed to find a grant that begins with `{}`", shown::text(wanted))).hint("loci grants")
                );
            }
            _ => return Err(Failure::new("grant", format!("failed to tell which grant `{}` is", shown::text(wanted))).hint("loci grants")),
        }
    }
    if !args.dry_run {
        if let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci permit --revoke")? {
            return Ok(answer);
        }
        let lines: Vec<Value> = ids.iter().map(|id| grants::revoke_line(id, time::now())).collect();
        grants::append(&context.state, &lines)?;
    }
    let word = if args.dry_run { "would be taken back" } else { "taken back" };
    context.print(|| format!("{word}: {}\n", ids.join(" ")), || json!({ "schema": 1, "done": !args.dry_run, "revoked": ids }))?;
    Ok(Answer::Yes)
}

/// Lists what is granted.
///
/// # Errors
/// Where the log can't be read.
pub fn grants(context: &Context, _: GrantsArgs) -> Outcome {
    let found = grants::read(&context.state)?;
    if found.skipped > 0 {
        let file = shown::path(&grants::file(&context.state)).to_string();
        context.say(&format!("note: {} of {file} can't be read: nothing is granted by that", shown::count(found.skipped, "line", "lines")));
    }
    let standing: Vec<&Grant> = found.standing(time::now()).collect();
    context.print(
        || {
            let rows: Vec<Vec<String>> = standing.iter().map(|grant| row(context, grant)).collect();
            if rows.is_empty() {
                "nothing is granted\n".to_owned()
            } else {
                format!("{}take one back: loci permit --revoke ID\n", table(&rows))
            }
        },
        || {
            let list: Vec<&Value> = standing.iter().map(|grant| &grant.record).collect();
            json!({ "schema": 1, "grants": list, "skipped": found.skipped })
        },
    )?;
    Ok(if standing.is_empty() { Answer::No } else { Answer::Yes })
}

/// What the clock was allowed, in words; what another version wrote, as it stands.
fn clock_grant(context: &Context, grant: &Grant) -> String {
    let text = |key: &str| grant.record.get(key).and_then(Value::as_str);
    let root = text("root").map(|root| context.shown(Path::new(root)));
    match (grant.kind.as_str(), root, text("job")) {
        ("enrol", Some(root), _) => {
            let live = grant.record.get("live").and_then(Value::as_bool).unwrap_or(false);
            let jobs = grant.record.get("accepted").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            let what = match (live, jobs) {
                (true, _) => "all that it will hold".to_owned(),
                (false, jobs) => shown::count(u64::try_from(jobs).unwrap_or(u64::MAX), "job as it was", "jobs as they were"),
            };
            format!("the clock may fire in {root}: {what}")
        }
        ("accept", Some(root), Some(job)) => format!("{} in {root} as it was", shown::text(job)),
        ("arm", Some(root), Some(job)) => format!("{} in {root} may call a model", shown::text(job)),
        _ => shown::text(&grant.record.to_string()).to_string(),
    }
}

fn row(context: &Context, grant: &Grant) -> Vec<String> {
    let (who, what) = match &grant.permit {
        Some(permit) => {
            let place = match permit.paths.as_slice() {
                [] => "everywhere".to_owned(),
                paths => paths.iter().map(|path| context.shown(path)).collect::<Vec<_>>().join(", "),
            };
            let who = permit.agent.as_ref().map_or("everybody", AgentId::as_str).to_owned();
            (who, format!("{place} until {}", time::to_second(permit.until)))
        }
        None if grant.kind == trust::KIND => {
            let text = |key: &str| grant.record.get(key).and_then(Value::as_str).unwrap_or_default();
            let files = grant.record.get("files").and_then(Value::as_u64).unwrap_or_default();
            let content: String = text("content").chars().take(12).collect();
            (
                String::new(),
                format!(
                    "{} as it was: {}, content {content}",
                    context.shown(Path::new(text("root"))),
                    shown::count(files, "file", "files")
                ),
            )
        }
        None => (String::new(), clock_grant(context, grant)),
    };
    vec![shown::text(&grant.id).to_string(), shown::text(&grant.kind).to_string(), who, what]
}
