//! `loci mirror serve`: the same four over HTTP on the loopback address, for whoever has the token.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::{document, is_gone, stands_still};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::mirror::route::{self, Refusal, Route};
use crate::clock::mirror::{self, Attached, MirrorError, Pane, Tmux};
use crate::loadout::{Level, find};
use crate::sys::loopback::{Answered, Asked, Loopback};
use crate::sys::{disk, random, shown, time};
use crate::tree::settings;

/// What is served, and what that takes.
struct Served {
    name: String,
    state: PathBuf,
    home: PathBuf,
    env: BTreeMap<OsString, OsString>,
    socket: Option<PathBuf>,
    port: u16,
    token: String,
    /// Two texts don't mix.
    typing: Mutex<()>,
}

/// Runs it.
///
/// # Errors
/// Where the port is taken.
pub(super) fn run(context: &Context, name: &str, port: u16, socket: Option<PathBuf>) -> Outcome {
    if !mirror::is_name(name) {
        return Err(Failure::new("mirror", format!("`{}` is no name of a session", shown::text(name))).hint("tmux list-sessions"));
    }
    if let Some(answer) = grant::or_request(context, &mirror::file(&context.state, name), &format!("loci mirror serve {name}"))? {
        return Ok(answer);
    }
    let io = |what: &str, error: &std::io::Error| Failure::new("io", format!("failed to {what}")).caused_by(error);
    let listens = Loopback::open(port, mirror::MAX_TEXT).map_err(|error| {
        io(&format!("listen on port {port} of 127.0.0.1"), &error).hint(format!("loci mirror serve {name}    # takes a free one"))
    })?;
    let port = listens.port().map_err(|error| io("get the port", &error))?;
    let token = [random::hex20(), random::hex20()].into_iter().collect::<Result<Vec<_>, _>>();
    let served = Served {
        name: name.to_owned(),
        state: context.state.clone(),
        home: context.home.clone(),
        env: context.env.vars.clone(),
        socket,
        port,
        token: token.map_err(|error| io("get a random token", &error))?.concat(),
        typing: Mutex::new(()),
    };
    if let Err((_, said)) = served.looked() {
        let why = said.get("why").and_then(Value::as_str).unwrap_or_default().to_owned();
        context.say(&format!("note: {name}: {why}; nothing is started"));
    }
    context.print(
        || format!("http://127.0.0.1:{port}\nauthorization: Bearer {}\n", served.token),
        || json!({ "schema": 1, "name": name, "url": format!("http://127.0.0.1:{port}"), "token": served.token }),
    )?;
    listens.serve(|asked| served.answer(asked));
    Ok(Answer::Yes)
}

/// A number as HTTP has it, and what is said.
type Said = (u16, Value);

impl Served {
    fn answer(&self, asked: &Asked) -> Answered {
        let refused = |(status, why): Refusal| (status, json!({ "schema": 1, "error": why }));
        let said = route::route(asked, self.port, &self.token).map_err(refused).and_then(|route| self.act(route));
        let (status, body) = said.map_or_else(|refused| refused, |said| (200, said));
        Answered { status, body: format!("{body}\n") }
    }

    /// What is attached by the name, and is there: asked before everything else.
    fn looked(&self) -> Result<(Attached, Pane), Said> {
        let attached = mirror::attached(&self.state, &self.name).map_err(|error| self.failed(&error))?;
        let Some(attached) = attached else { return Err(self.failed(&MirrorError::NotAttached(self.name.clone()))) };
        let pane = attached.look(&self.env).map_err(|error| self.failed(&error))?;
        Ok((attached, pane))
    }

    fn failed(&self, error: &MirrorError) -> Said {
        let status = match error {
            error if is_gone(error) => return (404, document::not_there(&self.name, &document::why(error))),
            MirrorError::Text(_) => 400,
            MirrorError::Shell(..) => 409,
            MirrorError::Tmux(_) => 502,
            _ => 500,
        };
        (status, json!({ "schema": 1, "error": format!("failed to {error}") }))
    }

    fn act(&self, route: Route) -> Result<Value, Said> {
        if route == Route::Attach {
            return self.attach();
        }
        let (attached, pane) = self.looked()?;
        let failed = |error: MirrorError| self.failed(&error);
        match route {
            Route::Attach | Route::Attached => Ok(document::attached(&attached, true)),
            Route::Screen => Ok(document::screen(&self.name, &attached.screen(&self.env).map_err(failed)?)),
            Route::State => {
                let dotdirs =
                    settings::load(&self.home).map_err(|error| (500, json!({ "schema": 1, "error": format!("failed to {error}") })))?;
                let dir = disk::canonical(&pane.cwd).map_err(|error| failed(error.into()))?;
                let level = Level { dir, dotdirs: dotdirs.dotdirs, state: self.state.clone() };
                let screen = attached.screen(&self.env).map_err(failed)?;
                Ok(document::state(&attached, &level.dir, &screen, &find::items(&level).items))
            }
            Route::Type(text, wait) => {
                {
                    // Whoever panicked there has typed or has not; the next text is another one.
                    let _one = self.typing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    attached.type_in(&self.env, &text, || true).map_err(failed)?;
                }
                let seen = wait.map(|seconds| stands_still(&attached, &self.env, seconds)).transpose().map_err(failed)?;
                Ok(document::typed(&self.name, true, text.len(), seen.as_ref()))
            }
        }
    }

    /// The name is bound to the session that has it now. Whoever started this let whoever has the token do so.
    fn attach(&self) -> Result<Value, Said> {
        let failed = |error: MirrorError| self.failed(&error);
        let before = mirror::attached(&self.state, &self.name).map_err(failed)?.map(|before| before.socket);
        let socket = self.socket.clone().or(before);
        let found = Tmux { socket: socket.as_deref(), env: &self.env }.find(&self.name, time::now()).map_err(failed)?;
        mirror::keep(&self.state, &found).map_err(failed)?;
        Ok(document::attached(&found, true))
    }
}
