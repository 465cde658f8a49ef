//! A small backtracking matcher for basic, extended and Perl-like expressions, enough for `grep`, `sed`, `awk` and `[[ =~ ]]`
//! on the short texts that are met here. What it does not know makes `compile` answer `None`, and the caller says "not known".

/// How an expression is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// `\(`, `\|`, `\+` are special (grep, sed).
    Basic,
    /// `(`, `|`, `+` are special (grep -E, awk); also what is common to Perl's.
    Extended,
}

#[derive(Clone, Debug)]
enum Node {
    Char(char),
    Any,
    Set(Vec<char>),
    Class(char),
    Start,
    End,
    Edge(bool),
    Back(usize),
    Group(usize, Vec<Vec<Node>>),
    Repeat(Box<Node>, usize, usize, bool),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) struct Regex {
    alts: Vec<Vec<Node>>,
    groups: usize,
    fold: bool,
}

/// Start and end of the whole and of the groups, in characters.
pub(crate) type Caps = Vec<Option<(usize, usize)>>;

/// Compiles; `None` for what is not known here.
pub(crate) fn compile(text: &str, flavor: Flavor, fold: bool) -> Option<Regex> {
    if text.len() > 2000 || text.contains(super::engine::UNK) {
        return None;
    }
    let c: Vec<char> = text.chars().collect();
    let mut p = P { c: &c, i: 0, basic: flavor == Flavor::Basic, groups: 0, depth: 0 };
    let alts = p.alts()?;
    if p.i < c.len() {
        return None;
    }
    Some(Regex { alts, groups: p.groups, fold })
}

struct P<'a> {
    pub(super) c: &'a [char],
    pub(super) i: usize,
    basic: bool,
    groups: usize,
    pub(super) depth: usize,
}

impl P<'_> {
    pub(super) fn at(&self, k: usize) -> char {
        self.c.get(self.i + k).copied().unwrap_or('\0')
    }

    /// Whether the special character stands here, in the flavor's writing.
    fn special(&self, x: char) -> bool {
        if self.basic { self.at(0) == '\\' && self.at(1) == x } else { self.at(0) == x }
    }

    fn step(&mut self) {
        self.i += if self.basic { 2 } else { 1 };
    }

    fn alts(&mut self) -> Option<Vec<Vec<Node>>> {
        self.depth += 1;
        if self.depth > 20 {
            return None;
        }
        let mut out = vec![self.seq()?];
        while self.i < self.c.len() && self.special('|') {
            self.step();
            out.push(self.seq()?);
        }
        self.depth -= 1;
        Some(out)
    }

    fn seq(&mut self) -> Option<Vec<Node>> {
        let mut out: Vec<Node> = Vec::new();
        while self.i < self.c.len() {
            if self.special('|') || self.special(')') && (self.basic || self.depth > 1) {
                break;
            }
            let atom = self.atom(out.is_empty())?;
            let atom = self.repeat(atom)?;
            out.push(atom);
        }
        Some(out)
    }

    fn repeat(&mut self, mut atom: Node) -> Option<Node> {
        loop {
            let (lo, hi) = if self.at(0) == '*' {
                self.i += 1;
                (0, usize::MAX)
            } else if self.special('+') {
                self.step();
                (1, usize::MAX)
            } else if self.special('?') {
                self.step();
                (0, 1)
            } else if self.special('{') && (self.basic || self.at(1).is_ascii_digit() || self.at(1) == ',') {
                self.step();
                let mut text = String::new();
                while self.i < self.c.len() && !self.special('}') {
                    text.push(self.at(0));
                    self.i += 1;
                }
                self.step();
                match text.split_once(',') {
                    None => {
                        let n = text.parse().ok()?;
                        (n, n)
                    }
                    Some((a, b)) => (a.parse().unwrap_or(0), if b.is_empty() { usize::MAX } else { b.parse().ok()? }),
                }
            } else {
                return Some(atom);
            };
            let lazy = !self.basic && self.at(0) == '?';
            if lazy {
                self.i += 1;
            }
            if lo > 1000 {
                return None;
            }
            atom = Node::Repeat(Box::new(atom), lo, hi, lazy);
        }
    }

    fn atom(&mut self, first: bool) -> Option<Node> {
        if self.special('(') {
            self.step();
            let mut n = 0;
            if !self.basic && self.at(0) == '?' {
                if self.at(1) != ':' {
                    return None;
                }
                self.i += 2;
            } else {
                self.groups += 1;
                n = self.groups;
            }
            let alts = self.alts()?;
            if !self.special(')') {
                return None;
            }
            self.step();
            return Some(Node::Group(n, alts));
        }
        let x = self.at(0);
        self.i += 1;
        Some(match x {
            '.' => Node::Any,
            '^' if first || !self.basic => Node::Start,
            '$' if !self.basic || self.i == self.c.len() || self.at(0) == '\\' && matches!(self.at(1), ')' | '|') => Node::End,
            '*' if first => Node::Char('*'),
            '[' => {
                let (_, used) = super::pattern::bracket(&self.c[self.i - 1..], None)?;
                let set = self.c[self.i - 1..self.i - 1 + used].to_vec();
                self.i += used - 1;
                Node::Set(set)
            }
            '\\' => {
                let e = self.at(0);
                self.i += 1;
                match e {
                    'w' | 'W' | 's' | 'S' | 'd' | 'D' => Node::Class(e),
                    'b' | '<' | '>' => Node::Edge(true),
                    'B' => Node::Edge(false),
                    'n' => Node::Char('\n'),
                    't' => Node::Char('\t'),
                    '1'..='9' => Node::Back(e as usize - '0' as usize),
                    '\0' => return None,
                    _ => Node::Char(e),
                }
            }
            '+' | '?' if !self.basic && first => return None,
            _ => Node::Char(x),
        })
    }
}

struct M<'a> {
    t: &'a [char],
    caps: Caps,
    fuel: u32,
    fold: bool,
}

impl Regex {
    /// The leftmost match at or after `from`.
    pub(crate) fn find(&self, t: &[char], from: usize) -> Option<Caps> {
        let mut fuel = 100_000;
        for start in from..=t.len() {
            let mut best: Option<Caps> = None;
            for alt in &self.alts {
                let mut m = M { t, caps: vec![None; self.groups + 1], fuel, fold: self.fold };
                let end = std::cell::Cell::new(0);
                let ok = m.seq(alt, start, 0, &mut |_, e| {
                    end.set(e);
                    true
                });
                fuel = m.fuel;
                if ok && best.as_ref().is_none_or(|b| b[0].is_some_and(|(_, e)| e < end.get())) {
                    m.caps[0] = Some((start, end.get()));
                    best = Some(m.caps);
                }
            }
            if best.is_some() || fuel == 0 {
                return best;
            }
        }
        None
    }

    /// Whether it matches anywhere.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let t: Vec<char> = text.chars().collect();
        self.find(&t, 0).is_some()
    }
}

type Next<'k> = &'k mut dyn FnMut(&mut M<'_>, usize) -> bool;

impl M<'_> {
    fn seq(&mut self, nodes: &[Node], i: usize, depth: usize, next: Next<'_>) -> bool {
        if self.fuel == 0 || depth > 300 || !super::fuel::spend(3) {
            super::fuel::doubt();
            return false;
        }
        self.fuel -= 1;
        let Some(node) = nodes.first() else { return next(self, i) };
        self.node(node, i, depth + 1, &mut |m, e| m.seq(&nodes[1..], e, depth + 1, next))
    }

    fn one(&self, node: &Node, c: char) -> Option<bool> {
        let fold = |x: char| if self.fold { x.to_ascii_lowercase() } else { x };
        Some(match node {
            Node::Char(x) => fold(*x) == fold(c),
            Node::Any => c != '\n',
            Node::Set(s) => {
                // inside of a set a backslash is plain in POSIX; doubling it keeps the matcher's escapes out of the way
                let hit = |c| super::pattern::bracket(s, Some(c)).is_some_and(|x| x.0);
                hit(c) || self.fold && (hit(c.to_ascii_lowercase()) || hit(c.to_ascii_uppercase()))
            }
            Node::Class(k) => {
                let yes = match k.to_ascii_lowercase() {
                    'w' => c.is_alphanumeric() || c == '_',
                    's' => c.is_whitespace(),
                    _ => c.is_ascii_digit(),
                };
                yes == k.is_ascii_lowercase()
            }
            _ => return None,
        })
    }

    fn node(&mut self, node: &Node, i: usize, depth: usize, next: Next<'_>) -> bool {
        if self.fuel == 0 || depth > 300 {
            return false;
        }
        self.fuel -= 1;
        let word = |k: usize| self.t.get(k).is_some_and(|c| c.is_alphanumeric() || *c == '_');
        match node {
            Node::Start => i == 0 && next(self, i),
            Node::End => i == self.t.len() && next(self, i),
            Node::Edge(want) => ((i > 0 && word(i - 1)) != word(i)) == *want && next(self, i),
            Node::Back(n) => match self.caps.get(*n).copied().flatten() {
                Some((a, b)) => {
                    let len = b - a;
                    i + len <= self.t.len() && self.t[a..b] == self.t[i..i + len] && next(self, i + len)
                }
                None => false,
            },
            Node::Group(n, alts) => {
                for alt in alts {
                    let old = self.caps.get(*n).copied().flatten();
                    if self.seq(alt, i, depth + 1, &mut |m, e| {
                        let before = m.caps[*n];
                        if *n > 0 {
                            m.caps[*n] = Some((i, e));
                        }
                        next(m, e) || {
                            m.caps[*n] = before;
                            false
                        }
                    }) {
                        return true;
                    }
                    if *n > 0 {
                        self.caps[*n] = old;
                    }
                }
                false
            }
            Node::Repeat(inner, lo, hi, lazy) => {
                if let Some(_known) = self.one(inner, 'x') {
                    let mut n = 0;
                    while n < *hi && self.t.get(i + n).is_some_and(|c| self.one(inner, *c) == Some(true)) {
                        n += 1;
                    }
                    if n < *lo {
                        return false;
                    }
                    if *lazy {
                        return (*lo..=n).any(|k| next(self, i + k));
                    }
                    return (*lo..=n).rev().any(|k| next(self, i + k));
                }
                self.many(inner, *lo, *hi, i, depth, next)
            }
            _ => self.t.get(i).is_some_and(|c| self.one(node, *c) == Some(true)) && next(self, i + 1),
        }
    }

    fn many(&mut self, inner: &Node, lo: usize, hi: usize, i: usize, depth: usize, next: Next<'_>) -> bool {
        if hi > 0
            && self.node(inner, i, depth + 1, &mut |m, e| {
                e > i && m.many(inner, lo.saturating_sub(1), if hi == usize::MAX { hi } else { hi - 1 }, e, depth + 2, next)
            })
        {
            return true;
        }
        lo == 0 && next(self, i)
    }
}
