//! Archives: making them, and taking them apart, which writes what they list.

use super::super::act::ActKind;
use super::deeds::fd_path;
use super::engine::{Engine, UNK};
use super::members::{MAX_MEMBERS, cpio_members, tar_members, zip_members};
use super::options::Call;
use super::picture::{self, Left, join, split};
use super::state::Shell;
use super::{Packed, gzip, pattern};

/// Longest archive that is listed, packed and unpacked.
const MAX_ARCHIVE: usize = 8 << 20;
/// Stands in front of where a link leads, in place of the file that a member is a copy of.
const LEADS: &str = "-> ";

/// A member of an archive.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) name: String,
    link: bool,
    /// The file that it is a copy of, in an archive that the command itself makes.
    pub(super) from: Option<String>,
    /// Where it leads, if it is a link in an archive that the command itself makes.
    target: Option<String>,
}

impl Member {
    /// From a line of a list: the name and, where it is known, the file.
    fn listed(line: &str) -> Self {
        let (name, from) = line.split_once(super::engine::SOURCE).map_or((line, None), |(name, from)| (name, Some(from.to_owned())));
        match from.as_deref().and_then(|from| from.strip_prefix(LEADS)) {
            Some(target) => Self { name: name.to_owned(), link: true, from: None, target: Some(target.to_owned()) },
            None => Self { name: name.to_owned(), from, ..Self::default() },
        }
    }
}

impl Engine<'_> {
    /// The bytes of an archive, unpacked; none where they can't be had.
    pub(super) fn archive_bytes(&mut self, sh: &Shell, file: &str) -> Option<Vec<u8>> {
        let full = self.full(sh, file);
        let path = match fd_path(&full) {
            Some(fd) => match sh.fd(fd) {
                super::state::Fd::File(p) | super::state::Fd::Read(p, _) => p,
                super::state::Fd::In(i) => {
                    // a stream holds text only; bytes of a file that was read into it went through as they were if they were text
                    let s = self.ins.get(i)?;
                    s.text.strip_prefix(super::engine::BYTES)?.trim_end_matches(UNK).to_owned()
                }
                _ => return None,
            },
            None => full,
        };
        let b = self.fs.bytes(&path, MAX_ARCHIVE)?;
        super::fuel::did(b.len() / 8);
        self.unpacked(b)
    }

    fn unpacked(&mut self, b: Vec<u8>) -> Option<Vec<u8>> {
        let how = match b.get(..4)? {
            [0x1f, 0x8b, ..] => return gzip::gunzip(&b, MAX_ARCHIVE),
            [0xfd, b'7', b'z', b'X'] => Packed::Xz,
            [b'B', b'Z', b'h', _] => Packed::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd] => Packed::Zstd,
            _ => return Some(b),
        };
        self.fs.world().unpack(&b, how)
    }

    /// The members of an archive, with whether each is a link; none where they can't be had.
    pub(super) fn archive_members(&mut self, sh: &Shell, file: &str) -> Option<Vec<Member>> {
        let full = self.full(sh, file);
        let listed = match fd_path(&full).map(|n| sh.fd(n)) {
            Some(super::state::Fd::In(i)) => self.ins.get(i).map(|s| s.text.to_string()),
            Some(_) => None,
            // one that this command itself has made
            None => self.fs.made(&full).then(|| self.fs.text(&full)).flatten(),
        };
        if let Some(list) = listed.as_deref().and_then(|text| text.strip_prefix(super::engine::MEMBERS)) {
            return Some(list.trim_end_matches(UNK).lines().map(Member::listed).collect());
        }
        let b = self.archive_bytes(sh, file)?;
        let plain = |names: Vec<String>| names.into_iter().map(|name| Member { name, ..Member::default() }).collect();
        tar_members(&b)
            .map(|all| all.into_iter().map(|(name, link)| Member { name, link, ..Member::default() }).collect())
            .or_else(|| zip_members(&b).or_else(|| cpio_members(&b)).map(plain))
    }

    /// What an archive holds that is made of these files and directories, as a list of members; links as what they lead to where
    /// they are `follow`ed.
    pub(super) fn packed(&mut self, names: &[(String, String)], follow: bool) -> String {
        let mut out = String::from(super::engine::MEMBERS);
        let mut stack: Vec<(String, String, u32)> = names.iter().rev().map(|(p, n)| (p.clone(), n.clone(), 0)).collect();
        let mut seen = 0;
        while let Some((path, name, depth)) = stack.pop() {
            seen += 1;
            if seen > MAX_MEMBERS || path.contains(UNK) {
                return UNK.to_string();
            }
            let at = self.fs.at(&path, follow);
            if at.kind == Some(super::Kind::Dir) {
                out.push_str(&format!("{}/\n", name.trim_end_matches('/')));
                if depth < 30 {
                    for (n, _) in self.fs.list(&at.path).iter().flat_map(|l| l.iter()) {
                        stack.push((join(&at.path, n), join(&name, n), depth + 1));
                    }
                }
            } else {
                self.packed_file(&name, &path, &at, &mut out);
            }
        }
        out.push(UNK);
        out
    }

    /// The line for what is no directory: a link with where it leads, or the file that it is a copy of.
    fn packed_file(&self, name: &str, path: &str, at: &picture::At, out: &mut String) {
        let source = super::engine::SOURCE;
        if at.kind == Some(super::Kind::Link) {
            let target = self.fs.link(&at.path).map_or_else(|| UNK.to_string(), |link| link.0);
            out.push_str(&format!("{name}{source}{LEADS}{target}\n"));
        } else if at.kind.is_some() {
            out.push_str(&format!("{name}{source}{path}\n"));
        }
    }

    /// An archive with a list of members is made at a path.
    pub(super) fn leave_packed(&mut self, sh: &Shell, file: &str, list: String) {
        let full = self.full(sh, file);
        if fd_path(&full).is_none() {
            self.fs.leave(&full, true, Left::File(Some(list.into())));
        }
    }

    /// A member is taken out.
    pub(super) fn member(&mut self, sh: &mut Shell, dir: &str, name: &str, member: &Member) {
        let p = join(dir, name.trim_start_matches("./"));
        if name.ends_with('/') {
            if !self.exists(sh, &p) {
                self.effect(sh, 'D', p.trim_end_matches('/'), false);
            } else {
                // its times and mode are set
                let full = self.full(sh, &p);
                if !picture::tidy(&full).eq(&picture::tidy(&self.full(sh, dir))) {
                    self.act(sh, ActKind::Mode, p.trim_end_matches('/'), true, false);
                }
            }
            return;
        }
        match &member.from {
            Some(from) => self.copied(sh, from, &p, false),
            None => self.act(sh, if member.link { ActKind::Link } else { ActKind::Write }, &p, false, false),
        }
        let full = self.full(sh, &p);
        if !full.contains(UNK) && member.link {
            // later words may lead through it
            let target = member.target.clone().unwrap_or_else(|| UNK.to_string());
            self.fs.leave(&full, false, Left::Link(target));
        } else if !full.contains(UNK) {
            self.fs.leave(&full, false, Left::File(None));
            if let Some(from) = &member.from {
                self.fs.copy_of(from, &full);
            }
            // the time is the one in the archive, or now
            let there = self.fs.at(&full, true).path;
            self.fs.touched(&there, false);
        }
    }

    /// Members whose list can't be had go somewhere below this directory.
    pub(super) fn members_unknown(&mut self, sh: &mut Shell, dir: &str, archive: &str) {
        self.unknown("an archive can't be listed", archive);
        let before = self.out.unknown.len();
        self.act(sh, ActKind::Create, &join(dir, &UNK.to_string()), true, false);
        self.out.unknown.truncate(before);
    }

    pub(crate) fn unzip(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) {
        if c.has(&["-l", "-p", "-t", "-v", "-z", "-Z", "-c", "-h"]) || c.args.is_empty() {
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        let dir = c.value(&["-d"]).unwrap_or(".").to_owned();
        let mut names = c.args.clone();
        let file = names.remove(0);
        // names behind `-x` are left out
        let mut out: Vec<String> = Vec::new();
        if let Some(x) = argv.iter().position(|a| a == "-x") {
            out = argv[x + 1..].iter().take_while(|a| !a.starts_with('-')).cloned().collect();
            names.retain(|n| !out.contains(n));
        }
        names.retain(|n| *n != dir);
        let never = c.has(&["-n", "-f"]) && !c.has(&["-o"]);
        let members = self.archive_members(sh, &file).or_else(|| self.archive_members(sh, &format!("{file}.zip")));
        let Some(members) = members else {
            let full = self.full(sh, &file);
            if full.contains(UNK) || self.fs.what(&full).is_some() || !self.out.unknown.is_empty() {
                self.members_unknown(sh, &dir, &file);
            }
            return;
        };
        for member in members {
            let m = &member.name;
            if !names.is_empty() && !names.iter().any(|n| pattern::matches(n, m)) || out.iter().any(|n| pattern::matches(n, m)) {
                continue;
            }
            let m2 = if c.has(&["-j"]) { split(m).1.to_owned() } else { m.clone() };
            if m2.split('/').any(|p| p == "..") && !c.has(&["-:"]) {
                continue;
            }
            let m2 = m2.trim_start_matches('/').to_owned();
            let there = self.exists(sh, &join(&dir, &m2));
            if never && (there != c.has(&["-f"])) {
                continue;
            }
            if m.ends_with('/') && (there || c.has(&["-j"])) {
                continue;
            }
            // without -o it asks, and at the end of input nothing is replaced
            if there && !c.has(&["-o", "-f", "-u"]) && !self.reads_input(sh) {
                continue;
            }
            self.member(sh, &dir, &m2, &member);
        }
    }

    pub(crate) fn cpio(&mut self, sh: &mut Shell, c: &Call) {
        let dir = c.value(&["-D", "--directory"]).unwrap_or(".").to_owned();
        if c.has(&["-t", "--list"]) {
            return;
        }
        if c.has(&["-i", "--extract"]) {
            if c.has(&["--to-stdout"]) {
                return;
            }
            let source = c.value(&["-F", "--file", "-I"]).unwrap_or("/dev/stdin").to_owned();
            let Some(members) = self.archive_members(sh, &source) else {
                self.members_unknown(sh, &dir, &source);
                return;
            };
            for member in members {
                let m = &member.name;
                let named = c.args.is_empty() || c.args.iter().any(|a| pattern::matches(a, m)) != c.has(&["-f", "--nonmatching"]);
                let there = self.exists(sh, &join(&dir, m));
                if named && m != "." && (!there || c.has(&["-u", "--unconditional"]) || !self.fs.is_dir(&self.full(sh, &join(&dir, m)))) {
                    self.member(sh, &dir, m, &member);
                }
            }
        } else if c.has(&["-p", "--pass-through"]) {
            let list = self.take(sh, 0);
            let Some(to) = c.args.first() else { return };
            for n in list.split(['\n', '\0']).filter(|n| !n.is_empty()) {
                if n == "." {
                    continue;
                }
                let p = join(to, n.trim_start_matches('/'));
                let (full, to) = (self.full(sh, n), self.full(sh, &p));
                let at = self.fs.at(&full, c.has(&["-L", "--dereference"]));
                if !self.exists(sh, split(&p).0) {
                    self.make_dirs(sh, split(&p).0);
                }
                if at.kind == Some(super::Kind::Dir) {
                    if !self.exists(sh, &p) {
                        self.effect(sh, 'D', &p, false);
                    }
                    continue;
                }
                self.copied(sh, &full, &p, false);
                if !to.contains(UNK) {
                    self.fs.carry(&at.path, &to, true);
                    if c.has(&["-l", "--link"]) {
                        self.fs.tie(&at.path, &to);
                    }
                }
            }
        } else {
            if let Some(o) = c.value(&["-O", "-F", "--file"]) {
                let o = o.to_owned();
                self.effect(sh, 'W', &o, false);
                let text = self.named_members(sh, c.has(&["-L", "--dereference"]));
                self.leave_packed(sh, &o, text);
            } else {
                let text = self.named_members(sh, c.has(&["-L", "--dereference"]));
                self.put(sh, 1, &text);
            }
        }
    }

    /// The members that `cpio` takes from its input: the names themselves, not what is below them.
    fn named_members(&mut self, sh: &Shell, follow: bool) -> String {
        let list = self.take(sh, 0);
        let mut out = String::from(super::engine::MEMBERS);
        for name in list.split(['\n', '\0']).filter(|n| !n.is_empty()) {
            let full = self.full(sh, name);
            let at = self.fs.at(&full, follow);
            if at.kind == Some(super::Kind::Dir) {
                out.push_str(&format!("{name}/\n"));
            } else {
                self.packed_file(name, &full, &at, &mut out);
            }
        }
        out.push(UNK);
        out
    }

    pub(crate) fn ar(&mut self, sh: &mut Shell, argv: &[String]) {
        let rest: Vec<&String> = argv.iter().skip(1).filter(|a| !a.starts_with("--")).collect();
        let Some((op, rest)) = rest.split_first() else { return };
        let op = op.trim_start_matches('-');
        let skip = usize::from(op.contains(['a', 'b', 'i']) && op.contains(['r', 'm']));
        let Some(file) = rest.get(skip) else { return };
        match op.chars().find(|c| "rqdmsx".contains(*c)) {
            Some('x') => {
                if rest.len() > skip + 1 {
                    for m in &rest[skip + 1..] {
                        self.effect(sh, 'W', m, false);
                    }
                } else {
                    self.members_unknown(sh, ".", file);
                }
            }
            Some(_) => self.effect(sh, 'W', file, false),
            None => {}
        }
    }

    /// Takes a zip or tar file out into a directory, for programs that do it inside (`python -m zipfile -e`).
    pub(crate) fn take_out(&mut self, sh: &mut Shell, file: &str, dir: &str) {
        match self
            .archive_bytes(sh, file)
            .and_then(|b| zip_members(&b).or_else(|| tar_members(&b).map(|t| t.into_iter().map(|m| m.0).collect())))
        {
            Some(m) => {
                for n in m {
                    self.member(sh, dir, &n, &Member::default());
                }
            }
            None => self.members_unknown(sh, dir, file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_listed_with_its_file() {
        let listed = Member::listed(&format!("a{}/r/a", super::super::engine::SOURCE));
        assert_eq!((listed.name.as_str(), listed.from.as_deref()), ("a", Some("/r/a")));
        assert_eq!(Member::listed("a").from, None);
    }
}
