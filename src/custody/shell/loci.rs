//! loci's own verbs as words of a command. Each of them hands what it would write to the judge by itself; what its words
//! name is known here as well, so that a refusal comes before it starts.

use super::super::act::ActKind;
use super::engine::{Engine, UNK};
use super::options::parse;
use super::picture;
use super::state::Shell;

/// Verbs that only tell, and those that only send mail, which each body may.
const TELLING: &[&str] = &[
    "where",
    "tree",
    "resolve",
    "explain",
    "show",
    "doctor",
    "templates",
    "check",
    "trail",
    "delegate",
    "handover",
    "requests",
    "grants",
    "help",
    "gate",
    "hook",
    "whose",
];

/// Options with a value that stand in front of a verb or behind it.
const MARKS: &str = "--as: --level: --into: --template: -t: --id: --var: --color: --home:";

impl Engine<'_> {
    /// `loci VERB …`
    pub(crate) fn loci(&mut self, sh: &mut Shell, argv: &[String]) {
        let cut = argv.iter().position(|word| word == "--");
        let c = parse(MARKS, &argv[..cut.unwrap_or(argv.len())]);
        let dry = c.has(&["--dry-run", "--help", "-h", "--version", "-V"]);
        let (verb, args) = c.args.split_first().map_or(("", &[][..]), |(verb, args)| (verb.as_str(), args));
        self.put(sh, 1, &UNK.to_string());
        sh.status = None;
        match verb {
            _ if dry || TELLING.contains(&verb) || verb.is_empty() => {}
            // what it lists and answers lies in the asker's own memory
            "inbox" if args.first().is_none_or(|word| word != "apply") => {}
            "new" => {
                for dir in args {
                    self.act(sh, ActKind::Create, dir.trim_end_matches('/'), false, false);
                }
            }
            "extract" => {
                for path in args {
                    self.act(sh, ActKind::Rename, path.trim_end_matches('/'), false, false);
                }
                if let (Some(first), Some(child)) = (args.first(), c.value(&["--into"])) {
                    let dir = picture::join(picture::split(first).0, child);
                    self.act(sh, ActKind::Create, dir.trim_end_matches('/'), false, false);
                }
            }
            // the kernel holds what runs inside
            "exec" => self.unknown("it runs where the kernel holds custody", "loci exec"),
            "equip" if cut.is_some() => {
                self.unknown("loci asks by itself", "loci equip");
                let inner = argv.get(cut.unwrap_or(0) + 1..).unwrap_or_default().to_vec();
                self.call(sh, inner, false);
            }
            _ => self.unknown("loci asks by itself", &format!("loci {verb}")),
        }
    }
}
