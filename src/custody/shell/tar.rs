//! `tar`: its options, making archives and taking them apart.

use super::deeds::fd_path;
use super::engine::{Engine, UNK};
use super::pattern;
use super::picture::{self, join};
use super::state::Shell;

/// What `tar --one-top-level` names the directory after: the archive without its endings.
pub(super) fn stem(file: &str) -> &str {
    let name = picture::split(file).1;
    let name = ["gz", "bz2", "xz", "zst", "Z", "lz", "lzma"].iter().find_map(|e| name.strip_suffix(e)?.strip_suffix('.')).unwrap_or(name);
    ["tar", "tgz", "tbz", "tbz2", "txz", "taz"].iter().find_map(|e| name.strip_suffix(e)?.strip_suffix('.')).unwrap_or(name)
}

/// Drops the first components of a member's name.
pub(super) fn strip(name: &str, n: usize) -> Option<String> {
    if n == 0 {
        return Some(name.to_owned());
    }
    let parts: Vec<&str> = name.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    (parts.len() > n).then(|| parts[n..].join("/"))
}

#[derive(Default)]
pub(super) struct Tar {
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
    /// Links are packed as what they lead to.
    follow: bool,
    /// Members are handed to these, unless they are printed.
    each: Vec<String>,
}

impl Engine<'_> {
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
                let list = if t.mode == 'c'
                    && t.exclude.is_empty()
                    && t.transform.is_empty()
                    && !t.partly
                    && !t.names.iter().any(|name| name.starts_with('@'))
                {
                    self.packed(&names, t.follow)
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

    pub(super) fn tar_args(&mut self, sh: &mut Shell, argv: &[String], t: &mut Tar) {
        let mut queue: Vec<(char, usize)> = Vec::new();
        // another program of that name changes names as `sed` does it
        let bsd = picture::split(&argv[0]).1 == "bsdtar";
        let with_value = if bsd { "fCTXbLgNHFIKVs" } else { "fCTXbLgNHFIKV" };
        let mut i = 1;
        let letter = |t: &mut Tar, c: char, v: Option<&String>| match (c, v) {
            ('c' | 'x' | 't' | 'r' | 'u' | 'A', _) => t.mode = c,
            ('d', _) => t.mode = 't',
            ('f', Some(v)) => t.file = Some(v.clone()),
            ('C', Some(v)) => t.dirs.push((t.names.len(), v.clone())),
            ('O', _) => t.stdout = true,
            ('P', _) => t.absolute = true,
            ('k', _) => t.keep_old = true,
            ('h', _) => t.follow = true,
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
                    "dereference" => t.follow = true,
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
                            ('s', Some(v)) if bsd => t.transform.push(format!("s{v}")),
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
}
