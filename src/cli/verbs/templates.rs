//! `loci templates`: what agents can be made from.

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::new::{GIVEN, from_template};
use crate::body::render::{self, Variable};
use crate::body::template::{self, Template};
use crate::body::{What, builtin};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::sys::shown;

/// List what agents can be made from, or show one template
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Your own templates are directories in ~/.loci/templates/.\n\nExamples:\n  loci templates\n  loci templates custodian"
)]
pub struct Args {
    /// Which one to show: a name, or a path with a `/`
    name: Option<String>,
}

/// Runs it.
///
/// # Errors
/// Where a template can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    match args.name {
        Some(name) => show(context, &name),
        None => list(context),
    }
}

fn list(context: &Context) -> Outcome {
    let mut all: Vec<Template> = Vec::new();
    for name in template::user_names(&context.home)? {
        all.push(find(context, &name)?);
    }
    for one in builtin::ALL.iter().filter(|one| !all.iter().any(|other| other.name == one.name)).collect::<Vec<_>>() {
        all.push(template::built_in(one).map_err(|error| from_template(error, one.name))?);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = || all.iter().map(|one| vec![shown::text(&one.name).to_string(), one.origin.word().to_owned(), description(one)]);
    context
        .print(|| table(&rows().collect::<Vec<_>>()), || json!({ "schema": 1, "templates": all.iter().map(head).collect::<Vec<_>>() }))?;
    Ok(Answer::Yes)
}

fn find(context: &Context, name: &str) -> Result<Template, Failure> {
    template::find(name, &context.home, &context.cwd).map_err(|error| from_template(error, name))
}

fn description(template: &Template) -> String {
    template.description.as_deref().map(|text| shown::text(text).to_string()).unwrap_or_default()
}

fn head(template: &Template) -> Value {
    json!({
        "name": template.name, "origin": template.origin.word(),
        "path": template.origin.dir().map(Path::to_string_lossy), "description": template.description,
    })
}

fn show(context: &Context, name: &str) -> Outcome {
    let template = find(context, name)?;
    let variables = render::variables(&template, &GIVEN).map_err(|error| from_template(error, name))?;
    let files: Vec<&Path> = template.nodes.iter().filter(|node| node.what != What::Dir).map(|node| node.rel.as_path()).collect();
    context.print(
        || words(&template, &variables, &files),
        || {
            let mut object = head(&template);
            object["schema"] = json!(1);
            object["variables"] = variables
                .iter()
                .map(|one| {
                    json!({
                        "name": one.name, "default": one.default, "required": one.required,
                        "files": one.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
                    })
                })
                .collect();
            object["files"] = files.iter().map(|file| json!(file.to_string_lossy())).collect();
            object
        },
    )?;
    Ok(Answer::Yes)
}

fn words(template: &Template, variables: &[Variable], files: &[&Path]) -> String {
    let place = template.origin.dir().map_or_else(|| template.origin.word().to_owned(), |dir| shown::path(dir).to_string());
    let mut text = format!("{} ({place})\n", shown::text(&template.name));
    if template.description.is_some() {
        text.push_str(&format!("{}\n", description(template)));
    }
    if !variables.is_empty() {
        text.push_str("\nvariables, given with --set NAME=VALUE\n");
        let rows = variables.iter().map(|one| {
            let what = match &one.default {
                Some(value) => format!("default: {}", shown::text(value)),
                None if one.required => "required".to_owned(),
                None => "optional".to_owned(),
            };
            vec![format!("  {}", one.name), what]
        });
        text.push_str(&table(&rows.collect::<Vec<_>>()));
    }
    text.push_str("\nfiles\n");
    for file in files {
        text.push_str(&format!("  {}\n", shown::path(file)));
    }
    text
}
