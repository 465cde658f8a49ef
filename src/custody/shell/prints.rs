//! What well-known programs print.

use super::columns::{base64, cut, translate};
use super::echo::{echo, printf};
use super::engine::{Engine, UNK};
use super::options::Call;
use super::state::Shell;
use super::{Kind, gzip, picture};

pub(super) fn first_lines(text: &str, n: usize) -> String {
    text.split_inclusive('\n').take(n).collect()
}

impl Engine<'_> {
    /// Prints what a program prints.
    pub(crate) fn print(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) {
        if matches!(sh.fd(1), super::state::Fd::Term | super::state::Fd::Null)
            && !matches!(c.name.as_str(), "grep" | "egrep" | "fgrep" | "rg" | "cat" | "head" | "ls")
        {
            return;
        }
        let text = self.printed(sh, c, argv);
        self.put(sh, 1, &text);
    }

    /// The text that a program reads: its operands, or its input.
    pub(crate) fn input_text(&mut self, sh: &Shell, files: &[String]) -> String {
        if files.is_empty() {
            return self.take(sh, 0);
        }
        let mut out = String::new();
        for f in files {
            let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, f) };
            out.push_str(&t);
            if out.len() > super::engine::MAX_TEXT {
                return UNK.to_string();
            }
        }
        out
    }

    /// What a program prints.
    pub(crate) fn printed(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) -> String {
        let unk = UNK.to_string();
        let files = c.args.as_slice();
        let no_flags = c.opts.is_empty();
        match c.name.as_str() {
            "echo" => echo(&argv[1..], false),
            "printf" => printf(&argv[1..]),
            "cat" | "zcat" | "gzcat" if no_flags || c.has(&["-u"]) => {
                if c.name != "cat" {
                    return self.unzipped(sh, files);
                }
                self.input_text(sh, files)
            }
            "tac" => {
                let t = self.input_text(sh, files);
                t.lines().rev().fold(String::new(), |a, l| a + l + "\n")
            }
            "rev" => {
                let t = self.input_text(sh, files);
                t.lines().fold(String::new(), |a, l| a + &l.chars().rev().collect::<String>() + "\n")
            }
            "head" | "tail" => {
                let short = argv.iter().skip(1).find_map(|a| a.strip_prefix('-').filter(|n| n.parse::<usize>().is_ok()));
                let n = c.value(&["-n", "--lines"]).map(str::to_owned).or_else(|| short.map(str::to_owned)).unwrap_or_else(|| "10".into());
                let files: Vec<String> = files.to_vec();
                let t = self.input_text(sh, &files);
                if c.has(&["-c", "--bytes", "-z", "-f", "-F"]) || files.len() > 1 {
                    return if t.is_empty() { t } else { unk };
                }
                let total = t.split_inclusive('\n').count();
                match (c.name.as_str(), n.strip_prefix(['-', '+']), n.parse::<i64>()) {
                    ("head", None, Ok(k)) => first_lines(&t, usize::try_from(k).unwrap_or(0)),
                    ("head", Some(k), _) => first_lines(&t, total.saturating_sub(k.parse().unwrap_or(0))),
                    ("tail", Some(k), _) if n.starts_with('+') => {
                        t.split_inclusive('\n').skip(k.parse::<usize>().unwrap_or(1).saturating_sub(1)).collect()
                    }
                    ("tail", k, _) => {
                        let k: usize = k.unwrap_or(&n).parse().unwrap_or(10);
                        t.split_inclusive('\n').skip(total.saturating_sub(k)).collect()
                    }
                    _ => unk,
                }
            }
            "sort" | "shuf" => {
                let t = self.input_text(sh, files);
                let zero = c.has(&["-z", "--zero-terminated"]);
                let sep = if zero { '\0' } else { '\n' };
                let mut lines: Vec<&str> = t.split(sep).filter(|l| !l.is_empty()).collect();
                lines.sort_unstable();
                if c.has(&["-r", "--reverse"]) {
                    lines.reverse();
                }
                if c.has(&["-u", "--unique"]) {
                    lines.dedup();
                }
                lines.iter().fold(String::new(), |a, l| a + l + &sep.to_string())
            }
            "uniq" => {
                let t = self.input_text(sh, files);
                if c.has(&["-c", "--count"]) {
                    return t.lines().fold(String::new(), |a, l| format!("{a}      {UNK} {l}\n"));
                }
                let mut lines: Vec<&str> = t.lines().collect();
                lines.dedup();
                lines.iter().fold(String::new(), |a, l| a + l + "\n")
            }
            "tr" => {
                let t = self.take(sh, 0);
                translate(&t, c).unwrap_or(unk)
            }
            "cut" => {
                let t = self.input_text(sh, files);
                cut(&t, c).unwrap_or(unk)
            }
            "nl" | "wc" | "du" | "cksum" | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "b2sum" => {
                // the name stands at the end of each line
                if c.name == "nl" || files.is_empty() {
                    return unk + "\n";
                }
                files.iter().fold(String::new(), |a, f| format!("{a}{UNK} {f}\n"))
            }
            "basename" => {
                let many = c.has(&["-a", "--multiple", "-s", "--suffix"]);
                let suffix = c.value(&["-s", "--suffix"]).map(str::to_owned);
                let list = if many { files } else { files.get(..1).unwrap_or(&[]) };
                let suffix = suffix.or_else(|| if many { None } else { files.get(1).cloned() });
                list.iter().fold(String::new(), |a, f| {
                    let n = picture::split(f).1;
                    let n = suffix.as_deref().and_then(|s| n.strip_suffix(s)).filter(|s| !s.is_empty()).unwrap_or(n);
                    a + n + "\n"
                })
            }
            "dirname" => files.iter().fold(String::new(), |a, f| a + picture::split(f).0 + "\n"),
            "realpath" | "readlink" => {
                let mut out = String::new();
                for f in files {
                    let full = self.full(sh, f);
                    if full.contains(UNK) {
                        out.push_str(&full);
                    } else if c.name == "readlink" && no_flags {
                        match self.fs.at(&full, false) {
                            a if a.kind == Some(Kind::Link) => match self.fs.world().read_link(std::path::Path::new(&a.path)) {
                                Some(t) => out.push_str(&t.to_string_lossy()),
                                None => out.push(UNK),
                            },
                            _ => continue,
                        }
                    } else if c.has(&["-s", "--strip"]) {
                        out.push_str(&picture::tidy(&full));
                    } else if c.has(&["--relative-to", "--relative-base"]) {
                        out.push(UNK);
                    } else {
                        out.push_str(&self.fs.at(&full, true).path);
                    }
                    out.push('\n');
                }
                out
            }
            "pwd" => format!("{}\n", if c.has(&["-L"]) { sh.cwd.clone() } else { self.fs.at(&sh.cwd, true).path }),
            "seq" => {
                let n: Vec<i64> = files.iter().filter_map(|f| f.parse().ok()).collect();
                let (a, s, b) = match n.as_slice() {
                    [b] => (1, 1, *b),
                    [a, b] => (*a, 1, *b),
                    [a, s, b] if *s != 0 => (*a, *s, *b),
                    _ => return unk,
                };
                let sep = c.value(&["-s", "--separator"]).unwrap_or("\n").to_owned();
                let form = c.value(&["-f", "--format"]).map(str::to_owned);
                let mut out = Vec::new();
                let mut x = a;
                while out.len() < 1000 && (if s > 0 { x <= b } else { x >= b }) {
                    out.push(
                        form.as_ref().map_or_else(|| x.to_string(), |f| f.replace("%g", &x.to_string()).replace("%.0f", &x.to_string())),
                    );
                    x += s;
                }
                out.join(&sep) + "\n"
            }
            "base64" | "base32" | "basenc" => {
                let t = self.input_text(sh, files);
                if c.has(&["-d", "-D", "--decode"]) { base64(&t).map_or(unk, |b| String::from_utf8_lossy(&b).into_owned()) } else { unk }
            }
            "openssl" => {
                if c.has(&["-d"]) && c.args.iter().any(|a| a == "base64" || a == "enc") {
                    let t = self.take(sh, 0);
                    return base64(&t).map_or(unk, |b| String::from_utf8_lossy(&b).into_owned());
                }
                unk
            }
            "xxd" => {
                if c.has(&["-r"]) {
                    let t = self.input_text(sh, files.get(..1).unwrap_or(&[]));
                    let hex: String = t.chars().filter(char::is_ascii_hexdigit).collect();
                    if c.has(&["-p"]) && !t.contains(UNK) {
                        let b: Vec<u8> = hex
                            .as_bytes()
                            .chunks_exact(2)
                            .filter_map(|p| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok())
                            .collect();
                        return String::from_utf8_lossy(&b).into_owned();
                    }
                }
                unk
            }
            "gzip" | "gunzip" if c.has(&["-c", "--stdout"]) || files.is_empty() => self.unzipped(sh, files),
            "ls" | "dir" | "vdir" => self.ls(sh, c),
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "ugrep" => self.grep(sh, c),
            "which" => files.iter().fold(String::new(), |a, f| format!("{a}/usr/bin/{f}\n")),
            "yes" => {
                let w = if files.is_empty() { "y".into() } else { files.join(" ") };
                format!("{w}\n").repeat(20)
            }
            "expand" | "unexpand" | "fold" | "fmt" | "pv" | "column" | "iconv" => self.input_text(sh, files),
            "fd" | "fdfind" => unk,
            "expr" => {
                let words: Vec<&str> = argv[1..].iter().map(String::as_str).collect();
                match words.as_slice() {
                    [a, op, b] => match (a.parse::<i64>(), *op, b.parse::<i64>()) {
                        (Ok(a), "+", Ok(b)) => format!("{}\n", a.wrapping_add(b)),
                        (Ok(a), "-", Ok(b)) => format!("{}\n", a.wrapping_sub(b)),
                        (Ok(a), "*", Ok(b)) => format!("{}\n", a.wrapping_mul(b)),
                        _ => unk,
                    },
                    _ => unk,
                }
            }
            "printenv" => match files.first() {
                Some(n) => {
                    let n = n.clone();
                    self.var(sh, &n).map_or(String::new(), |v| v + "\n")
                }
                None => unk,
            },
            "paste" if c.has(&["-s"]) => {
                let t = self.input_text(sh, files);
                let d = c.value(&["-d"]).unwrap_or("\t").to_owned();
                t.lines().collect::<Vec<_>>().join(&d) + "\n"
            }
            "whoami" | "id" | "hostname" | "uname" | "date" | "nproc" | "stat" | "df" | "jq" | "yq" => unk + "\n",
            "true" | "false" | "test" | "[" | "sleep" | "sync" => String::new(),
            _ => unk,
        }
    }

    pub(super) fn unzipped(&mut self, sh: &Shell, files: &[String]) -> String {
        let mut out = String::new();
        for f in files {
            let full = self.full(sh, f);
            let bytes = self.fs.bytes(&full, picture::MAX_FILE).and_then(|b| gzip::gunzip(&b, picture::MAX_FILE));
            match bytes {
                Some(b) => out.push_str(&String::from_utf8_lossy(&b)),
                None => out.push(UNK),
            }
        }
        if files.is_empty() {
            out.push(UNK);
        }
        out
    }
}
