//! The files that git changes: asked for, noted as acts, and what they leave in the picture of the disk.

use super::super::act::ActKind;
use super::engine::Engine;
use super::gitask::Repo;
use super::picture::{Left, join};
use super::state::Shell;
use super::{Ground, Kind};

impl Engine<'_> {
    /// Files that differ: `range` is one or two revisions, or `a...b`.
    pub(crate) fn differ(&mut self, r: &Repo, range: &[&str], filter: Option<&str>) -> Option<Vec<String>> {
        let mut args =
            vec!["diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-relative"];
        args.extend(filter);
        args.extend(range);
        args.push("--");
        self.changed(r, &args)
    }

    /// The files of an answer of the `--raw -z` kind. Those that are a plain file before and after, or nothing, are kept in mind
    /// as that: git makes no link of them.
    pub(crate) fn changed(&mut self, r: &Repo, args: &[&str]) -> Option<Vec<String>> {
        let mut files = Vec::new();
        let mut plain = false;
        for word in self.names(r, args)? {
            // `:100644 120000 1f2e3d4 5c6b7a8 M`, and the name as the next word
            if let Some(modes) = word.strip_prefix(':').and_then(|modes| modes.get(..13)) {
                plain = modes.split(' ').all(|mode| mode.starts_with("100") || mode == "000000");
                continue;
            }
            if plain {
                self.git_plain.insert(join(&r.top, &word));
            }
            files.push(word);
        }
        Some(files)
    }

    /// Files that git would write.
    pub(crate) fn git_files(&mut self, sh: &Shell, r: &Repo, files: &[String], arriving: bool, way_out: &str) {
        let ground = if let Some(b) = &r.own_branch {
            Ground::OwnWorktree { branch: b.clone() }
        } else if arriving {
            Ground::Arriving
        } else {
            Ground::Git { verb: r.verb.clone(), way_out: Some(way_out.to_owned()) }
        };
        let old = std::mem::replace(&mut self.ground, ground);
        for f in files {
            let p = join(&r.top, f.trim_end_matches('/'));
            self.act(sh, ActKind::Write, &p, false, f.ends_with('/'));
        }
        self.ground = old;
        for f in files {
            let p = join(&r.top, f.trim_end_matches('/'));
            // what it holds now is not known, and a link leads where nobody knows
            if f.ends_with('/') || !self.git_plain.contains(&p) && self.fs.at(&p, false).kind != Some(Kind::File) {
                self.fs.doubt(&p);
            } else {
                self.fs.leave(&p, false, Left::File(None));
            }
        }
    }

    /// Files that git would remove.
    pub(crate) fn git_removes(&mut self, sh: &Shell, r: &Repo, files: &[String], way_out: &str) {
        let old = std::mem::replace(&mut self.ground, Ground::Git { verb: r.verb.clone(), way_out: Some(way_out.to_owned()) });
        for f in files {
            let p = join(&r.top, f.trim_end_matches('/'));
            self.act(sh, ActKind::Remove, &p, false, f.ends_with('/'));
        }
        self.ground = old;
    }
}
