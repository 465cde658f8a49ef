//! What well-known programs print, so that a name that comes out of a pipeline is known. What is not known prints the marker.

use super::call::Call;
use super::engine::{Engine, Shell, UNK, fd_path};
use super::picture::{self, join};
use super::regex::{self, Flavor, Regex};
use super::{Kind, gzip};

/// Most lines or files that are looked at.
const MAX_LINES: usize = 4000;

/// `echo`
pub(crate) fn echo(args: &[String], posix: bool) -> String {
    let (mut newline, mut escapes, mut i) = (true, posix, 0);
    while let Some(a) = args.get(i) {
        let flags = a.strip_prefix('-').unwrap_or("");
        if flags.is_empty() || !flags.chars().all(|c| "neE".contains(c)) || posix && flags != "n" {
            break;
        }
        for c in flags.chars() {
            match c {
                'n' => newline = false,
                'e' => escapes = true,
                _ => escapes = false,
            }
        }
        i += 1;
    }
    let mut text = args[i..].join(" ");
    if escapes {
        let (t, stop) = unescape(&text);
        text = t;
        newline &= !stop;
    }
    if newline {
        text.push('\n');
    }
    text
}

/// Backslash escapes of `echo -e` and `printf`; whether `\c` ended it.
pub(crate) fn unescape(text: &str) -> (String, bool) {
    if !text.contains('\\') {
        return (text.to_owned(), false);
    }
    let mut t = text.to_owned();
    let stop = t.find("\\c").map(|i| t.truncate(i)).is_some();
    // `\0NNN` is octal here, unlike in `$'…'`; quotes need no backslash
    let mut chars: Vec<char> = t.chars().collect();
    let mut i = 0;
    while i + 2 < chars.len() {
        if chars[i] == '\\' {
            if chars[i + 1] == '0' && chars[i + 2].is_digit(8) {
                chars.remove(i + 1);
            }
            i += 1;
        }
        i += 1;
    }
    (super::words::ansi_c(&chars), stop)
}

/// `printf FORMAT ARG…`
pub(crate) fn printf(args: &[String]) -> String {
    let Some((format, mut rest)) = args.split_first() else { return String::new() };
    let mut out = String::new();
    for _ in 0..2000 {
        let before = rest.len();
        printf_once(format, &mut rest, &mut out);
        if rest.is_empty() || rest.len() == before || out.len() > super::engine::MAX_TEXT {
            break;
        }
    }
    out
}

fn printf_once(format: &str, rest: &mut &[String], out: &mut String) {
    let (format, _) = unescape(&format.replace("%%", "\u{10FFFC}"));
    let mut it = format.chars().peekable();
    while let Some(c) = it.next() {
        if c == '\u{10FFFC}' {
            out.push('%');
            continue;
        }
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut flags = String::new();
        while let Some(f) =
            it.peek().copied().filter(|f| "-+ #0123456789.*(l:%YmdHMST)".contains(*f) && (f.is_ascii_digit() || "-+ #.*".contains(*f)))
        {
            if f == '*' {
                if let Some((w, r)) = rest.split_first() {
                    flags.push_str(w);
                    *rest = r;
                }
            } else {
                flags.push(f);
            }
            it.next();
        }
        let Some(conv) = it.next() else { return };
        if conv == '(' {
            for x in it.by_ref() {
                if x == 'T' {
                    break;
                }
            }
            out.push(UNK);
            continue;
        }
        let arg = match rest.split_first() {
            Some((a, r)) => {
                *rest = r;
                a.clone()
            }
            None => String::new(),
        };
        let text = match conv {
            'b' => unescape(&arg).0,
            'c' => arg.chars().next().map(String::from).unwrap_or_default(),
            'q' => arg,
            'd' | 'i' | 'u' => {
                if arg.is_empty() {
                    "0".into()
                } else {
                    arg
                }
            }
            'x' => arg.parse::<i64>().map_or(arg, |n| format!("{n:x}")),
            'X' => arg.parse::<i64>().map_or(arg, |n| format!("{n:X}")),
            'o' => arg.parse::<i64>().map_or(arg, |n| format!("{n:o}")),
            's' => arg,
            _ => UNK.to_string(),
        };
        let (width, precision) = flags.split_once('.').map_or((flags.as_str(), None), |(w, p)| (w, Some(p)));
        let text = match precision.and_then(|p| p.parse::<usize>().ok()) {
            Some(p) if conv == 's' || conv == 'b' => text.chars().take(p).collect(),
            _ => text,
        };
        let left = width.contains('-');
        let zero = width.starts_with('0') && conv != 's';
        let n: usize = width.trim_start_matches(['-', '+', ' ', '#', '0']).parse().unwrap_or(0).min(1000);
        let pad = n.saturating_sub(text.chars().count());
        if left {
            out.push_str(&text);
        }
        out.extend(std::iter::repeat_n(if zero { '0' } else { ' ' }, pad));
        if !left {
            out.push_str(&text);
        }
    }
}

fn first_lines(text: &str, n: usize) -> String {
    text.split_inclusive('\n').take(n).collect()
}

impl Engine<'_> {
    /// Prints what a program prints.
    pub(crate) fn print(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) {
        if matches!(sh.fd(1), super::engine::Fd::Term | super::engine::Fd::Null)
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

    fn unzipped(&mut self, sh: &Shell, files: &[String]) -> String {
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

    fn ls(&mut self, sh: &mut Shell, c: &Call) -> String {
        let all = c.has(&["-a", "-A", "--all", "--almost-all"]);
        let long = c.has(&["-l", "-g", "-o", "--format", "-s", "-i"]);
        let tail = if c.has(&["-p", "-F", "--classify", "--indicator-style"]) { "/" } else { "" };
        let dot = [".".to_owned()];
        let names: &[String] = if c.args.is_empty() { &dot } else { &c.args };
        let mut out = String::new();
        let line = |out: &mut String, n: &str| {
            if long {
                for _ in 0..8 {
                    out.push(UNK);
                    out.push(' ');
                }
            }
            out.push_str(n);
            out.push('\n');
        };
        let mut stack: Vec<(String, u32)> = Vec::new();
        for n in names {
            let full = self.full(sh, n);
            if full.contains(UNK) {
                out.push(UNK);
                continue;
            }
            match self.fs.what(&full) {
                Some(Kind::Dir) if !c.has(&["-d", "--directory"]) => stack.push((n.clone(), 0)),
                Some(_) => line(&mut out, n),
                None if self.fs.at(&full, false).kind.is_some() => line(&mut out, n),
                None => {}
            }
        }
        let headed = names.len() > 1 || c.has(&["-R", "--recursive"]);
        stack.reverse();
        let mut seen = 0;
        while let Some((dir, depth)) = stack.pop() {
            if headed {
                out.push_str(&format!("\n{dir}:\n"));
            }
            if long {
                out.push_str(&format!("total {UNK}\n"));
            }
            let full = self.full(sh, &dir);
            let Some(list) = self.fs.list(&full) else {
                out.push(UNK);
                continue;
            };
            for (n, k) in list.iter() {
                seen += 1;
                if n.starts_with('.') && !all || seen > MAX_LINES {
                    continue;
                }
                let mark = if *k == Kind::Dir { tail } else { "" };
                line(&mut out, &format!("{n}{mark}"));
                if *k == Kind::Dir && c.has(&["-R", "--recursive"]) && depth < 10 {
                    stack.push((join(&dir, n), depth + 1));
                }
            }
        }
        out
    }

    fn grep(&mut self, sh: &mut Shell, c: &Call) -> String {
        let deep_tool = matches!(c.name.as_str(), "rg" | "ag" | "ack");
        let mut args = c.args.clone();
        let pats: Vec<String> = if c.has(&["-e", "--regexp"]) {
            c.values(&["-e", "--regexp"]).into_iter().map(str::to_owned).collect()
        } else if let Some(f) = c.value(&["-f", "--file"]) {
            let f = f.to_owned();
            self.content(sh, &f).lines().map(str::to_owned).collect()
        } else if c.has(&["--files"]) {
            vec![String::new()]
        } else if args.is_empty() {
            return String::new();
        } else {
            vec![args.remove(0)]
        };
        let fixed = c.has(&["-F", "--fixed-strings"]) || c.name == "fgrep";
        let flavor = if deep_tool || c.has(&["-E", "-P", "--extended-regexp", "--perl-regexp"]) || c.name == "egrep" {
            Flavor::Extended
        } else {
            Flavor::Basic
        };
        let fold = c.has(&["-i", "--ignore-case"]) || c.has(&["-S"]) && !pats.iter().any(|p| p.contains(char::is_uppercase));
        let res: Vec<Option<Regex>> = pats
            .iter()
            .map(|p| {
                let mut p = if fixed {
                    p.chars().fold(String::new(), |a, ch| {
                        if ch.is_alphanumeric() || ch == ' ' || "/_-<>=,;:@#%&!\"'~`".contains(ch) {
                            a + &ch.to_string()
                        } else {
                            format!("{a}[{}]", if ch == '\\' || ch == '^' { format!("\\{ch}") } else { ch.to_string() })
                        }
                    })
                } else {
                    p.clone()
                };
                if c.has(&["-w", "--word-regexp"]) {
                    p = format!("\\b{p}\\b");
                }
                if c.has(&["-x", "--line-regexp"]) {
                    p = format!("^{p}$");
                }
                regex::compile(&p, flavor, fold)
            })
            .collect();
        let invert = c.has(&["-v", "--invert-match"]);
        // a line that is not known, or an expression that is not, counts as a hit
        let hit = |l: &str| {
            if l.contains(UNK) {
                return true;
            }
            let any = res.iter().any(|r| r.as_ref().is_some_and(|r| r.is_match(l)));
            any != invert || res.iter().any(Option::is_none)
        };
        let deep = deep_tool || c.has(&["-r", "-R", "--recursive", "--dereference-recursive"]);
        let stdin = args.is_empty() && (!deep || deep_tool && self.has_input(sh));
        let sep = if c.has(&["-Z", "--null", "-0"]) { "\0" } else { "\n" };
        if stdin {
            let t = self.take(sh, 0);
            let lines: Vec<&str> = if c.has(&["-z", "--null-data"]) { t.split('\0').collect() } else { t.lines().collect() };
            let found: Vec<&str> = lines.into_iter().filter(|l| hit(l)).collect();
            if !t.contains(UNK) && res.iter().all(Option::is_some) {
                sh.status = Some(i32::from(found.is_empty()));
            }
            if c.has(&["-q", "--quiet", "--silent"]) {
                return String::new();
            }
            if c.has(&["-c", "--count"]) {
                return format!("{}\n", found.len());
            }
            if c.has(&["-o", "--only-matching"]) {
                let mut out = String::new();
                for l in found {
                    let chars: Vec<char> = l.chars().collect();
                    for r in res.iter().flatten() {
                        let mut from = 0;
                        while let Some((a, b)) = r.find(&chars, from).and_then(|m| m[0]) {
                            if b > a {
                                out.extend(&chars[a..b]);
                                out.push('\n');
                            }
                            from = if b > a { b } else { b + 1 };
                            if from > chars.len() {
                                break;
                            }
                        }
                    }
                }
                return out;
            }
            let eol = if c.has(&["-z", "--null-data"]) { "\0" } else { "\n" };
            return found.iter().fold(String::new(), |a, l| a + l + eol);
        }
        let names = self.grep_files(sh, c, &args, deep, deep_tool);
        let list = c.has(&["-l", "--files-with-matches", "-L", "--files-without-match", "--files"]);
        let many = names.len() > 1 || deep;
        let mut out = String::new();
        let mut any = false;
        let mut sure = res.iter().all(Option::is_some);
        for n in names {
            if c.has(&["--files"]) {
                out.push_str(&n);
                out.push_str(sep);
                continue;
            }
            let t = self.content(sh, &n);
            if !self.spend(t.len() * 4) {
                return UNK.to_string();
            }
            sure &= !t.contains(UNK);
            let found: Vec<&str> = t.lines().filter(|l| hit(l)).collect();
            any |= !found.is_empty();
            if list {
                if found.is_empty() == c.has(&["-L", "--files-without-match"]) {
                    out.push_str(&n);
                    out.push_str(sep);
                }
                continue;
            }
            if c.has(&["-c", "--count"]) {
                out.push_str(&if many { format!("{n}:{}\n", found.len()) } else { format!("{}\n", found.len()) });
                continue;
            }
            for l in found {
                if many && !c.has(&["-h", "--no-filename"]) {
                    out.push_str(&n);
                    out.push(':');
                }
                if c.has(&["-n", "--line-number"]) {
                    out.push(UNK);
                    out.push(':');
                }
                out.push_str(l);
                out.push('\n');
            }
        }
        if sure {
            sh.status = Some(i32::from(!any));
        }
        if c.has(&["-q", "--quiet", "--silent"]) { String::new() } else { out }
    }

    fn grep_files(&mut self, sh: &mut Shell, c: &Call, args: &[String], deep: bool, skip_hidden: bool) -> Vec<String> {
        let mut out = Vec::new();
        let include: Vec<String> = c.values(&["--include", "-g", "--glob"]).into_iter().map(str::to_owned).collect();
        let exclude: Vec<String> = c.values(&["--exclude"]).into_iter().map(str::to_owned).collect();
        let dirs: Vec<String> = c.values(&["--exclude-dir"]).into_iter().map(str::to_owned).collect();
        let wanted = |n: &str| {
            (include.iter().all(|g| g.starts_with('!')) || include.iter().any(|g| super::pattern::matches(g.trim_start_matches("**/"), n)))
                && !exclude.iter().any(|g| super::pattern::matches(g, n))
                && !include.iter().any(|g| g.strip_prefix('!').is_some_and(|g| super::pattern::matches(g.trim_start_matches("**/"), n)))
        };
        let here = [String::new()];
        let starts: &[String] = if args.is_empty() { &here } else { args };
        let mut stack: Vec<(String, u32)> = starts.iter().rev().map(|s| (s.clone(), 0)).collect();
        let mut seen = 0;
        while let Some((n, depth)) = stack.pop() {
            seen += 1;
            if seen > MAX_LINES {
                self.unknown("too many files", "grep");
                break;
            }
            let full = if n.is_empty() { sh.cwd.clone() } else { self.full(sh, &n) };
            if self.fs.is_dir(&full) && fd_path(&full).is_none() {
                if !deep || depth > 20 {
                    continue;
                }
                let Some(list) = self.fs.list(&full) else { continue };
                for (name, k) in list.iter().rev() {
                    let p = if n.is_empty() { name.clone() } else { join(&n, name) };
                    match k {
                        Kind::Dir
                            if !(skip_hidden && name.starts_with('.'))
                                && name != ".git"
                                && !dirs.iter().any(|d| super::pattern::matches(d, name)) =>
                        {
                            stack.push((p, depth + 1))
                        }
                        Kind::File if wanted(name) && !(skip_hidden && name.starts_with('.')) => stack.push((p, depth + 1)),
                        _ => {}
                    }
                }
            } else {
                out.push(n);
            }
        }
        out
    }
}

fn set_of(spec: &str) -> Option<Vec<char>> {
    let (t, _) = unescape(spec);
    let t = t
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n")
        .replace("[:blank:]", " \t")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:alnum:]", "A-Za-z0-9");
    if t.contains('[') && t.contains(':') {
        return None;
    }
    let c: Vec<char> = t.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while i < c.len() {
        if c.get(i + 1) == Some(&'-') && i + 2 < c.len() && c[i] <= c[i + 2] {
            out.extend((c[i]..=c[i + 2]).take(300));
            i += 3;
        } else {
            out.push(c[i]);
            i += 1;
        }
    }
    Some(out)
}

fn translate(t: &str, c: &Call) -> Option<String> {
    let a = set_of(c.args.first()?)?;
    let inverse = c.has(&["-c", "-C", "--complement"]);
    if c.has(&["-d", "--delete"]) {
        return Some(t.chars().filter(|x| *x == UNK || a.contains(x) == inverse).collect());
    }
    if inverse {
        return None;
    }
    let b = match c.args.get(1) {
        Some(b) => set_of(b)?,
        None => a.clone(),
    };
    let last = *b.last()?;
    let mut out = String::new();
    for x in t.chars() {
        let y = a.iter().rposition(|k| *k == x).map_or(x, |i| b.get(i).copied().unwrap_or(last));
        if c.has(&["-s", "--squeeze-repeats"]) && out.ends_with(y) && b.contains(&y) {
            continue;
        }
        out.push(y);
    }
    Some(out)
}

fn ranges(spec: &str) -> Option<Vec<(usize, usize)>> {
    spec.split(',')
        .map(|r| match r.split_once('-') {
            None => r.parse().ok().map(|n| (n, n)),
            Some((a, b)) => Some((if a.is_empty() { 1 } else { a.parse().ok()? }, if b.is_empty() { usize::MAX } else { b.parse().ok()? })),
        })
        .collect()
}

fn cut(t: &str, c: &Call) -> Option<String> {
    let mut out = String::new();
    if let Some(f) = c.value(&["-f", "--fields"]) {
        let r = ranges(f)?;
        let d = c.value(&["-d", "--delimiter"]).and_then(|d| d.chars().next()).unwrap_or('\t');
        for l in t.lines() {
            if !l.contains(d) {
                if !c.has(&["-s"]) {
                    out.push_str(l);
                    out.push('\n');
                }
                continue;
            }
            let picked: Vec<&str> =
                l.split(d).enumerate().filter(|(i, _)| r.iter().any(|(a, b)| (*a..=*b).contains(&(i + 1)))).map(|x| x.1).collect();
            out.push_str(&picked.join(&d.to_string()));
            out.push('\n');
        }
        return Some(out);
    }
    let r = ranges(c.value(&["-c", "-b", "--characters", "--bytes"])?)?;
    for l in t.lines() {
        out.extend(l.chars().enumerate().filter(|(i, _)| r.iter().any(|(a, b)| (*a..=*b).contains(&(i + 1)))).map(|x| x.1));
        out.push('\n');
    }
    Some(out)
}

/// Decodes base64; `None` where it is none.
pub(crate) fn base64(t: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut acc, mut bits) = (0u32, 0);
    for b in t.bytes() {
        let v = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' | b'\n' | b'\r' | b' ' => continue,
            _ => return None,
        };
        acc = acc << 6 | u32::from(v);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((acc >> bits) as u8);
            acc &= (1 << bits) - 1;
        }
    }
    Some(out)
}
