//! The mirror over a real tmux, on a socket of its own: what is typed arrives as it is and as one, and what is not there
//! is not started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use loci::clock::mirror::{self, Attached};
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};
use crate::waiting::{set_time, start, until};

/// Where the receiver writes what was submitted.
const RECEIVED: &str = "LOCI_TEST_RECEIVED";

/// A tmux server of this test alone, with a receiver in its session `main`.
struct World {
    sandbox: Sandbox,
    /// A short path: the system's limit for sockets is.
    folder: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[expect(clippy::print_stdout, reason = "a test that can't run here says so")]
fn there_is_tmux() -> bool {
    let there = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join("tmux").exists());
    if !there {
        println!("skipped: tmux is not installed");
    }
    there
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.file("root/.loci/agent.md", "---\nid: a\n---\n").file("root/.loci/rules/night.md", "x").dir("root/.loci-clock/jobs");
        let unique = sandbox.path("").components().next_back().unwrap().as_os_str().to_string_lossy().into_owned();
        let folder = std::env::temp_dir().join(format!("loci-tmux-{unique}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let world = Self { sandbox, folder };
        world.receiver("main");
        world
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-f").arg("/dev/null").arg("-S").arg(self.socket()).args(args).env_remove("TMUX").stdin(Stdio::null());
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A session with a program that takes each paste and each Enter as an agent's terminal does.
    fn receiver(&self, session: &str) {
        let program = std::env::current_exe().unwrap();
        let out = self.received_file(session);
        let line = format!("exec env {RECEIVED}='{}' '{}' --exact mirror::receiver --nocapture", out.display(), program.display());
        self.tmux(&["new-session", "-d", "-s", session, "-x", "120", "-y", "40", "-c", self.sandbox.path("root").to_str().unwrap(), &line]);
        until("the receiver", || out.exists().then_some(()));
    }

    fn received_file(&self, session: &str) -> PathBuf {
        self.sandbox.path(format!("received-{session}"))
    }

    /// What was submitted so far, message by message.
    fn received(&self) -> Vec<String> {
        let bytes = fs::read(self.received_file("main")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).skip(1).map(|one| String::from_utf8_lossy(one).into_owned()).collect()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command("root");
        command.args(args).env("LOCI_TEST_NOW", self.sandbox.path("now")).env_remove("TMUX");
        command
    }

    fn loci(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args), None)
    }

    fn attach(&self) {
        self.time(0);
        self.loci(&["mirror", "attach", "main", "--socket", self.socket().to_str().unwrap()]).exits(0);
    }

    fn attached(&self) -> Attached {
        mirror::attached(&self.sandbox.path("state/loci"), "main").unwrap().unwrap()
    }

    fn at(second: u64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(1_780_272_000 + i64::try_from(second).unwrap()).unwrap()
    }

    fn time(&self, second: u64) {
        set_time(&self.sandbox, second);
    }
}

fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name != "TMUX").collect()
}

/// Not a test of its own: in a pane of a test below it takes what is typed, as a program does that asked for bracketed pastes. Each
/// Enter outside of one submits; a zero byte stands before the first message and behind each.
#[test]
fn receiver() {
    let Some(path) = std::env::var_os(RECEIVED) else { return };
    let stdin = std::io::stdin();
    let mut mode = nix::sys::termios::tcgetattr(&stdin).unwrap();
    nix::sys::termios::cfmakeraw(&mut mode);
    nix::sys::termios::tcsetattr(&stdin, nix::sys::termios::SetArg::TCSANOW, &mode).unwrap();
    std::io::stdout().write_all(b"\x1b[?2004h").unwrap();
    std::io::stdout().flush().unwrap();
    let mut out = fs::File::create(path).unwrap();
    out.write_all(b"\0").unwrap();
    let (mut seen, mut message, mut pasting) = (Vec::new(), Vec::new(), false);
    for byte in stdin.lock().bytes() {
        seen.push(byte.unwrap());
        if seen.ends_with(b"\x1b[200~") {
            (pasting, message) = (true, Vec::new());
            seen.clear();
        } else if seen.ends_with(b"\x1b[201~") {
            let length = message.len() - 5;
            message.truncate(length);
            pasting = false;
            seen.clear();
        } else if !pasting && seen.ends_with(b"\r") {
            message.push(0);
            out.write_all(&message).unwrap();
            message.clear();
            seen.clear();
        } else {
            message.push(*seen.last().unwrap());
        }
    }
}

/// A hundred messages of all that a shell, a terminal or tmux could take for something else.
fn messages() -> Vec<String> {
    let parts = [
        "plain",
        "\"double\" 'single'",
        "`date` $(date) ${HOME} $1",
        "two\nlines",
        "three\n\n\nlines, one of them empty\n",
        "\ttabs\tand  blanks  ",
        "é ü 日本語 🦀 عربى",
        "; rm -rf . && | > <",
        "\\n \\e[31m \\\\",
        "#{session_name} #(date) %% %1",
        "-flag --option=1",
        "C-c Enter Escape",
        "~ ! * ? [a-z] {a,b}",
        "line\n```sh\necho \"hi\"\n```\nend",
        "\u{301}combining \u{200d}joined",
    ];
    let mut messages: Vec<String> = (0..99).map(|nth| format!("{nth}: {}", parts[nth % parts.len()])).collect();
    messages.push("long ".repeat(4_000));
    messages
}

#[test]
fn a_hundred_messages_arrive_as_a_hundred_byte_for_byte() {
    if !there_is_tmux() {
        return;
    }
    let world = World::new();
    world.attach();
    let env = environment();
    let attached = world.attached();
    let messages = messages();
    for (nth, message) in messages.iter().enumerate() {
        if nth % 9 == 4 {
            world.tmux(&["copy-mode", "-t", "main"]);
        }
        if nth % 33 == 0 {
            // Through the program, from its standard input: a line end at the end is the shell's.
            let mut command = world.command(&["mirror", "type", "main"]);
            Run::of(&mut command, Some(format!("{message}\n").as_bytes())).exits(0);
        } else {
            assert!(attached.type_in(&env, message, || true).unwrap());
        }
    }
    let received = until("all of them", || Some(world.received()).filter(|received| received.len() > messages.len()));
    assert_eq!(received.len(), messages.len() + 1, "an Enter too many");
    for (sent, came) in messages.iter().zip(&received) {
        assert_eq!(sent, came);
    }
    // Nobody's buffer is left behind.
    assert_eq!(world.tmux(&["list-buffers"]), "");
    // Who comes between the check and the typing goes first.
    assert!(!attached.type_in(&env, "too late", || false).unwrap());
    assert!(attached.type_in(&env, "a\u{1b}[201~\rb", || true).is_err());
    let screen = world.loci(&["mirror", "screen", "main", "--json"]).exits(0).json();
    assert!(screen["screen"].as_str().unwrap().contains("running 1 test"), "{screen}");
    let state = world.loci(&["mirror", "state", "main", "--json"]).exits(0).json();
    assert_eq!((&state["loadout"][0]["item"], &state["loadout"][0]["state"]), (&"night.md".into(), &"on".into()), "{state}");
    assert_eq!(world.received().len(), messages.len() + 1);
}

#[test]
fn a_session_that_is_not_there_stays_not_there() {
    if !there_is_tmux() {
        return;
    }
    let world = World::new();
    world.time(0);
    let socket = world.socket();
    let socket = socket.to_str().unwrap();
    for name in ["gone", "mai", "ma*"] {
        let said = world.loci(&["mirror", "attach", name, "--socket", socket]).exits(1).stdout;
        assert!(said.contains("not attached"), "{said}");
        world.loci(&["mirror", "type", name, "x"]).exits(1);
        world.loci(&["mirror", "screen", name]).exits(1);
    }
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "main\n");
    // No server either.
    let nowhere = world.folder.join("nowhere");
    world.loci(&["mirror", "attach", "main", "--socket", nowhere.to_str().unwrap()]).exits(1);
    assert!(!nowhere.exists());
    // Attaching is a person's.
    let mut asked = world.command(&["mirror", "attach", "main", "--socket", socket]);
    asked.env("CLAUDECODE", "1");
    Run::of(&mut asked, None).exits(1);
    assert!(mirror::attached(&world.sandbox.path("state/loci"), "main").unwrap().is_none());
    world.attach();
    assert!(world.loci(&["mirror", "type", "main", "x", "--dry-run"]).exits(0).stdout.contains("would"));
    // Another session of that name is not the one that a person looked at.
    world.tmux(&["new-session", "-d", "-s", "aside", "sleep 600"]);
    world.tmux(&["kill-session", "-t", "main"]);
    fs::remove_file(world.received_file("main")).unwrap();
    world.receiver("main");
    let said = world.loci(&["mirror", "type", "main", "x"]).exits(1).stdout;
    assert!(said.contains("not attached"), "{said}");
    world.attach();
    world.loci(&["mirror", "type", "main", "x"]).exits(0);
    until("the message", || (world.received().first().map(String::as_str) == Some("x")).then_some(()));
    // A shell where an agent was would run what is typed.
    let pane = world.attached().pane;
    world.tmux(&["respawn-pane", "-k", "-t", &pane, "exec sh"]);
    until("the shell", || (world.tmux(&["display-message", "-p", "-t", &pane, "#{pane_current_command}"]).trim() == "sh").then_some(()));
    let said = world.loci(&["mirror", "type", "main", "touch typed"]).exits(2).stderr;
    assert!(said.contains("shell"), "{said}");
    world.tmux(&["kill-server"]);
    world.loci(&["mirror", "type", "main", "x"]).exits(1);
    assert!(world.loci(&["mirror", "detach", "main"]).exits(0).stdout.contains("detached"));
    world.loci(&["mirror", "detach", "main"]).exits(1);
}

/// A server of the mirror that ends with its test; where it listens, and its token.
struct Served(std::process::Child, String, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Served {
    fn start(world: &World) -> Self {
        // By the real time: it waits for a screen to stand still.
        let mut command = world.command(&["mirror", "serve", "main", "--json"]);
        let mut child = command.env_remove("LOCI_TEST_NOW").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let place = said["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self(child, place, said["token"].as_str().unwrap().to_owned())
    }

    fn raw(&self, text: &str) -> (u16, String) {
        let mut stream = std::net::TcpStream::connect(&self.1).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), body.to_owned())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (place, token) = (&self.1, &self.2);
        let (status, body) = self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nhost: {place}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// The same four over HTTP, for whoever has the token; killed, the session goes on, and the next server is attached.
#[test]
fn a_served_mirror_answers_whoever_has_its_token() {
    if !there_is_tmux() {
        return;
    }
    let world = World::new();
    world.attach();
    let served = Served::start(&world);
    let same = |path: &str, args: &[&str]| assert_eq!(served.ask("GET", path, ""), (200, world.loci(args).exits(0).json()), "{path}");
    same("/screen", &["mirror", "screen", "main", "--json"]);
    same("/state", &["mirror", "state", "main", "--json"]);
    assert_eq!(served.ask("GET", "/attach", "").1["attached"], true);
    let sent = "two `lines`\nof \"日本\" text";
    let (status, typed) = served.ask("POST", "/type?wait=30", sent);
    assert_eq!((status, &typed["bytes"], &typed["still"]), (200, &sent.len().into(), &true.into()), "{typed}");
    until("the message", || (world.received().first().map(String::as_str) == Some(sent)).then_some(()));
    // Nobody else: no token, another one, a page in a browser, another machine's name.
    let place = &served.1;
    let own = format!("authorization: Bearer {}\r\n", served.2);
    for (head, wanted) in [
        (format!("host: {place}\r\n"), 401),
        (format!("host: {place}\r\nauthorization: Bearer {}\r\n", "0".repeat(40)), 401),
        (format!("host: {place}\r\norigin: http://{place}\r\n{own}"), 403),
        (format!("host: evil.example\r\n{own}"), 403),
    ] {
        let (status, body) = served.raw(&format!("POST /type HTTP/1.1\r\n{head}content-length: 1\r\n\r\nx"));
        assert_eq!(status, wanted, "{head}: {body}");
    }
    assert_eq!(served.ask("POST", "/type", "a\u{1b}[201~\rb").0, 400);
    assert_eq!(served.ask("GET", "/elsewhere", "").0, 404);
    assert_eq!(world.received().len(), 2, "one message, and the rest of the line");
    // It is killed, and the session goes on; the next one finds it, and has a token of its own.
    let old = served.2.clone();
    drop(served);
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "main\n");
    let served = Served::start(&world);
    assert_ne!(served.2, old);
    assert_eq!(served.ask("POST", "/type", "again").0, 200);
    until("the message", || (world.received().get(1).map(String::as_str) == Some("again")).then_some(()));
    // Every route asks first; nothing is started.
    world.tmux(&["new-session", "-d", "-s", "aside", "sleep 600"]);
    world.tmux(&["kill-session", "-t", "main"]);
    for (method, path) in [("GET", "/screen"), ("GET", "/state"), ("POST", "/type"), ("GET", "/attach"), ("POST", "/attach")] {
        let (status, said) = served.ask(method, path, "x");
        assert_eq!((status, &said["attached"]), (404, &false.into()), "{method} {path}: {said}");
    }
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "aside\n");
    // A session of that name that comes is bound when that is asked for, and not before.
    fs::remove_file(world.received_file("main")).unwrap();
    world.receiver("main");
    assert_eq!(served.ask("POST", "/type", "x").0, 404);
    assert_eq!(served.ask("POST", "/attach", "").0, 200);
    assert_eq!(served.ask("POST", "/type", "there").0, 200);
    until("the message", || (world.received().first().map(String::as_str) == Some("there")).then_some(()));
    // A person starts it.
    let mut asked = world.command(&["mirror", "serve", "main"]);
    asked.env("CLAUDECODE", "1");
    Run::of(&mut asked, None).exits(1);
}

/// A beat and a loop type into the session, while no person does; what they type is no person's prompt.
#[test]
fn the_clock_types_while_no_person_does() {
    if !there_is_tmux() {
        return;
    }
    let world = World::new();
    world.attach();
    world.sandbox.file("root/.loci-clock/heartbeat.md", "---\nevery: 5m\ntarget: {terminal: main}\n---\nLook around.\n");
    world.sandbox.file("root/.loci-clock/loops/l.md", "---\nexit: state.done\ntarget: {terminal: main}\nmax_rounds: 3\n---\nGo on.\n");
    world.loci(&["clock", "enroll", "."]).exits(0);
    world.loci(&["jobs", "arm", "heartbeat", "loop:l"]).exits(0);
    let _daemon = start(world.command(&["clock", "run", "."]), &world.sandbox, None);
    until("the first look", || (world.loci(&["clock", "status", "--json"]).json()["last"]["ticks"].as_u64() >= Some(1)).then_some(()));
    let beat = |second: u64| {
        world.time(second);
        until("the beat", || {
            let jobs = world.loci(&["jobs", "list", "--json"]).json();
            let beat = jobs["jobs"].as_array().unwrap().iter().find(|job| job["name"] == "heartbeat").unwrap().clone();
            let dealt = beat["record"]["last"].as_str().is_some_and(|last| last.parse::<jiff::Timestamp>().unwrap() >= World::at(second));
            beat["record"]["outcome"].as_str().filter(|_| dealt).map(str::to_owned)
        })
    };
    let hook = |seam: &str, native: &str, prompt: &str| {
        let event = json!({ "session_id": "s-1", "cwd": world.sandbox.path("root"), "hook_event_name": native, "prompt": prompt });
        Run::of(&mut world.command(&["hook", seam, "--for", "claude"]), Some(event.to_string().as_bytes())).exits(0)
    };
    assert_eq!(beat(300), "unjudged");
    until("the prompt", || (world.received() == ["Look around.", ""]).then_some(()));
    // The harness tells of it as of any prompt, and it is no person's.
    let lock = world.sandbox.path("state/loci/human.lock");
    hook("before-iteration", "UserPromptSubmit", "Look around.");
    assert!(!lock.exists(), "the clock took itself for a person");
    hook("before-iteration", "UserPromptSubmit", "Hello.");
    assert!(lock.exists());
    let here = |second: u64| {
        fs::File::options()
            .append(true)
            .open(&lock)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_780_272_000 + second))
            .unwrap()
    };
    here(590);
    assert_eq!(beat(600), "skipped-human");
    // So does a loop wait.
    world.loci(&["loop", "start", "l"]).exits(0);
    until("it is said", || fs::read_to_string(world.sandbox.path("daemon.log")).unwrap().contains("the loop l waits").then_some(()));
    assert_eq!(world.received().len(), 2);
    world.time(800);
    until("the prompt", || (world.received() == ["Look around.", "Go on.", ""]).then_some(()));
    // The prompt tells whose session it is; its end is the end of a round.
    hook("before-iteration", "UserPromptSubmit", "Go on.");
    let status = world.loci(&["loop", "status", "--json"]).exits(0).json();
    assert_eq!((&status["active"]["session"], &status["active"]["round"]), (&"s-1".into(), &1.into()), "{status}");
    let blocked = hook("after-iteration", "Stop", "").json();
    assert_eq!((&blocked["decision"], &blocked["reason"]), (&"block".into(), &"Go on.".into()), "{blocked}");
    // A person who types in between goes first: the stop is let be, and the prompt comes when they are gone.
    here(800);
    let let_be = hook("after-iteration", "Stop", "");
    assert!(!let_be.stdout.contains("\"decision\""), "{}", let_be.stdout);
    assert_eq!(world.loci(&["loop", "status", "--json"]).json()["active"]["phase"], "due");
    world.time(1000);
    until("the prompt", || (world.received() == ["Look around.", "Go on.", "Go on.", ""]).then_some(()));
    let stopped = hook("after-iteration", "Stop", "");
    assert!(!stopped.stdout.contains("\"decision\""), "{}", stopped.stdout);
    let status =
        until("the ceiling", || Some(world.loci(&["loop", "status", "--json"]).json()).filter(|status| status["active"].is_null()));
    assert_eq!((&status["last"]["l"]["state"], &status["last"]["l"]["rounds"]), (&"stopped".into(), &3.into()), "{status}");
    let memory: Value = serde_json::from_str(&world.sandbox.read("state/loci/sessions/s-1.state.json")).unwrap();
    assert_eq!(memory["active"], json!({}));
    // Nobody there: the beat says so, and starts nothing.
    world.tmux(&["kill-server"]);
    assert_eq!(beat(1200), "missing");
    let ledger = until("the ledger", || Some(world.loci(&["ledger", "--json"]).json()).filter(|ledger| ledger["stuck"] == 2));
    assert!(ledger.to_string().contains("not attached"), "{ledger}");
    assert!(!world.socket().exists() || world.tmux(&["list-sessions"]).is_empty());
}
