//! Programs that pack single files: `gzip` and its like.

use super::super::act::ActKind;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{Left, join, split};
use super::state::Shell;

impl Engine<'_> {
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
}
