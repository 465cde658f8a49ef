//! `zip`, `7z` and `jar`: archives that are made, changed and taken apart by one program.

use super::archive::Member;
use super::engine::{Engine, UNK};
use super::members::{tar_members, zip_members};
use super::options::Call;
use super::picture::{Left, split};
use super::state::Shell;

impl Engine<'_> {
    pub(crate) fn zip(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["-sf", "-T", "-h", "-v"]) && c.args.len() < 2 && !c.has(&["-d", "-m"]) {
            return;
        }
        let Some(file) = c.args.first() else { return };
        let quiet_test = c.has(&["-T"]) && c.args.len() == 1;
        match c.value(&["-O", "--out", "--output-file"]) {
            Some(o) => {
                let o = o.to_owned();
                self.effect(sh, 'F', &o, false);
            }
            None if file != "-" && !quiet_test => {
                let f = if split(file).1.contains('.') || self.exists(sh, file) { file.clone() } else { format!("{file}.zip") };
                let full = self.full(sh, &f);
                let fresh = self.fs.what(&full).is_none();
                self.effect(sh, 'F', &f, false);
                let names: Vec<(String, String)> =
                    c.args[1..].iter().map(|n| (self.full(sh, n), n.trim_start_matches('/').to_owned())).collect();
                // without -r a directory is packed without what is in it, and an old archive keeps what it has
                let plain = fresh && c.opts.iter().all(|(o, _)| matches!(o.as_str(), "-r" | "-q" | "-m" | "-9" | "-y" | "--symlinks"));
                let follow = !c.has(&["-y", "--symlinks"]);
                let deep = c.has(&["-r"]) || names.iter().all(|(path, _)| self.fs.at(path, follow).kind != Some(super::Kind::Dir));
                let list = if plain && deep { self.packed(&names, follow) } else { UNK.to_string() };
                if list.starts_with(super::engine::MEMBERS) {
                    self.leave_packed(sh, &f, list);
                } else {
                    self.fs.leave(&full, true, Left::File(None));
                }
            }
            None => {}
        }
        if c.has(&["-m", "--move"]) {
            for a in &c.args[1..] {
                self.remove(sh, a, true);
            }
        }
        if let Some(dir) = c.value(&["-b"]).map(str::to_owned) {
            self.effect(sh, 'd', &dir, false);
        }
        if let Some(log) = c.value(&["-lf", "--logfile-path"]).map(str::to_owned) {
            self.effect(sh, 'W', &log, false);
        }
        if let Some(t) = c.value(&["-TT"]) {
            let t = t.to_owned();
            self.effect(sh, 'Y', &t, false);
        }
    }

    pub(crate) fn sevenzip(&mut self, sh: &mut Shell, argv: &[String]) {
        let ops: Vec<&String> = argv.iter().skip(1).filter(|a| !a.starts_with('-')).collect();
        let Some((op, rest)) = ops.split_first() else { return };
        let Some(file) = rest.first() else { return };
        let dir = argv.iter().find_map(|a| a.strip_prefix("-o")).unwrap_or(".").to_owned();
        match op.as_str() {
            "x" | "e" => {
                let members = self
                    .archive_bytes(sh, file)
                    .and_then(|b| zip_members(&b).or_else(|| tar_members(&b).map(|t| t.into_iter().map(|m| m.0).collect())));
                match members {
                    Some(m) => {
                        for n in m {
                            let n = if op.as_str() == "e" { split(&n).1.to_owned() } else { n };
                            self.member(sh, &dir, &n, &Member::default());
                        }
                    }
                    None => self.members_unknown(sh, &dir, file),
                }
            }
            "a" | "u" | "d" | "rn" | "m" => {
                self.effect(sh, 'W', file, false);
                if argv.iter().any(|word| word == "-sdel") {
                    for packed in rest.iter().skip(1) {
                        self.remove(sh, packed, true);
                    }
                }
            }
            _ => {}
        }
    }

    pub(crate) fn jar(&mut self, sh: &mut Shell, argv: &[String]) {
        let Some(op) = argv.get(1) else { return };
        let file =
            argv.iter().find_map(|a| a.strip_prefix("--file=")).map(str::to_owned).or_else(|| argv.get(2).cloned()).unwrap_or_default();
        let create = op.trim_start_matches('-').starts_with(['c', 'u']) || op == "--create" || op == "--update";
        if create {
            self.effect(sh, 'W', &file, false);
        } else if op.trim_start_matches('-').starts_with('x') || op == "--extract" {
            match self.archive_bytes(sh, &file).and_then(|b| zip_members(&b)) {
                Some(m) => {
                    for n in m {
                        self.member(sh, ".", &n, &Member::default());
                    }
                }
                None => self.members_unknown(sh, ".", &file),
            }
        }
    }
}
