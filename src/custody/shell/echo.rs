//! What well-known programs print, so that a name that comes out of a pipeline is known. What is not known prints the marker.

use super::engine::{Engine, UNK};

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

impl Engine<'_> {}
