//! What sockets say, and what is refused.

use super::*;

fn own(text: &str) -> Result<Socket, SocketError> {
    read(Socket { name: "x".into(), ..Socket::default() }, Path::new("/x.md"), text.as_bytes())
}

fn called(name: &str, turn: &Turn<'_>) -> String {
    let call = find(name, Path::new("/nowhere")).unwrap().call(turn).unwrap();
    let words: Vec<&str> = call.args.iter().map(|word| word.to_str().unwrap()).collect();
    format!("{}{}", words.join(" "), if call.message_on_stdin { " <" } else { "" })
}

#[test]
fn built_in_files_and_list_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/body/runtimes");
    let mut there: Vec<String> =
        walkdir::WalkDir::new(folder).min_depth(1).into_iter().map(|one| one.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    there.sort();
    assert_eq!(there, built_in().map(|name| format!("{name}.md")).collect::<Vec<_>>());
    for name in built_in() {
        let socket = find(name, Path::new("/nowhere")).unwrap();
        assert_eq!(socket.program.as_deref(), (name != COMMAND).then_some(name));
        assert!(socket.description.is_some() && socket.grace == GRACE);
        // Each takes a model and a message, whatever that begins with.
        if name != COMMAND {
            let call = socket.call(&Turn { message: Some("--evil"), model: Some("m"), session: Session::New }).unwrap();
            let at = call.args.iter().position(|word| word == "--evil");
            assert!(at.is_none_or(|at| call.args.get(at - 1).is_some_and(|word| word == "--")), "{name}: {call:?}");
            assert!(socket.call(&Turn::default()).is_ok(), "{name}");
        }
    }
}

#[test]
fn words_of_a_turn() {
    let turn = Turn { message: Some("do it"), model: Some("m1"), session: Session::Named("u1") };
    assert_eq!(called("claude", &turn), "-p --session-id u1 --model m1 <");
    assert_eq!(called("claude", &Turn { session: Session::Resumed("u1"), message: None, model: None }), "--resume u1");
    assert_eq!(called("codex", &turn), "exec --model m1 --skip-git-repo-check - <");
    assert_eq!(called("codex", &Turn { session: Session::Resumed("u1"), ..turn }), "exec resume u1 --model m1 --skip-git-repo-check - <");
    assert_eq!(called("gemini", &turn), "--session-id u1 --model m1 --prompt=do it");
    assert_eq!(called("command", &Turn { model: None, ..turn }), " <");
    // A message is no place to put words of ours into.
    let turn = Turn { message: Some("{model} {session} {message}"), model: Some("m"), session: Session::Named("u") };
    assert_eq!(called("gemini", &turn), "--session-id u --model m --prompt={model} {session} {message}");
}

#[test]
fn what_a_socket_does_not_take_is_said() {
    let socket = find("command", Path::new("/nowhere")).unwrap();
    for (turn, word) in [
        (Turn { message: Some("x"), model: Some("m"), session: Session::New }, "model"),
        (Turn { message: Some("x"), model: None, session: Session::Resumed("a") }, "resume"),
        (Turn { message: Some("x"), model: None, session: Session::Last }, "last"),
        (Turn::default(), "interactive"),
    ] {
        assert!(socket.call(&turn).unwrap_err().to_string().contains(word), "{word}");
    }
    // A program that is only talked to at a terminal may be a shell: a message is no command.
    let turn = Turn { message: Some("x"), ..Turn::default() };
    let shell = own("---\nprogram: /bin/sh\ninteractive: [-c, 'exec talk']\n---\n").unwrap();
    assert!(shell.call(&turn).unwrap_err().to_string().contains("no `headless`"));
    assert!(own("---\nprogram: cat\n---\n").unwrap().call(&turn).unwrap().message_on_stdin);
}

#[test]
fn a_file_is_read_strictly_and_with_its_lines() {
    for (text, line, word) in [
        ("program: x\n", 1, "front matter"),
        ("---\nprogram: x\nheadles: []\n---\n", 3, "`headless`"),
        ("---\nprogram: [x]\n---\n", 2, "text"),
        ("---\nprogram: a/b\n---\n", 2, "absolute"),
        ("---\nprogram: x\nheadless: run it\n---\n", 3, "list"),
        ("---\nprogram: x\nheadless: [1]\n---\n", 3, "list"),
        ("---\nprogram: x\n\ngrace: soon\n---\n", 4, "seconds"),
        ("---\nprogram: x\ngrace: 0s\n---\n", 3, "seconds"),
        ("---\nprogram: x\nimports: yes\n---\n", 3, "true or false"),
        ("---\nprogram: x\ninteractive: [\"{message}\"]\n---\n", 3, "{message}"),
        ("---\nprogram: x\nmodel: [-m]\n---\n", 3, "{model}"),
        ("---\nprogram: x\nheadless: [\"{message}\", \"{mesage}\"]\n---\n", 3, "did you mean `{message}`"),
        ("---\nprogram: x\nheadless: [\"--p={Message}\"]\n---\n", 3, "did you mean `{message}`"),
        ("---\nprogram: x\ninteractive: [\"{ model }\"]\n---\n", 3, "did you mean `{model}`"),
        ("---\nprogram: x\nheadless: [\"{prompt}\"]\n---\n", 3, "stands for nothing"),
        ("---\nprogram: x\nresume: [\"{session}\", \"{sesion}\"]\n---\n", 3, "did you mean `{session}`"),
        ("---\nprogram: x\nprogram: y\n---\n", 3, "program"),
    ] {
        match own(text).unwrap_err() {
            SocketError::Unfit { line: at, why, .. } => assert!(at == Some(line) && why.contains(word), "{text}: {at:?} {why}"),
            other => panic!("{text}: {other}"),
        }
    }
    assert!(own("---\nprogram: x\nheadless: ['%{http_code}', '{}', '{\"a\": 1}', 'stash@{u}', '{message}']\n---\n").is_ok());
    let socket = own("---\nprogram: /opt/x\nheadless: [\"a={message}\"]\ngrace: 2s\nneeds: [KEY]\nharness: claude\n---\nwords\n").unwrap();
    assert_eq!((socket.program.as_deref(), socket.grace, socket.harness()), (Some("/opt/x"), 2, "claude"));
}
