//! A call taken apart by the marks of its row.

use super::picture;

/// A call, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The program's name, without its directory.
    pub(crate) name: String,
    /// Options in order, with their values.
    pub(crate) opts: Vec<(String, Option<String>)>,
    /// Operands.
    pub(crate) args: Vec<String>,
}

pub(super) enum Takes {
    No,
    Yes,
    Glued,
}

pub(super) fn mark_for<'m>(marks: &'m str, opt: &str) -> Option<&'m str> {
    marks.split_ascii_whitespace().find_map(|m| {
        let rest = m.strip_prefix(opt)?;
        rest.starts_with([':', '!', '/', '?', '+']).then_some(rest)
    })
}

/// What a row says of the file that an option names; the option without its dashes.
pub(crate) fn effect_of(marks: &str, option: &str) -> Option<char> {
    let dashes = if option.chars().count() == 1 { "-" } else { "--" };
    mark_for(marks, &format!("{dashes}{option}"))?.trim_start_matches(':').chars().next()
}

pub(super) fn takes(marks: &str, opt: &str) -> Takes {
    match mark_for(marks, opt) {
        Some(m) if m.contains("::") => Takes::Glued,
        Some(m) if m.contains(':') => Takes::Yes,
        _ => Takes::No,
    }
}

/// A long option that is abbreviated, where the marks know only one that begins so.
pub(super) fn full_long(marks: &str, opt: &str) -> String {
    if mark_for(marks, opt).is_some() || opt.len() < 4 {
        return opt.to_owned();
    }
    let mut found: Option<&str> = None;
    for m in marks.split_ascii_whitespace().filter(|m| m.starts_with(opt)) {
        let name = m.trim_end_matches(|c: char| !c.is_alphanumeric());
        let name = name.split([':', '!', '?', '+']).next().unwrap_or(name);
        if found.is_some() {
            return opt.to_owned();
        }
        found = Some(name);
    }
    found.unwrap_or(opt).to_owned()
}

/// Takes a call apart by the marks of its row.
pub(crate) fn parse(marks: &str, argv: &[String]) -> Call {
    let mut c = Call { name: picture::split(argv.first().map_or("", String::as_str)).1.to_owned(), ..Call::default() };
    let stop = marks.split_ascii_whitespace().any(|m| m == ".");
    // `-out FILE`: one dash, a whole word
    let words: bool = marks.split_ascii_whitespace().any(|m| {
        m.starts_with('-')
            && !m.starts_with("--")
            && m.trim_end_matches(|c: char| !c.is_alphanumeric()).len() > 3
            && !m[1..].starts_with(|c: char| !c.is_alphabetic())
            && m.find([':', '!', '?', '/', '+']).is_some_and(|i| i > 2)
    });
    let mut i = 1;
    while i < argv.len() {
        let a = argv[i].as_str();
        if a == "--" {
            c.args.extend(argv[i + 1..].iter().cloned());
            break;
        }
        if !a.starts_with('-') || a == "-" {
            if stop {
                c.args.extend(argv[i..].iter().cloned());
                break;
            }
            c.args.push(a.to_owned());
            i += 1;
            continue;
        }
        if a.starts_with("--") {
            if let Some((n, v)) = a.split_once('=') {
                c.opts.push((full_long(marks, n), Some(v.to_owned())));
            } else {
                let n = a.to_owned();
                let v = if matches!(takes(marks, &n), Takes::Yes) {
                    i += 1;
                    argv.get(i).cloned()
                } else {
                    None
                };
                c.opts.push((n, v));
            }
            i += 1;
            continue;
        }
        if words && a.len() > 2 {
            let (n, glued) = a.split_once('=').map_or((a, None), |(n, v)| (n, Some(v.to_owned())));
            if mark_for(marks, n).is_some() {
                let v = match takes(marks, n) {
                    Takes::Yes if glued.is_none() => {
                        i += 1;
                        argv.get(i).cloned()
                    }
                    _ => glued,
                };
                c.opts.push((n.to_owned(), v));
                i += 1;
                continue;
            }
        }
        let letters: Vec<char> = a[1..].chars().collect();
        for (k, ch) in letters.iter().enumerate() {
            let opt = format!("-{ch}");
            let glued: String = letters[k + 1..].iter().collect();
            match takes(marks, &opt) {
                Takes::No => c.opts.push((opt, None)),
                Takes::Glued => {
                    c.opts.push((opt, (!glued.is_empty()).then_some(glued)));
                    break;
                }
                Takes::Yes => {
                    let v = if glued.is_empty() {
                        i += 1;
                        argv.get(i).cloned()
                    } else {
                        Some(glued)
                    };
                    c.opts.push((opt, v));
                    break;
                }
            }
        }
        i += 1;
    }
    c
}

impl Call {
    /// Whether one of the options is there. Names are given with their dashes.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.opts.iter().any(|(o, _)| names.contains(&o.as_str()))
    }

    /// The last value of one of the options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&str> {
        self.opts.iter().rev().find(|(o, v)| names.contains(&o.as_str()) && v.is_some()).and_then(|(_, v)| v.as_deref())
    }

    /// All values of the options.
    pub(crate) fn values(&self, names: &[&str]) -> Vec<&str> {
        self.opts.iter().filter(|(o, _)| names.contains(&o.as_str())).filter_map(|(_, v)| v.as_deref()).collect()
    }
}
