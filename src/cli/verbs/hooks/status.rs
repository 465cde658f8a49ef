//! How `loci hooks status` says it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Seen, Status, words};
use crate::cli::context::Context;
use crate::cli::near::word;
use crate::cli::output::table;
use crate::hooks::active::Active;
use crate::hooks::event::{Seam, Take};
use crate::hooks::find::Hook;
use crate::hooks::harness::{self, Adapter};
use crate::hooks::log;
use crate::hooks::relay::BUILT_IN;
use crate::hooks::switches::{self, Silent, Switches};
use crate::sys::shown;
use crate::tree::card::{self, AgentFile};

fn how(hook: &Hook, switches: &Switches) -> String {
    match switches.silence(hook) {
        None => "on".to_owned(),
        Some(Silent::Off(by)) => format!("off ({})", by.word()),
        Some(Silent::Standing(_)) => "does not run".to_owned(),
    }
}

/// The identity file of the body, where it names a set of hooks.
fn declaring(seen: &Seen) -> Option<(AgentFile, Active)> {
    let card = card::agent(seen.body.as_deref()?)?.ok()?;
    let declared = Active::declared(card.hooks.as_deref()?);
    Some((card, declared))
}

fn seams(hook: &Hook) -> String {
    hook.declared.seams.iter().map(|seam| seam.word()).collect::<Vec<_>>().join(",")
}

pub(super) fn report(context: &Context, args: &Status, seen: &Seen, body: Option<&Active>, failures: &[log::Failure]) -> String {
    let mut text = String::new();
    let rows: Vec<Vec<String>> = seen
        .hooks
        .all
        .iter()
        .map(|hook| {
            let name = shown::text(&hook.name).to_string();
            vec![name, how(hook, &seen.switches), hook.standing.word().to_owned(), seams(hook), context.shown(&hook.found.path)]
        })
        .chain(BUILT_IN.iter().map(|(name, what)| {
            let on = if seen.switches.are_on(name, true) { "on" } else { "off" };
            vec![(*name).to_owned(), on.to_owned(), "built-in".to_owned(), String::new(), (*what).to_owned()]
        }))
        .collect();
    text.push_str(&table(&rows));
    let strange: std::collections::BTreeSet<&Path> =
        seen.hooks.all.iter().filter(|hook| !hook.standing.is_trusted()).map(|hook| hook.found.provenance.level.as_path()).collect();
    for level in strange {
        text.push_str(&format!(
            "note: what does not run in {} has not been trusted as it is now: loci trust {}\n",
            context.shown(level),
            word(level)
        ));
    }
    for hook in &seen.hooks.all {
        for remark in &hook.declared.remarks {
            text.push_str(&format!("note: {}: {remark}\n", context.shown(&hook.found.path)));
        }
    }
    for (path, remarks) in &seen.hooks.bad {
        text.push_str(&format!("note: {} is no hook: {}\n", context.shown(path), remarks.join("; ")));
    }
    if let Some(session) = &args.session {
        text.push_str(&format!("\nsession {}: {}\n", shown::text(session), words(&seen.memory.active)));
        let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(|| "-".to_owned(), |path| context.shown(path));
        text.push_str(&format!("  started in {}, stands in {}\n", path(&seen.memory.launch), path(&seen.memory.place)));
        if let Some(persona) = &seen.memory.persona {
            text.push_str(&format!("  persona {} (declared in {})\n", shown::text(&persona.name), context.shown(&persona.declared_in)));
        }
        text.push_str(&format!("  state {}\n", shown::text(&Value::Object(seen.memory.state.clone()).to_string())));
    }
    if let (Some(dir), Some(active)) = (&seen.body, body) {
        text.push_str(&format!("\nbody {}: {}\n", context.shown(dir), words(active)));
    }
    if let Some((card, declared)) = declaring(seen) {
        let place = format!("{}{}", context.shown(&card.path), card.hooks_line.map(|line| format!(":{line}")).unwrap_or_default());
        text.push_str(&format!("\n{place}: {}\n", words(&declared)));
        for (name, near) in switches::unknown(&card, &seen.hooks.all) {
            text.push_str(&format!("note: {place}: {}\n", switches::unknown_words(name, near)));
        }
    }
    text.push_str("\nwhat each harness has\n");
    let rows: Vec<Vec<String>> =
        harness::ALL.iter().map(|adapter| vec![format!("  {}", adapter.name), has(adapter), lacks(adapter)]).collect();
    text.push_str(&table(&rows));
    text.push_str("\nwhat a hook can do there\n");
    let rows: Vec<Vec<String>> = harness::ALL
        .iter()
        .map(|adapter| {
            let rewrites =
                if takes(adapter, Take::Input).is_empty() { "can't rewrite the input of a call" } else { "rewrites the input of a call" };
            let texts = format!("adds text at {}", takes(adapter, Take::Context));
            vec![format!("  {}", adapter.name), format!("blocks at {}", takes(adapter, Take::Block)), texts, rewrites.to_owned()]
        })
        .collect();
    text.push_str(&table(&rows));
    text.push_str(&format!("  {}: the clock calls it; no harness has it\n", Seam::OnBlockReport.word()));
    if !failures.is_empty() {
        text.push_str("\nwhat went wrong last; nothing was held up by it\n");
        let rows: Vec<Vec<String>> = failures
            .iter()
            .map(|failure| [&failure.at, &failure.seam, &failure.hook, &failure.why].map(|part| shown::text(part).to_string()).to_vec())
            .collect();
        text.push_str(&table(&rows));
    }
    text
}

/// Whether a harness has a seam: by an event of its own, or along with another one.
fn has_seam(adapter: &Adapter, seam: Seam) -> bool {
    let own = |seam: Seam| adapter.point(seam, None).is_some();
    match seam {
        // A failed call comes with the event after a call.
        Seam::OnError => own(seam) || own(Seam::AfterTool),
        // Text is added where a session or a prompt begins, if the model is shown it there.
        Seam::BeforeSystemPrompt => {
            let shows = |seam| adapter.point(seam, None).is_some_and(|point| point.takes(Take::Context));
            own(seam) || shows(Seam::BeforeRun) || shows(Seam::BeforeIteration)
        }
        seam => own(seam),
    }
}

fn has(adapter: &Adapter) -> String {
    Seam::ALL.iter().filter(|seam| has_seam(adapter, **seam)).map(|seam| seam.word()).collect::<Vec<_>>().join(" ")
}

/// The seams at which a hook can do that; empty where there is none.
fn takes(adapter: &Adapter, take: Take) -> String {
    let can = |seam: &&Seam| adapter.points.iter().any(|point| point.seam == **seam && point.takes(take));
    Seam::ALL.iter().filter(can).map(|seam| seam.word()).collect::<Vec<_>>().join(" ")
}

fn lacks(adapter: &Adapter) -> String {
    let missing = Seam::ALL.iter().filter(|seam| !has_seam(adapter, **seam) && **seam != Seam::OnBlockReport);
    let missing: Vec<&str> = missing.map(|seam| seam.word()).collect();
    if missing.is_empty() { String::new() } else { format!("lacks {}", missing.join(" ")) }
}

pub(super) fn object(args: &Status, seen: &Seen, body: Option<&Active>, failures: &[log::Failure]) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let hooks: Vec<Value> = seen
        .hooks
        .all
        .iter()
        .map(|hook| {
            json!({
                "name": hook.name, "path": text(&hook.found.path), "root": hook.found.provenance.root.word(),
                "level": text(&hook.found.provenance.level), "seams": hook.declared.seams.iter().map(|seam| seam.word()).collect::<Vec<_>>(),
                "timeout": hook.declared.timeout.as_secs_f64(),
                "tools": hook.declared.tools.iter().map(|pattern| pattern.text.as_str()).collect::<Vec<_>>(),
                "standing": hook.standing.word(), "trusted": hook.standing.is_trusted(),
                "on": seen.switches.silence(hook).is_none(), "why": seen.switches.silence(hook).map(Silent::word), "remarks": hook.declared.remarks,
            })
        })
        .collect();
    let bad: Vec<Value> = seen.hooks.bad.iter().map(|(path, why)| json!({ "path": text(path), "remarks": why })).collect();
    let built_in: Vec<Value> =
        BUILT_IN.iter().map(|(name, what)| json!({ "name": name, "does": what, "on": seen.switches.are_on(name, true) })).collect();
    let harnesses: Vec<Value> = harness::ALL
        .iter()
        .map(|adapter| {
            let points: Vec<Value> = adapter
                .points
                .iter()
                .map(|point| {
                    json!({
                        "event": point.native, "seam": point.seam.word(), "blocks": point.takes(Take::Block),
                        "context": point.takes(Take::Context), "rewrites": point.takes(Take::Input),
                    })
                })
                .collect();
            let lacks: Vec<&str> = Seam::ALL.iter().filter(|seam| !has_seam(adapter, **seam)).map(|seam| seam.word()).collect();
            json!({ "name": adapter.name, "events": points, "lacks": lacks })
        })
        .collect();
    let declared = declaring(seen).map(|(card, declared)| {
        let unknown: Vec<&str> = switches::unknown(&card, &seen.hooks.all).into_iter().map(|(name, _)| name).collect();
        json!({ "path": text(&card.path), "line": card.hooks_line, "only": declared.only, "unknown": unknown })
    });
    json!({
        "schema": 1, "hooks": hooks, "declared": declared, "not_hooks": bad, "built_in": built_in,
        "body": seen.body.as_deref().map(|dir| json!({ "path": text(dir), "active": body })),
        "session": args.session.as_ref().map(|_| &seen.memory), "harnesses": harnesses, "failures": failures,
    })
}
