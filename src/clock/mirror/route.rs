//! Who may ask a served mirror for what. It decides; nothing is looked at here.

use crate::sys::loopback::Asked;

/// The longest time a route waits for a screen to stand still, in seconds.
pub const MOST_WAIT: u16 = 600;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// What stands on the screen.
    Screen,
    /// Screen and loadout as one document.
    State,
    /// A text is to be typed; with seconds, what stands there afterwards.
    Type(String, Option<u16>),
    /// Whether it is attached.
    Attached,
    /// The name is to be bound to the session that has it now.
    Attach,
}

/// Why nothing is done: a number as HTTP has it, and words.
pub type Refusal = (u16, String);

/// Decides over a question. A page in a browser reaches the loopback address too, by a name of its own: so the
/// host has to be the loopback one, and no page may have sent it; and whoever asks has the token.
///
/// # Errors
/// Why not.
pub fn route(asked: &Asked, port: u16, token: &str) -> Result<Route, Refusal> {
    let refuse = |status: u16, why: &str| Err((status, why.to_owned()));
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if !asked.header("host").is_some_and(|host| hosts.iter().any(|one| one.eq_ignore_ascii_case(host))) {
        return refuse(403, "the host is another one");
    }
    if asked.has("origin") || asked.header("sec-fetch-site").is_some_and(|site| site != "none") {
        return refuse(403, "a page in a browser sent this");
    }
    let given = asked.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if !same(given.as_bytes(), token.as_bytes()) {
        return refuse(401, "the token is missing or another one: authorization: Bearer TOKEN");
    }
    let (get, post) = (asked.method == "GET", asked.method == "POST");
    match asked.path.as_str() {
        "/screen" if get => Ok(Route::Screen),
        "/state" if get => Ok(Route::State),
        "/attach" if get => Ok(Route::Attached),
        "/attach" if post => Ok(Route::Attach),
        "/type" if post => {
            let wait = wait(&asked.query).map_err(|why| (400, why))?;
            match std::str::from_utf8(&asked.body) {
                Ok(text) => Ok(Route::Type(text.strip_suffix('\n').unwrap_or(text).to_owned(), wait)),
                Err(_) => refuse(400, "the text is not UTF-8"),
            }
        }
        "/screen" | "/state" | "/attach" | "/type" => refuse(405, "that is asked with another method"),
        _ => refuse(404, "there are GET /screen, GET /state, POST /type, GET /attach and POST /attach"),
    }
}

/// The seconds of `wait=SECONDS`; `None` where nothing is said.
fn wait(query: &str) -> Result<Option<u16>, String> {
    if query.is_empty() {
        return Ok(None);
    }
    let seconds = query.strip_prefix("wait=").and_then(|seconds| seconds.parse::<u16>().ok());
    match seconds {
        Some(seconds) if (1..=MOST_WAIT).contains(&seconds) => Ok(Some(seconds)),
        _ => Err(format!("the query is not wait=SECONDS, 1 to {MOST_WAIT}")),
    }
}

/// Compares without telling by its time where two differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, target: &str, more: &[(&str, &str)]) -> Asked {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = vec![("host".to_owned(), "127.0.0.1:80".to_owned()), ("authorization".to_owned(), "Bearer secret".to_owned())];
        for (name, value) in more {
            headers.retain(|(one, _)| one != name);
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
        Asked { method: method.to_owned(), path: path.to_owned(), query: query.to_owned(), headers, body: b"go on\n".to_vec() }
    }

    fn status(asked: &Asked) -> u16 {
        route(asked, 80, "secret").map_or_else(|(status, _)| status, |_| 200)
    }

    #[test]
    fn the_four_are_there() {
        assert_eq!(route(&asked("GET", "/screen", &[]), 80, "secret"), Ok(Route::Screen));
        assert_eq!(route(&asked("GET", "/state", &[("host", "LOCALHOST:80")]), 80, "secret"), Ok(Route::State));
        assert_eq!(route(&asked("GET", "/attach", &[]), 80, "secret"), Ok(Route::Attached));
        assert_eq!(route(&asked("POST", "/attach", &[]), 80, "secret"), Ok(Route::Attach));
        assert_eq!(route(&asked("POST", "/type?wait=5", &[]), 80, "secret"), Ok(Route::Type("go on".to_owned(), Some(5))));
    }

    #[test]
    fn everybody_else_is_refused() {
        for (method, target, more, wanted) in [
            ("GET", "/screen", &[("authorization", "Bearer secre")][..], 401),
            ("GET", "/screen", &[("authorization", "Bearer ")], 401),
            ("GET", "/screen", &[("authorization", "secret")], 401),
            ("GET", "/screen", &[("host", "evil.example:80")], 403),
            ("GET", "/screen", &[("host", "127.0.0.1:81")], 403),
            ("GET", "/screen", &[("origin", "http://127.0.0.1:80")], 403),
            ("GET", "/screen", &[("sec-fetch-site", "cross-site")], 403),
            ("POST", "/screen", &[], 405),
            ("GET", "/type", &[], 405),
            ("GET", "/", &[], 404),
            ("POST", "/type?wait=0", &[], 400),
            ("POST", "/type?wait=601", &[], 400),
            ("POST", "/type?x=1", &[], 400),
        ] {
            assert_eq!(status(&asked(method, target, more)), wanted, "{method} {target} {more:?}");
        }
        let mut bytes = asked("POST", "/type", &[]);
        bytes.body = vec![0xff];
        assert_eq!(status(&bytes), 400);
        // Nobody is let in by a token that is empty on both sides.
        assert_eq!(route(&Asked::default(), 80, "").map_err(|(status, _)| status), Err(403));
    }
}
