//! Templates: the built-in ones, the user's own, and hostile ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::sandbox::Sandbox;

const FOLDER: &str = "home/.loci/templates";

#[test]
fn the_list_has_what_is_built_in_and_what_is_ones_own() {
    let sandbox = Sandbox::new();
    let run = sandbox.loci("", ["templates"]).exits(0);
    let names: Vec<&str> = run.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["agent", "builder", "custodian", "reviewer", "watcher"]);
    sandbox.file(format!("{FOLDER}/desk/template.md"), "---\ndescription: \"A desk\\e[2J\"\n---\n");
    sandbox.file(format!("{FOLDER}/agent/AGENTS.md"), "my own agent");
    let list = sandbox.loci("", ["templates", "--json"]).exits(0).json();
    let rows: Vec<(&str, &str)> =
        list["templates"].as_array().unwrap().iter().map(|one| (one["name"].as_str().unwrap(), one["origin"].as_str().unwrap())).collect();
    assert_eq!(
        rows,
        [
            ("agent", "user"),
            ("builder", "built in"),
            ("custodian", "built in"),
            ("desk", "user"),
            ("reviewer", "built in"),
            ("watcher", "built in")
        ]
    );
    assert!(!sandbox.loci("", ["templates"]).exits(0).stdout.contains('\u{1b}'));
    // One's own comes before the built-in one of that name.
    sandbox.loci("", ["new", "x"]).exits(0);
    assert_eq!(sandbox.read("x/AGENTS.md"), "my own agent");
}

#[test]
fn one_is_shown_with_its_variables() {
    let sandbox = Sandbox::new();
    sandbox
        .file(format!("{FOLDER}/desk/template.md"), "---\ndescription: A desk\ndefaults: {tone: kind}\n---\n")
        .file(format!("{FOLDER}/desk/AGENTS.md"), "{{ id }} {{ date }} {{ owner }} {{ tone }} {{ extra | default('') }}");
    let shown = sandbox.loci("", ["templates", "desk", "--json"]).exits(0).json();
    let variables: Vec<(&str, bool, Option<&str>)> = shown["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["required"].as_bool().unwrap(), one["default"].as_str()))
        .collect();
    assert_eq!(variables, [("extra", false, None), ("owner", true, None), ("tone", false, Some("kind"))]);
    let words = sandbox.loci("", ["templates", "desk"]).exits(0).stdout;
    assert!(words.contains("owner  required") && words.contains("tone   default: kind"), "{words}");
    let run = sandbox.loci("", ["templates", "nobody"]).exits(2);
    assert_eq!(run.stderr, "error: failed to find the template `nobody`\nhint: loci templates\n");
}

#[test]
fn ones_own_is_rendered_in_names_contents_and_modes() {
    let sandbox = Sandbox::new();
    sandbox
        .file(format!("{FOLDER}/desk/AGENTS.md"), "You keep {{ what }}.\n")
        .exec(format!("{FOLDER}/desk/{{{{ what }}}}/run.sh"), "#!/bin/sh\necho {{ what }}\n")
        .file(format!("{FOLDER}/desk/logo.png"), b"\x89PNG\0{{ what }}\xff")
        .file(format!("{FOLDER}/desk/_loci/skills/x/SKILL.md"), "---\nname: x\ndescription: y\n---\n")
        .file(format!("{FOLDER}/desk/secret"), "s")
        .link(format!("{FOLDER}/desk/current"), "{{ what }}/run.sh")
        .dir(format!("{FOLDER}/desk/empty"))
        .file(format!("{FOLDER}/desk/.git/config"), "not mine");
    fs::set_permissions(sandbox.path(format!("{FOLDER}/desk/secret")), fs::Permissions::from_mode(0o600)).unwrap();
    let run = sandbox.loci("", ["new", "d", "--template", "desk"]).exits(2);
    assert!(run.stderr.contains("`what` is not set") && run.stderr.contains("hint: loci templates desk"), "{}", run.stderr);
    sandbox.loci("", ["new", "d", "--template", "desk", "--set", "what=the=books"]).exits(0);
    let body = sandbox.snapshot("d");
    let what = |path: &str| body.get(std::path::Path::new(path)).cloned().unwrap_or_default();
    assert_eq!(what("AGENTS.md"), "file 644 You keep the=books.\n");
    assert_eq!(what("the=books/run.sh"), "file 755 #!/bin/sh\necho the=books\n");
    assert_eq!(fs::read(sandbox.path("d/logo.png")).unwrap(), b"\x89PNG\0{{ what }}\xff");
    assert_eq!(what("secret"), "file 600 s");
    assert_eq!(what("current"), "link the=books/run.sh");
    assert_eq!(what("empty"), "dir 755");
    assert_eq!(what(".loci/skills/.gitkeep"), "", "there is a skill, so nothing has to be held open");
    assert_eq!(what(".claude/skills"), "link ../.loci/skills");
    assert!(!sandbox.path("d/.git").exists());
    // By its path, from where one is.
    sandbox.loci("home/.loci", ["new", "../../e", "--template", "./templates/desk", "--set", "what=b"]).exits(0);
    assert_eq!(sandbox.read("e/AGENTS.md"), "You keep b.\n");
}

/// Each of these is refused with the file of the template, and nothing is left behind.
#[test]
fn what_leads_out_is_refused() {
    type Make = fn(&Sandbox);
    let cases: [(&str, Make, &str); 21] = [
        ("unset", |s| _ = s.file("t/f", "a\n{{ nobody }}\n"), "t/f:2)"),
        ("syntax", |s| _ = s.file("t/f", "a\n\n{% if %}\n"), "t/f:3)"),
        ("loop", |s| _ = s.file("t/f", "{% for a in b %}{% endfor %}"), "t/f:1)"),
        ("include", |s| _ = s.file("t/f", "{% include '/etc/passwd' %}"), "t/f:1)"),
        ("dots", |s| _ = s.file("t/{{ up }}/f", ""), "t/{{ up }}"),
        ("absolute", |s| _ = s.file("t/{{ root }}", ""), "t/{{ root }}"),
        ("newline", |s| _ = s.file("t/{{ line }}", ""), "t/{{ line }}"),
        ("empty", |s| _ = s.file("t/{{ nil }}/f", ""), "t/{{ nil }}"),
        ("long", |s| _ = s.file("t/{{ long }}", ""), "t/{{ long }}"),
        ("link out", |s| _ = s.link("t/l", "../outside"), "t/l"),
        ("link absolute", |s| _ = s.link("t/l", "/etc"), "t/l"),
        ("link by a value", |s| _ = s.link("t/l", "{{ up }}"), "t/l"),
        ("link around", |s| _ = s.link("t/d/l", "../l2/../../x").link("t/l2", "."), "t/d/l"),
        ("link for the dotdir", |s| _ = s.file("t/real/x", "").link("t/_loci", "real"), "t/_loci"),
        ("link for a vendor's", |s| _ = s.file("t/real/x", "").link("t/.claude", "real"), "t/.claude"),
        ("file for the dotdir", |s| _ = s.file("t/_loci", ""), "t/_loci"),
        ("twice", |s| _ = s.file("t/_loci/x", "").file("t/.loci/x", ""), "t/_loci"),
        ("pipe", |s| nix::unistd::mkfifo(&s.path("t/p"), nix::sys::stat::Mode::S_IRWXU).unwrap(), "t/p"),
        ("about", |s| _ = s.file("t/template.md", "---\ndefaults: [a]\n---\n"), "t/template.md:2)"),
        ("about broken", |s| _ = s.file("t/template.md", "---\ndefaults: {a\n---\n"), "t/template.md"),
        ("other id", |s| _ = s.file("t/_loci/agent.md", "---\ndescription: x\nid: other\n---\n"), "agent.md:3)"),
    ];
    for (name, make, place) in cases {
        let sandbox = Sandbox::new();
        // The values have to be variables of the template to be settable.
        sandbox.file("t/all", "{{ up }}{{ root }}{{ line }}{{ nil }}{{ long }}").file("outside", "");
        make(&sandbox);
        let before: Vec<_> = sandbox.snapshot("").into_keys().collect();
        let long = format!("long={}", "x".repeat(300));
        let sets = ["up=..", "root=/etc/x", "line=a\nb", "nil=", &long];
        let args = ["new", "deep/x", "--template", "./t"].into_iter().chain(sets.iter().flat_map(|set| ["--set", set]));
        let run = sandbox.loci("", args).exits(2);
        assert!(run.stderr.starts_with("error: failed to use the template: ") && run.stderr.contains(place), "{name}: {}", run.stderr);
        assert_eq!(run.stderr.lines().filter(|line| !line.starts_with("hint: ")).count(), 1, "{name}: {}", run.stderr);
        assert_eq!(sandbox.snapshot("").into_keys().collect::<Vec<_>>(), before, "{name}");
    }
}

#[test]
fn names_that_are_no_text_are_taken_as_they_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 {{ x }}");
    sandbox.file(std::path::Path::new("t").join(name), "{{ id }}").file("t/AGENTS.md", "");
    sandbox.loci("", ["new", "x", "--template", "./t"]).exits(0);
    assert_eq!(fs::read(sandbox.path("x").join(name)).unwrap(), b"x");
}

#[test]
fn a_value_nobody_asked_for_is_refused() {
    let sandbox = Sandbox::new();
    for (set, hint) in [("nobody=x", "loci templates agent"), ("id=x", "loci new DIR --id ID"), ("noequals", "")] {
        let run = sandbox.loci("", ["new", "x", "--set", set]).exits(2);
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
    assert!(!sandbox.path("x").exists());
    // A value can't break out of its line in the identity file.
    sandbox.loci("", ["new", "x", "--set", "description=a: \"b\"\n---\nid: other"]).exits(0);
    assert!(sandbox.read("x/.loci/agent.md").starts_with("---\nid: x\ndescription: \"a: \\\"b\\\"\\n---\\nid: other\"\n---\n"));
}

/// A skill says which folder it lies in, and what it is for.
#[test]
fn built_in_skills_are_valid() {
    let sandbox = Sandbox::new();
    let mut seen = 0;
    for template in ["agent", "builder", "custodian", "reviewer", "watcher"] {
        sandbox.loci("", ["new", template, "--template", template]).exits(0);
        for entry in fs::read_dir(sandbox.path(template).join(".loci/skills")).unwrap().map(Result::unwrap) {
            if !entry.path().is_dir() {
                continue;
            }
            let text = fs::read(entry.path().join("SKILL.md")).unwrap();
            let header = loci::text::header::parse(&text);
            assert_eq!(header.status.word(), "ok");
            assert_eq!(header.text("name"), entry.file_name().to_str());
            let length = header.text("description").unwrap().len();
            assert!((40..=1024).contains(&length), "{length}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// What a newcomer sees first has no fault in it, for any of the templates.
#[test]
fn a_body_of_each_template_is_healthy() {
    let sandbox = Sandbox::new();
    for name in ["agent", "builder", "custodian", "reviewer", "watcher"] {
        sandbox.loci("", ["new", name, "--template", name]).exits(0);
        let found = sandbox.loci("", ["doctor", name, "--json"]);
        assert_eq!(found.code, Some(0), "{name}: {}{}", found.stdout, found.stderr);
    }
    // It can see.
    sandbox.file("agent/.loci/skills/flat.md", "x");
    sandbox.loci("", ["doctor", "agent"]).exits(1);
}

/// Each command that a template tells somebody to run is one.
#[test]
fn the_commands_in_templates_exist() {
    use clap::Parser as _;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut seen = 0;
    for entry in walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_file()) {
        let text = fs::read_to_string(entry.path()).unwrap();
        for code in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("loci ")) {
            let mut words: Vec<String> = Vec::new();
            for (at, part) in code.split('"').enumerate() {
                if at % 2 == 1 { words.push(part.to_owned()) } else { words.extend(part.split_whitespace().map(str::to_owned)) }
            }
            let parsed = loci::cli::args::Args::try_parse_from(&words);
            assert!(parsed.is_ok(), "{}: {code}: {}", entry.path().display(), parsed.unwrap_err());
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
    assert!(loci::cli::args::Args::try_parse_from(["loci", "nonsense"]).is_err());
}

/// The pages say what the program says.
#[test]
fn the_pages_are_true() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let formats = fs::read_to_string(docs.join("FORMATS.md")).unwrap();
    for (stored, live) in loci::body::template::STORED_NAMES {
        assert!(formats.contains(&format!("| `{stored}` | `{live}` |")), "{stored}");
    }
    let guide = fs::read_to_string(docs.join("guide/bodies.md")).unwrap();
    let sandbox = Sandbox::new();
    for (command, shown) in [
        (&["new", "agents/billing"][..], "$ loci new agents/billing\n"),
        (&["show", "agents/billing"], "$ loci show agents/billing\n"),
        (&["templates"], "$ loci templates\n"),
    ] {
        let run = sandbox.loci("", command).exits(0);
        assert!(guide.contains(&format!("{shown}{}```", run.stdout)), "{shown}{}", run.stdout);
    }
}

/// The watcher sees something on its first day, without a model.
#[test]
fn the_watchers_look_sees_what_changed() {
    let sandbox = Sandbox::new();
    sandbox.file("r/old", "").loci("r", ["new", "w", "--template", "watcher"]).exits(0);
    let look = || {
        let output = std::process::Command::new("sh").arg(sandbox.path("r/w/scripts/look.sh")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(look().contains("../old"));
    // Its mark is made in the same tick of the clock as the file at the earliest.
    let mark = fs::File::options().write(true).open(sandbox.path("r/w/notes/.last-look")).unwrap();
    mark.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    let old = fs::File::options().write(true).open(sandbox.path("r/old")).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
    sandbox.file("r/new one", "");
    let said = look();
    assert!(said.contains("../new one") && !said.contains("../old"), "{said}");
    // What it is to look at is data, not shell.
    sandbox.loci("r", ["new", "v", "--template", "watcher", "--set", "target=x'; touch /nowhere/$(id) '"]).exits(0);
    assert!(!sandbox.read("r/v/scripts/look.sh").contains("touch"));
}

/// What the clock reads of a watcher is what its author means by it.
#[test]
fn the_watchers_job_and_heartbeat_are_read() {
    use loci::clock::job::{self, Action};
    let sandbox = Sandbox::new();
    sandbox.dir("r").loci("r", ["new", "w", "--template", "watcher"]).exits(0);
    let clock = sandbox.path("r/w/.loci-clock");
    let read = |rel: &str| (clock.join(rel), fs::read(clock.join(rel)).unwrap());
    let (path, text) = read("jobs/look.md");
    let loaded = job::parse("look", &path, &text).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(loaded.job.action, Action::Agent { .. }) && !loaded.job.deliverables.is_empty());
    let (path, text) = read("heartbeat.md");
    assert!(job::parse_beat(&path, &text).unwrap_or_else(|error| panic!("{error}")).is_some());
}
