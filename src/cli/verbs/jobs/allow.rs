//! `loci jobs accept|arm|disarm`: what a person allows of a job, and takes back.

use serde_json::{Value, json};

use super::world::world;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::job::Action;
use crate::clock::trust;
use crate::custody::grants;
use crate::sys::time;

pub(super) fn allow(context: &Context, kind: &str, names: &[String], dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &grants::file(&context.state), &format!("loci jobs {kind}"))? {
        return Ok(answer);
    }
    let world = world(context)?;
    let mut lines = Vec::new();
    let mut waiting = Vec::new();
    for name in names {
        if let Some(one) = world.looped(name)? {
            let (accept, arm) = trust::loop_hashes(&one, &world.root.dir);
            if kind == "arm" && !world.trust.accepts(&one.job.name, &accept) {
                waiting.push(name);
            }
            lines.push(world.line(kind, &one.job.name, if kind == "arm" { arm } else { accept }, None)?);
            continue;
        }
        let job = world.job(name)?;
        if kind == "arm" && !world.trust.is_accepted(job, &world.root.dir) {
            waiting.push(name);
        }
        let body = match &job.action {
            Action::Wake { body, .. } if kind == "arm" => body.to_str().map(Value::from),
            Action::Wake { .. } => {
                let what = format!("{} stands in no file that could be accepted: a person arms it", job.name);
                return Err(Failure::new("job", what).hint(format!("loci jobs arm {name}")));
            }
            Action::Run(_) | Action::Agent { .. } => None,
        };
        let hash = if kind == "arm" { trust::arm_hash(job, &world.root.dir) } else { trust::accept_hash(job, &world.root.dir) };
        lines.push(world.line(kind, name, hash, body)?);
    }
    if !dry_run {
        grants::append(&context.state, &lines)?;
    }
    let word = match (kind, dry_run) {
        ("arm", false) => "armed",
        ("arm", true) => "would be armed",
        (_, false) => "accepted",
        (_, true) => "would be accepted",
    };
    context.print(
        || format!("{word}: {}\n", names.join(" ")),
        || json!({ "schema": 1, "done": !dry_run, "root": world.root.dir.to_string_lossy(), "grants": lines }),
    )?;
    for name in &waiting {
        context.say(&format!("note: {name} is not accepted yet: it does not run before that (loci jobs accept {name})"));
    }
    if !world.trust.enrolled {
        context.say(&format!("note: the root is not enrolled: nothing fires (loci clock enroll {})", context.shown(&world.root.dir)));
    }
    Ok(Answer::Yes)
}

pub(super) fn disarm(context: &Context, names: &[String], dry_run: bool) -> Outcome {
    if !dry_run && let Some(answer) = grant::or_request(context, &grants::file(&context.state), "loci jobs disarm")? {
        return Ok(answer);
    }
    let world = world(context)?;
    let mut ids = Vec::new();
    for name in names {
        let one = world.looped(name)?;
        ids.extend(world.trust.arms_of(one.as_ref().map_or(name.as_str(), |one| &one.job.name)));
    }
    if !dry_run {
        let lines: Vec<Value> = ids.iter().map(|id| grants::revoke_line(id, time::now())).collect();
        if !lines.is_empty() {
            grants::append(&context.state, &lines)?;
        }
    }
    let word = if dry_run { "would be disarmed" } else { "disarmed" };
    context.print(
        || if ids.is_empty() { "none of them is armed\n".to_owned() } else { format!("{word}: {}\n", names.join(" ")) },
        || json!({ "schema": 1, "done": !dry_run, "revoked": ids }),
    )?;
    Ok(if ids.is_empty() { Answer::No } else { Answer::Yes })
}
