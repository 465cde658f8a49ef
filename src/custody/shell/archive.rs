//! Archives: making them, and taking them apart, which writes what they list.

use super::super::act::ActKind;
use super::call::Call;
use super::engine::{Engine, Shell, UNK, fd_path};
use super::gzip;
use super::picture::{self, Left, join, split};
use super::{Packed, pattern};

/// Longest archive that is listed, packed and unpacked.
const MAX_ARCHIVE: usize = 8 << 20;
/// Most members that are listed.
const MAX_MEMBERS: usize = 4000;

/// Whether a block is a header: its bytes add up to what it says, the sum itself taken as blanks.
fn tar_header(h: &[u8]) -> bool {
    let said = String::from_utf8_lossy(&h[148..156]);
    let said = u32::from_str_radix(said.trim_matches([' ', '\0']), 8);
    let sum = h.iter().enumerate().map(|(i, x)| if (148..156).contains(&i) { 32 } else { u32::from(*x) }).sum();
    said == Ok(sum)
}

/// The members of a tar file, with whether each is a link.
fn tar_members(b: &[u8]) -> Option<Vec<(String, bool)>> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut long: Option<String> = None;
    let text = |f: &[u8]| String::from_utf8_lossy(f.split(|x| *x == 0).next().unwrap_or(&[])).into_owned();
    // no tar file is shorter than a block
    b.get(..512)?;
    while let Some(h) = b.get(at..at + 512) {
        if h.iter().all(|x| *x == 0) || out.len() > MAX_MEMBERS {
            break;
        }
        if !tar_header(h) {
            return None;
        }
        let size = if h[124] & 0x80 != 0 {
            h[128..136].iter().fold(0usize, |a, x| a << 8 | usize::from(*x))
        } else {
            usize::from_str_radix(text(&h[124..136]).trim(), 8).unwrap_or(0)
        };
        let kind = h[156];
        let data = b.get(at + 512..(at + 512).checked_add(size)?);
        match kind {
            b'L' => long = data.map(text),
            b'x' => {
                // records `LEN key=value\n`
                let d = String::from_utf8_lossy(data?).into_owned();
                for l in d.lines() {
                    if let Some(p) = l.split_once(" path=") {
                        long = Some(p.1.to_owned());
                    }
                }
            }
            b'g' | b'K' => {}
            _ => {
                let name = long.take().unwrap_or_else(|| {
                    let prefix = text(&h[345..500]);
                    let name = text(&h[..100]);
                    if &h[257..263] == b"ustar\0" && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
                });
                out.push((name, kind == b'2' || kind == b'1'));
            }
        }
        at = (at + 512).checked_add(size.div_ceil(512) * 512)?;
    }
    Some(out)
}

/// The members of a zip file, from its directory at the end.
fn zip_members(b: &[u8]) -> Option<Vec<String>> {
    let from = b.len().saturating_sub(66_000);
    let end = b[from..].windows(4).rposition(|w| w == b"PK\x05\x06")? + from;
    let n = |at: usize, k: usize| b.get(at..at + k).map(|s| s.iter().rev().fold(0usize, |a, x| a << 8 | usize::from(*x)));
    let count = n(end + 10, 2)?;
    let mut at = n(end + 16, 4)?;
    let mut out = Vec::new();
    for _ in 0..count.min(MAX_MEMBERS) {
        if b.get(at..at + 4)? != b"PK\x01\x02" {
            break;
        }
        let (name, extra, comment) = (n(at + 28, 2)?, n(at + 30, 2)?, n(at + 32, 2)?);
        out.push(String::from_utf8_lossy(b.get(at + 46..at + 46 + name)?).into_owned());
        at += 46 + name + extra + comment;
    }
    Some(out)
}

/// The members of a cpio file (the `newc`, `crc` and `odc` forms).
fn cpio_members(b: &[u8]) -> Option<Vec<String>> {
    let mut at = 0;
    let mut out = Vec::new();
    while out.len() < MAX_MEMBERS {
        let magic = b.get(at..at + 6)?;
        let (name_len, size, head, pad) = match magic {
            b"070701" | b"070702" => {
                let f = |i: usize| usize::from_str_radix(std::str::from_utf8(b.get(at + 6 + i * 8..at + 14 + i * 8)?).ok()?, 16).ok();
                (f(11)?, f(6)?, 110, 4)
            }
            b"070707" => {
                let f = |from: usize, n: usize| usize::from_str_radix(std::str::from_utf8(b.get(at + from..at + from + n)?).ok()?, 8).ok();
                (f(59, 6)?, f(65, 11)?, 76, 1)
            }
            // the old form, in either order of bytes
            _ if magic[..2] == [0xc7, 0x71] || magic[..2] == [0x71, 0xc7] => {
                let read = if magic[0] == 0xc7 { u16::from_le_bytes } else { u16::from_be_bytes };
                let h = |i: usize| b.get(at + i..at + i + 2).map(|x| usize::from(read([x[0], x[1]])));
                (h(20)?, h(22)? << 16 | h(24)?, 26, 2)
            }
            _ => return None,
        };
        let name = b.get(at + head..(at + head).checked_add(name_len)?.checked_sub(1)?)?;
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
        if name == "TRAILER!!!" {
            break;
        }
        out.push(name);
        let up = |x: usize| x.div_ceil(pad) * pad;
        at = up(at + head + name_len).checked_add(up(size))?;
    }
    Some(out)
}

/// What `tar --one-top-level` names the directory after: the archive without its endings.
fn stem(file: &str) -> &str {
    let name = picture::split(file).1;
    let name = ["gz", "bz2", "xz", "zst", "Z", "lz", "lzma"].iter().find_map(|e| name.strip_suffix(e)?.strip_suffix('.')).unwrap_or(name);
    ["tar", "tgz", "tbz", "tbz2", "txz", "taz"].iter().find_map(|e| name.strip_suffix(e)?.strip_suffix('.')).unwrap_or(name)
}

/// Drops the first components of a member's name.
fn strip(name: &str, n: usize) -> Option<String> {
    if n == 0 {
        return Some(name.to_owned());
    }
    let parts: Vec<&str> = name.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    (parts.len() > n).then(|| parts[n..].join("/"))
}

/// A member of an archive.
#[derive(Clone, Debug, Default)]
struct Member {
    name: String,
    link: bool,
    /// The file that it is a copy of, in an archive that the command itself makes.
    from: Option<String>,
}

impl Member {
    /// From a line of a list: the name and, where it is known, the file.
    fn listed(line: &str) -> Self {
        let (name, from) = line.split_once(super::engine::SOURCE).map_or((line, None), |(name, from)| (name, Some(from.to_owned())));
        Self { name: name.to_owned(), link: false, from }
    }
}

#[derive(Default)]
struct Tar {
    mode: char,
    file: Option<String>,
    dirs: Vec<(usize, String)>,
    names: Vec<String>,
    stdout: bool,
    strip: usize,
    absolute: bool,
    keep_old: bool,
    remove: bool,
    exclude: Vec<String>,
    scripts: Vec<String>,
    transform: Vec<String>,
    /// Everything goes into this directory, unless it is in it already.
    top: Option<String>,
    wild: bool,
    delete: bool,
    /// Options choose among the files, so that not all of them are packed.
    partly: bool,
    /// Members are handed to these, unless they are printed.
    each: Vec<String>,
}

impl Engine<'_> {
    /// The bytes of an archive, unpacked; none where they can't be had.
    fn archive_bytes(&mut self, sh: &Shell, file: &str) -> Option<Vec<u8>> {
        let full = self.full(sh, file);
        let path = match fd_path(&full) {
            Some(fd) => match sh.fd(fd) {
                super::engine::Fd::File(p) | super::engine::Fd::Read(p, _) => p,
                super::engine::Fd::In(i) => {
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
    fn archive_members(&mut self, sh: &Shell, file: &str) -> Option<Vec<Member>> {
        let full = self.full(sh, file);
        let listed = match fd_path(&full).map(|n| sh.fd(n)) {
            Some(super::engine::Fd::In(i)) => self.ins.get(i).map(|s| s.text.to_string()),
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
            .map(|all| all.into_iter().map(|(name, link)| Member { name, link, from: None }).collect())
            .or_else(|| zip_members(&b).or_else(|| cpio_members(&b)).map(plain))
    }

    /// What an archive holds that is made of these files and directories, as a list of members.
    fn packed(&mut self, names: &[(String, String)]) -> String {
        let mut out = String::from(super::engine::MEMBERS);
        let mut stack: Vec<(String, String, u32)> = names.iter().rev().map(|(p, n)| (p.clone(), n.clone(), 0)).collect();
        let mut seen = 0;
        while let Some((path, name, depth)) = stack.pop() {
            seen += 1;
            if seen > MAX_MEMBERS || path.contains(UNK) {
                return UNK.to_string();
            }
            let at = self.fs.at(&path, false);
            if at.kind == Some(super::Kind::Dir) {
                out.push_str(&format!("{}/\n", name.trim_end_matches('/')));
                if depth < 30 {
                    for (n, _) in self.fs.list(&at.path).iter().flat_map(|l| l.iter()) {
                        stack.push((join(&at.path, n), join(&name, n), depth + 1));
                    }
                }
            } else if at.kind.is_some() {
                out.push_str(&format!("{name}{}{path}\n", super::engine::SOURCE));
            }
        }
        out.push(UNK);
        out
    }

    /// An archive with a list of members is made at a path.
    fn leave_packed(&mut self, sh: &Shell, file: &str, list: String) {
        let full = self.full(sh, file);
        if fd_path(&full).is_none() {
            self.fs.leave(&full, true, Left::File(Some(list.into())));
        }
    }

    /// A member is taken out.
    fn member(&mut self, sh: &mut Shell, dir: &str, name: &str, member: &Member) {
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
        if !full.contains(UNK) {
            self.fs.leave(&full, false, Left::File(None));
            if let Some(from) = &member.from {
                self.fs.copy_of(from, &full);
            }
        }
    }

    /// Members whose list can't be had go somewhere below this directory.
    fn members_unknown(&mut self, sh: &mut Shell, dir: &str, archive: &str) {
        self.unknown("an archive can't be listed", archive);
        let before = self.out.unknown.len();
        self.act(sh, ActKind::Create, &join(dir, &UNK.to_string()), true, false);
        self.out.unknown.truncate(before);
    }

    pub(crate) fn tar(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut t = Tar { mode: ' ', ..Tar::default() };
        self.tar_args(sh, argv, &mut t);
        if t.stdout {
            t.each.clear();
        }
        t.stdout |= !t.each.is_empty();
        for s in t.scripts.iter().chain(&t.each).cloned().collect::<Vec<_>>() {
            self.effect(sh, 'Y', &s, false);
        }
        let file = t.file.clone().unwrap_or_else(|| "-".into());
        let first_dir = t.dirs.iter().filter(|d| d.0 == 0).fold(".".to_owned(), |a, d| join(&a, &d.1));
        match t.mode {
            'c' | 'r' | 'u' | 'A' => {
                let names: Vec<(String, String)> = t
                    .names
                    .iter()
                    .enumerate()
                    .map(|(i, n)| {
                        let dir = t.dirs.iter().filter(|d| d.0 <= i).fold(".".to_owned(), |a, d| join(&a, &d.1));
                        (self.full(sh, &join(&dir, n)), n.trim_start_matches('/').to_owned())
                    })
                    .collect();
                let list = if t.mode == 'c' && t.exclude.is_empty() && t.transform.is_empty() && !t.partly {
                    self.packed(&names)
                } else {
                    UNK.to_string()
                };
                if file == "-" {
                    self.put(sh, 1, &list);
                } else if !super::call::remote(&file) {
                    self.effect(sh, 'W', &file, false);
                    if list.starts_with(super::engine::MEMBERS) {
                        self.leave_packed(sh, &file, list);
                    }
                }
                if t.remove {
                    for (i, n) in t.names.clone().iter().enumerate() {
                        let dir = t
                            .dirs
                            .iter()
                            .filter(|d| d.0 <= i)
                            .fold(String::new(), |a, d| if a.is_empty() { d.1.clone() } else { join(&a, &d.1) });
                        let p = if dir.is_empty() { n.clone() } else { join(&dir, n) };
                        self.remove(sh, &p, true);
                    }
                }
            }
            'd' if t.delete => self.effect(sh, 'W', &file, false),
            'x' => {
                if t.stdout {
                    self.put(sh, 1, &UNK.to_string());
                    return;
                }
                let source = if file == "-" { "/dev/stdin".to_owned() } else { file.clone() };
                let full = self.full(sh, &source);
                if fd_path(&full).is_none() && !full.contains(UNK) && self.fs.what(&full).is_none() && self.out.unknown.is_empty() {
                    sh.status = Some(2);
                    return;
                }
                let Some(members) = self.archive_members(sh, &source) else {
                    self.members_unknown(sh, &first_dir, &file);
                    return;
                };
                for member in members {
                    let name = &member.name;
                    let bare = name.trim_end_matches('/');
                    let named = t.names.is_empty()
                        || t.names.iter().any(|n| {
                            let n = n.trim_end_matches('/');
                            n == bare || bare.strip_prefix(n).is_some_and(|r| r.starts_with('/')) || t.wild && pattern::matches(n, bare)
                        });
                    let out = t.exclude.iter().any(|e| {
                        let e = e.trim_end_matches('/');
                        pattern::matches(e, bare) || bare.split('/').any(|c| pattern::matches(e, c)) || bare.starts_with(&format!("{e}/"))
                    });
                    if !named || out {
                        continue;
                    }
                    let Some(mut n) = strip(name, t.strip) else { continue };
                    if !t.absolute {
                        n = n.trim_start_matches('/').to_owned();
                        // members that climb out are not taken
                        if n.split('/').any(|c| c == "..") {
                            continue;
                        }
                    }
                    if n.is_empty() || n == "./" {
                        continue;
                    }
                    for expr in &t.transform {
                        n = super::sed::substitute_name(expr, &n);
                    }
                    if let Some(top) = &t.top {
                        let top = if top.is_empty() { stem(&file) } else { top.trim_end_matches('/') };
                        let bare = n.trim_start_matches("./");
                        if !bare.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                            n = join(top, bare);
                        }
                    }
                    let dir = t.dirs.iter().fold(".".to_owned(), |a, d| join(&a, &d.1));
                    if t.keep_old && self.exists(sh, &join(&dir, &n)) {
                        continue;
                    }
                    self.member(sh, &dir, &n, &member);
                }
            }
            _ => self.put(sh, 1, &UNK.to_string()),
        }
    }

    fn tar_args(&mut self, sh: &mut Shell, argv: &[String], t: &mut Tar) {
        let mut queue: Vec<(char, usize)> = Vec::new();
        let with_value = "fCTXbLgNHFIKV";
        let mut i = 1;
        let letter = |t: &mut Tar, c: char, v: Option<&String>| match (c, v) {
            ('c' | 'x' | 't' | 'r' | 'u' | 'A', _) => t.mode = c,
            ('d', _) => t.mode = 't',
            ('f', Some(v)) => t.file = Some(v.clone()),
            ('C', Some(v)) => t.dirs.push((t.names.len(), v.clone())),
            ('O', _) => t.stdout = true,
            ('P', _) => t.absolute = true,
            ('k', _) => t.keep_old = true,
            ('X', Some(v)) => t.exclude.push(format!("\0{v}")),
            ('T', Some(v)) => t.names.push(format!("\0{v}")),
            _ => {}
        };
        // `tar xzf FILE`: letters first, their values after
        if let Some(first) = argv.get(1).filter(|a| !a.starts_with('-') && !a.is_empty()) {
            for (k, c) in first.chars().enumerate() {
                if with_value.contains(c) {
                    queue.push((c, k));
                } else {
                    letter(t, c, None);
                }
            }
            i = 2;
            for (c, _) in &queue {
                letter(t, *c, argv.get(i));
                i += 1;
            }
        }
        while i < argv.len() {
            let a = &argv[i];
            if let Some(long) = a.strip_prefix("--") {
                let (name, mut value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
                let takes = matches!(
                    name,
                    "file"
                        | "directory"
                        | "exclude"
                        | "strip-components"
                        | "files-from"
                        | "exclude-from"
                        | "checkpoint-action"
                        | "to-command"
                        | "use-compress-program"
                        | "transform"
                        | "xform"
                        | "owner"
                        | "group"
                        | "mode"
                        | "mtime"
                        | "format"
                        | "listed-incremental"
                        | "newer"
                        | "after-date"
                        | "add-file"
                        | "index-file"
                        | "info-script"
                        | "new-volume-script"
                        | "rsh-command"
                        | "suffix"
                        | "sort"
                        | "label"
                        | "blocking-factor"
                        | "record-size"
                        | "starting-file"
                        | "tape-length"
                        | "volno-file"
                        | "warning"
                        | "group-map"
                        | "owner-map"
                );
                if takes && value.is_none() {
                    i += 1;
                    value = argv.get(i).cloned();
                }
                let v = value.unwrap_or_default();
                match name {
                    "create" => t.mode = 'c',
                    "extract" | "get" => t.mode = 'x',
                    "list" | "diff" | "compare" => t.mode = 't',
                    "append" => t.mode = 'r',
                    "update" => t.mode = 'u',
                    "catenate" | "concatenate" => t.mode = 'A',
                    "delete" => {
                        t.mode = 'd';
                        t.delete = true;
                    }
                    "file" => t.file = Some(v),
                    "directory" => t.dirs.push((t.names.len(), v)),
                    "strip-components" => t.strip = v.parse().unwrap_or(0),
                    "to-stdout" => t.stdout = true,
                    "absolute-names" => t.absolute = true,
                    "keep-old-files" | "skip-old-files" => t.keep_old = true,
                    "remove-files" => t.remove = true,
                    "exclude" => t.exclude.push(v),
                    "wildcards" => t.wild = true,
                    "transform" | "xform" => t.transform.push(v),
                    "one-top-level" => t.top = Some(v),
                    "index-file" | "listed-incremental" | "volno-file" => self.effect(sh, 'W', &v, false),
                    "checkpoint-action" => {
                        if let Some(s) = v.strip_prefix("exec=") {
                            t.scripts.push(s.to_owned());
                        }
                    }
                    "to-command" => t.each.push(v),
                    "newer" | "after-date" | "no-recursion" | "exclude-vcs" | "exclude-caches" | "one-file-system" | "exclude-ignore"
                    | "exclude-tag" | "newer-mtime" => t.partly = true,
                    "use-compress-program" | "info-script" | "new-volume-script" | "rsh-command" => t.scripts.push(v),
                    "files-from" => t.names.push(format!("\0{v}")),
                    _ => {}
                }
                i += 1;
                continue;
            }
            if a.starts_with('-') && a.len() > 1 {
                let letters: Vec<char> = a[1..].chars().collect();
                let mut k = 0;
                while k < letters.len() {
                    let c = letters[k];
                    if with_value.contains(c) {
                        let glued: String = letters[k + 1..].iter().collect();
                        let v = if glued.is_empty() {
                            i += 1;
                            argv.get(i).cloned()
                        } else {
                            Some(glued)
                        };
                        match (c, &v) {
                            ('I' | 'F', Some(v)) => t.scripts.push(v.clone()),
                            ('g', Some(v)) => self.effect(sh, 'W', v, false),
                            _ => letter(t, c, v.as_ref()),
                        }
                        break;
                    }
                    letter(t, c, None);
                    k += 1;
                }
            } else {
                t.names.push(a.clone());
            }
            i += 1;
        }
        // name lists in files
        let names = std::mem::take(&mut t.names);
        for n in names {
            match n.strip_prefix('\0') {
                Some(f) => {
                    let text = if f == "-" { self.take(sh, 0) } else { self.content(sh, f) };
                    t.names.extend(text.lines().map(str::to_owned));
                    if text.is_empty() {
                        t.names.push("\u{1}".into());
                    }
                }
                None => t.names.push(n),
            }
        }
        let ex = std::mem::take(&mut t.exclude);
        for e in ex {
            match e.strip_prefix('\0') {
                Some(f) => {
                    let text = self.content(sh, f);
                    t.exclude.extend(text.lines().map(str::to_owned));
                }
                None => t.exclude.push(e),
            }
        }
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
                let plain = fresh && c.opts.iter().all(|(o, _)| matches!(o.as_str(), "-r" | "-q" | "-m" | "-9" | "-y"));
                let list = if plain && c.has(&["-r"]) { self.packed(&names) } else { UNK.to_string() };
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
        if let Some(t) = c.value(&["-TT"]) {
            let t = t.to_owned();
            self.effect(sh, 'Y', &t, false);
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
                let full = self.full(sh, n);
                if self.fs.is_dir(&full) {
                    if !self.exists(sh, &p) {
                        self.effect(sh, 'D', &p, false);
                    }
                    continue;
                }
                self.copied(sh, &full, &p, false);
            }
        } else {
            if let Some(o) = c.value(&["-O", "-F", "--file"]) {
                let o = o.to_owned();
                self.effect(sh, 'W', &o, false);
                let text = self.named_members(sh);
                self.leave_packed(sh, &o, text);
            } else {
                let text = self.named_members(sh);
                self.put(sh, 1, &text);
            }
        }
    }

    /// The members that `cpio` takes from its input: the names themselves, not what is below them.
    fn named_members(&mut self, sh: &Shell) -> String {
        let list = self.take(sh, 0);
        let mut out = String::from(super::engine::MEMBERS);
        for name in list.split(['\n', '\0']).filter(|n| !n.is_empty()) {
            let full = self.full(sh, name);
            out.push_str(&if self.fs.is_dir(&full) { format!("{name}/\n") } else { format!("{name}{}{full}\n", super::engine::SOURCE) });
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

    pub(crate) fn pack(&mut self, sh: &mut Shell, c: &Call) {
        let name = c.name.trim_start_matches("pig").trim_start_matches("pb");
        let unpack = c.name.starts_with("un")
            || c.name.starts_with("bun")
            || c.name.starts_with("gun")
            || c.has(&["-d", "--decompress", "--uncompress"]);
        if c.has(&["-l", "-t", "--list", "--test", "-h", "--help", "-V", "--version", "-L", "--license"]) && !c.name.contains("lz4") {
            return;
        }
        if c.has(&["-c", "--stdout", "--to-stdout"]) || c.args.is_empty() && c.value(&["-o", "--output"]).is_none() {
            let call = Call { name: "gzip".into(), opts: vec![("-c".into(), None)], args: c.args.clone() };
            if unpack {
                let text = self.printed(sh, &call, &[]);
                self.put(sh, 1, &text);
            } else {
                self.put(sh, 1, &UNK.to_string());
            }
            return;
        }
        if let Some(o) = c.value(&["-o", "--output"]) {
            let o = o.to_owned();
            self.effect(sh, 'W', &o, false);
            return;
        }
        let suffixes: &[&str] = match name {
            n if n.contains("bz") || n.contains("ip2") => &[".bz2", ".bz", ".tbz2", ".tbz"],
            n if n.contains("xz") => &[".xz", ".txz", ".lzma"],
            n if n.contains("lzma") => &[".lzma"],
            n if n.contains("zstd") => &[".zst", ".tzst"],
            n if n.contains("lz4") => &[".lz4"],
            n if n.contains("lzop") => &[".lzo"],
            n if n.contains("compress") => &[".Z"],
            n if n.contains("brotli") => &[".br"],
            _ => &[".gz", ".tgz", ".z", ".Z"],
        };
        let apart = c.value(&["--output-dir-flat", "--output-dir-mirror"]).map(str::to_owned);
        let suffix = c.value(&["-S", "--suffix"]).unwrap_or(suffixes[0]).to_owned();
        let keeps = c.has(&["-k", "--keep"]) || matches!(suffixes[0], ".zst" | ".lz4" | ".br" | ".lzo") && !c.has(&["--rm"]);
        let deep = c.has(&["-r", "--recursive"]);
        let force = c.has(&["-f", "--force"]);
        let mut list: Vec<String> = Vec::new();
        for a in &c.args {
            let full = self.full(sh, a);
            if self.fs.is_dir(&full) {
                if deep {
                    self.act(sh, ActKind::Write, a, true, true);
                    for (n, k) in self.fs.list(&full).iter().flat_map(|l| l.iter()) {
                        if *k == super::Kind::File {
                            list.push(join(a, n));
                        }
                    }
                }
                continue;
            }
            list.push(a.clone());
        }
        for f in list {
            let known = !self.full(sh, &f).contains(UNK) && self.out.unknown.is_empty();
            if known && !self.exists(sh, &f) && !(unpack && self.exists(sh, &format!("{f}{suffix}"))) {
                continue;
            }
            let to = if unpack {
                match std::iter::once(suffix.as_str()).chain(suffixes.iter().copied()).find_map(|s| f.strip_suffix(s).map(|b| (s, b))) {
                    Some((s, b)) if s.starts_with(".t") => format!("{b}.tar"),
                    Some((_, b)) => b.to_owned(),
                    None if known && self.exists(sh, &f) => continue,
                    None => f.clone(),
                }
            } else {
                if suffixes.iter().any(|s| f.ends_with(s)) && !force {
                    continue;
                }
                format!("{f}{suffix}")
            };
            let to = match &apart {
                Some(dir) if c.has(&["--output-dir-mirror"]) => join(dir, to.trim_start_matches('/')),
                Some(dir) => join(dir, split(&to).1),
                None => to,
            };
            if self.exists(sh, &to) && !force {
                continue;
            }
            self.act(sh, ActKind::Create, &to, false, false);
            let (a, b) = (self.full(sh, &f), self.full(sh, &to));
            self.fs.leave(&b, false, Left::File(None));
            if !keeps {
                self.act(sh, ActKind::Remove, &f, false, false);
                self.fs.leave(&a, false, Left::Gone);
            }
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
            "a" | "u" | "d" | "rn" | "m" => self.effect(sh, 'W', file, false),
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

    /// One member in the old binary form of cpio, in either order of bytes.
    fn old_cpio(name: &str, data: &[u8], put: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, data) in [(name, data), ("TRAILER!!!", &[][..])] {
            let size = u16::try_from(data.len()).unwrap();
            let mut head = [0_u16; 13];
            head[0] = 0o070_707;
            head[10] = u16::try_from(name.len() + 1).unwrap();
            head[12] = size;
            out.extend(head.into_iter().flat_map(put));
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            out.resize(out.len().next_multiple_of(2), 0);
            out.extend_from_slice(data);
            out.resize(out.len().next_multiple_of(2), 0);
        }
        out
    }

    #[test]
    fn the_old_form_of_cpio_is_read_and_is_no_tar() {
        for put in [u16::to_le_bytes, u16::to_be_bytes] {
            for data in [&b"x"[..], &[7; 3_000]] {
                let file = old_cpio("owned/a.txt", data, put);
                assert_eq!(cpio_members(&file), Some(vec!["owned/a.txt".to_owned()]));
                assert_eq!(tar_members(&file), None);
            }
        }
        assert_eq!(tar_members(b"short"), None);
        assert_eq!(cpio_members(b"short"), None);
    }

    #[test]
    fn a_header_of_tar_adds_up() {
        let mut block = [0_u8; 512];
        block[..5].copy_from_slice(b"a.txt");
        block[124..135].copy_from_slice(b"00000000000");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|x| u32::from(*x)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        // a file of before there was a magic word, with an end of two empty blocks
        let file = [&block[..], &[0; 1024]].concat();
        assert_eq!(tar_members(&file), Some(vec![("a.txt".to_owned(), false)]));
        block[0] = b'b';
        assert_eq!(tar_members(&[&block[..], &[0; 1024]].concat()), None);
    }

    #[test]
    fn a_member_is_listed_with_its_file() {
        let listed = Member::listed(&format!("a{}/r/a", super::super::engine::SOURCE));
        assert_eq!((listed.name.as_str(), listed.from.as_deref()), ("a", Some("/r/a")));
        assert_eq!(Member::listed("a").from, None);
    }
}
