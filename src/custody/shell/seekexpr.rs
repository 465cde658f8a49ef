//! The expression of `find`, as a tree.

use super::engine::UNK;
use super::seek::Walk;

pub(super) enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    /// A test: name and operand.
    Test(String, String),
    Exec {
        words: Vec<String>,
        each: bool,
        dir: bool,
        id: usize,
        /// Asks for each.
        asks: bool,
    },
    Delete,
    Print(char),
    Printf(String),
    To(String),
    Prune,
    Quit,
}

pub(super) struct Parser<'a> {
    pub(super) a: &'a [String],
    pub(super) i: usize,
    pub(super) w: &'a mut Walk,
    pub(super) acts: bool,
    pub(super) ids: usize,
    pub(super) depth: u32,
}

/// Whether an expression does anything but test and print.
pub(super) fn acts(e: &Expr) -> bool {
    match e {
        Expr::And(all) | Expr::Or(all) => all.iter().any(acts),
        Expr::Not(x) => acts(x),
        Expr::Exec { .. } | Expr::Delete => true,
        _ => false,
    }
}

/// A point in time as `-newermt` takes it, in seconds since 1970, and how far it may be off: what names no time zone is
/// meant where the command runs.
pub(super) fn moment(text: &str, now: i64) -> Option<(i64, i64)> {
    const ZONES: i64 = 14 * 3600;
    if let Some(seconds) = text.strip_prefix('@') {
        return Some((seconds.split('.').next()?.parse().ok()?, 1));
    }
    let bits: Vec<&str> = text.split_whitespace().collect();
    if let [n, unit, rest @ ..] = bits.as_slice()
        && let Ok(n) = n.parse::<i64>()
    {
        let unit = match unit.trim_end_matches('s') {
            "sec" | "second" => 1,
            "min" | "minute" => 60,
            "hour" => 3600,
            "day" => 86_400,
            "week" => 604_800,
            _ => return None,
        };
        let ago = if rest == ["ago"] { -1 } else { 1 };
        return Some((now + ago * n.checked_mul(unit)?, unit / 24 + 2));
    }
    match bits.as_slice() {
        ["now"] => return Some((now, 2)),
        ["today" | "yesterday" | "tomorrow", ..] => return Some((now, 2 * 86_400)),
        _ => {}
    }
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "0:0"));
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let hours: i64 = time.split(':').next()?.trim().parse().ok()?;
    // days since 1970 in the calendar of today, with years that begin in March
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
    Some((days * 86_400 + hours * 3600, ZONES + 3600))
}

impl Parser<'_> {
    pub(super) fn or(&mut self) -> Expr {
        self.depth += 1;
        let mut all = vec![self.and()];
        while self.depth < 40 && matches!(self.a.get(self.i).map(String::as_str), Some("-o" | "-or" | ",")) {
            self.i += 1;
            all.push(self.and());
        }
        self.depth -= 1;
        Expr::Or(all)
    }

    fn and(&mut self) -> Expr {
        let mut all = Vec::new();
        while let Some(t) = self.a.get(self.i) {
            match t.as_str() {
                "-o" | "-or" | "," | ")" => break,
                "-a" | "-and" => self.i += 1,
                _ => all.push(self.primary()),
            }
        }
        Expr::And(all)
    }

    fn next(&mut self) -> String {
        self.i += 1;
        self.a.get(self.i - 1).cloned().unwrap_or_default()
    }

    fn primary(&mut self) -> Expr {
        let t = self.next();
        match t.as_str() {
            "!" | "-not" => {
                self.depth += 1;
                let e = if self.depth > 40 || self.i >= self.a.len() { Expr::And(Vec::new()) } else { self.primary() };
                self.depth -= 1;
                Expr::Not(Box::new(e))
            }
            "(" => {
                let e = if self.depth > 40 { Expr::And(Vec::new()) } else { self.or() };
                if self.a.get(self.i).is_some_and(|x| x == ")") {
                    self.i += 1;
                }
                e
            }
            "-maxdepth" => {
                self.w.max = self.next().parse().unwrap_or(usize::MAX);
                Expr::And(Vec::new())
            }
            "-mindepth" => {
                self.w.min = self.next().parse().unwrap_or(0);
                Expr::And(Vec::new())
            }
            "-depth" | "-d" => {
                self.w.post = true;
                Expr::And(Vec::new())
            }
            "-follow" => {
                self.w.follow = true;
                Expr::And(Vec::new())
            }
            "-delete" => {
                self.w.post = true;
                self.acts = true;
                Expr::Delete
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                self.acts = true;
                let mut words = Vec::new();
                let mut each = true;
                while let Some(x) = self.a.get(self.i) {
                    self.i += 1;
                    if x == ";" {
                        break;
                    }
                    if x == "+" && words.last().is_some_and(|l| l == "{}") {
                        each = false;
                        break;
                    }
                    words.push(x.clone());
                }
                self.ids += 1;
                Expr::Exec { words, each, dir: t.ends_with("dir"), id: self.ids, asks: t.starts_with("-ok") }
            }
            "-print" | "-print0" => {
                self.acts = true;
                Expr::Print(if t == "-print" { '\n' } else { '\0' })
            }
            "-printf" => {
                self.acts = true;
                Expr::Printf(self.next())
            }
            "-ls" => {
                self.acts = true;
                Expr::Printf(UNK.to_string())
            }
            "-fprint" | "-fprint0" | "-fls" => {
                self.acts = true;
                Expr::To(self.next())
            }
            "-fprintf" => {
                self.acts = true;
                let f = self.next();
                self.next();
                Expr::To(f)
            }
            "-prune" => Expr::Prune,
            "-quit" => Expr::Quit,
            "-true"
            | "-noleaf"
            | "-mount"
            | "-xdev"
            | "-daystart"
            | "-ignore_readdir_race"
            | "-warn"
            | "-nowarn"
            | "-empty"
            | "-false"
            | "-readable"
            | "-writable"
            | "-executable"
            | "-nouser"
            | "-nogroup" => Expr::Test(t, String::new()),
            _ => {
                let v = self.next();
                Expr::Test(t, v)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_read_as_far_as_they_are_known() {
        assert_eq!(moment("@86400", 0), Some((86_400, 1)));
        assert_eq!(moment("1970-01-02", 0).map(|m| m.0), Some(86_400));
        assert_eq!(moment("2024-02-29 12:00", 0).map(|m| m.0), Some(1_709_208_000));
        assert_eq!(moment("2 days ago", 1_000_000).map(|m| m.0), Some(1_000_000 - 172_800));
        assert_eq!(moment("last tuesday", 0), None);
        assert_eq!(moment("2024-13-01", 0), None);
        assert_eq!(moment("", 0), None);
    }
}
