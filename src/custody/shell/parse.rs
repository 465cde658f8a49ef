//! From text to our syntax tree, by the parser crate. A panic in it counts as "does not parse".

use super::syntax::{Arm, Cmd, Redir, RedirOp, Test, Then, Word};
use super::words;
use rable::{ListOperator, Node, NodeKind};
use std::rc::Rc;

/// Longest script that is read, in bytes.
pub(crate) const MAX_SCRIPT: usize = 256 * 1024;
/// Deepest nesting that is handed to the parser, which recurses, and which reads what is nested in quotes
/// once more at each level.
const MAX_NESTING: usize = 24;

/// Parses a script.
///
/// # Errors
/// A few words on why it can't be read.
pub(crate) fn parse(text: &str) -> Result<Cmd, String> {
    if text.len() > MAX_SCRIPT {
        return Err("script too long".into());
    }
    if nesting(text) > MAX_NESTING {
        return Err("nested too deep".into());
    }
    let joined;
    let text = if text.contains("\r\n") {
        joined = text.replace("\r\n", "\n");
        &joined
    } else {
        text
    };
    match std::panic::catch_unwind(|| rable::parse(text, true)) {
        Ok(Ok(nodes)) if nodes.len() == 1 => Ok(Source(text).cmd(&nodes[0])),
        Ok(Ok(nodes)) => Ok(Cmd::Lines(nodes.iter().map(|node| Source(text).cmd(node)).collect())),
        Ok(Err(e)) => Err(format!("does not parse: {e}")),
        Err(_) => Err("does not parse".into()),
    }
}

/// What parsing a script costs, in units of work: the parser is quadratic in the pieces of a list or pipeline and in words,
/// and reads what is nested in parentheses once more at each level.
pub(crate) fn cost(text: &str) -> usize {
    let (mut pieces, mut words, mut depth, mut deepest) = (0_usize, 0_usize, 0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'|' | b'&' | b';' | b'`' => pieces += 1,
            b' ' => words += 1,
            b'(' => {
                pieces += 1;
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // a long script that does not parse is tried by its lines, and given up for each of them
    500 + text.len() * 4 + pieces * pieces + words * words / 64 + deepest.min(100).pow(3) * 150
}

/// An upper bound of how deep constructs can nest: opening characters and words, without looking at quotes.
fn nesting(text: &str) -> usize {
    let (mut depth, mut max) = (0usize, 0usize);
    let mut ticks = 0usize;
    for b in text.bytes() {
        match b {
            b'(' | b'{' | b'[' => {
                depth += 1;
                max = max.max(depth);
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b'`' | b'!' => ticks += 1,
            _ => {}
        }
    }
    let words = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|w| matches!(*w, "if" | "elif" | "while" | "until" | "for" | "case" | "select" | "coproc" | "time" | "function"))
        .count();
    max + words.saturating_sub(60) + ticks.saturating_sub(200)
}

fn word(node: &Node) -> Word {
    match &node.kind {
        NodeKind::Word { value, .. } | NodeKind::CondTerm { value, .. } => words::word(value),
        _ => Word::default(),
    }
}

fn words_of(nodes: &[Node]) -> Vec<Word> {
    nodes.iter().map(word).collect()
}

/// The text that a tree was made of.
struct Source<'t>(&'t str);

impl Source<'_> {
    /// The number right before an operator: the parser drops it where a descriptor is closed or moved (`3>&-`, `3>&4-`).
    fn number_before(&self, operator: usize) -> i32 {
        let before: Vec<char> = self.0.chars().take(operator).collect();
        let digits = before.iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let apart = before.len().checked_sub(digits + 1).is_none_or(|at| !before[at].is_alphanumeric() && before[at] != '&');
        let number: String = before[before.len() - digits..].iter().collect();
        number.parse().ok().filter(|_| apart).unwrap_or(-1)
    }

    fn list<'n>(&self, items: impl Iterator<Item = (&'n Node, Then)>) -> Cmd {
        let mut out = Vec::new();
        for (node, then) in items {
            match self.cmd(node) {
                Cmd::Empty => {}
                Cmd::List(inner) if then == Then::Next => out.extend(inner),
                c => out.push((c, then)),
            }
        }
        if out.len() == 1 && out[0].1 == Then::Next {
            return out.pop().map_or(Cmd::Empty, |x| x.0);
        }
        if out.is_empty() { Cmd::Empty } else { Cmd::List(out) }
    }

    fn boxed(&self, node: &Node) -> Box<Cmd> {
        Box::new(self.cmd(node))
    }

    fn with(&self, c: Cmd, redirects: &[Node]) -> Cmd {
        if redirects.is_empty() { c } else { Cmd::Redirected(Box::new(c), redirects.iter().filter_map(|r| self.redir(r)).collect()) }
    }

    fn cmd(&self, node: &Node) -> Cmd {
        match &node.kind {
            NodeKind::Command { assignments, words, redirects } => Cmd::Simple {
                assigns: words_of(assignments),
                words: words_of(words),
                redirs: redirects.iter().filter_map(|r| self.redir(r)).collect(),
            },
            NodeKind::Pipeline { commands, .. } => Cmd::Pipe(commands.iter().map(|c| self.cmd(c)).collect()),
            NodeKind::List { items } => self.list(items.iter().map(|i| {
                let then = match i.operator {
                    Some(ListOperator::And) => Then::And,
                    Some(ListOperator::Or) => Then::Or,
                    Some(ListOperator::Background) => Then::Behind,
                    Some(ListOperator::Semi) | None => Then::Next,
                };
                (&i.command, then)
            })),
            NodeKind::If { condition, then_body, else_body, redirects } => self.with(
                Cmd::If { cond: self.boxed(condition), then: self.boxed(then_body), other: else_body.as_deref().map(|c| self.boxed(c)) },
                redirects,
            ),
            NodeKind::While { condition, body, redirects } => {
                self.with(Cmd::While { cond: self.boxed(condition), body: self.boxed(body), until: false }, redirects)
            }
            NodeKind::Until { condition, body, redirects } => {
                self.with(Cmd::While { cond: self.boxed(condition), body: self.boxed(body), until: true }, redirects)
            }
            NodeKind::For { var, words, body, redirects } | NodeKind::Select { var, words, body, redirects } => self.with(
                Cmd::For {
                    var: var.clone(),
                    words: words.as_deref().map_or_else(|| vec![words::word("\"$@\"")], words_of),
                    body: self.boxed(body),
                    select: matches!(node.kind, NodeKind::Select { .. }),
                },
                redirects,
            ),
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.with(Cmd::ForArith { init: init.clone(), cond: cond.clone(), step: incr.clone(), body: self.boxed(body) }, redirects)
            }
            NodeKind::Case { word: w, patterns, redirects } => self.with(
                Cmd::Case {
                    word: word(w),
                    arms: patterns
                        .iter()
                        .map(|p| Arm {
                            patterns: words_of(&p.patterns),
                            body: p.body.as_ref().map(|c| self.cmd(c)),
                            falls: p.terminator == ";&",
                            tests_on: p.terminator == ";;&",
                        })
                        .collect(),
                },
                redirects,
            ),
            NodeKind::Function { name, body } => Cmd::Function { name: name.clone(), body: Rc::new(self.cmd(body)) },
            NodeKind::Subshell { body, redirects } => self.with(Cmd::Subshell(self.boxed(body)), redirects),
            NodeKind::BraceGroup { body, redirects } => self.with(self.cmd(body), redirects),
            NodeKind::Coproc { name, command } => {
                Cmd::Coproc { name: name.clone().unwrap_or_else(|| "COPROC".into()), body: self.boxed(command) }
            }
            NodeKind::ArithmeticCommand { raw_content, redirects, .. } => self.with(Cmd::Arith(raw_content.clone()), redirects),
            NodeKind::ConditionalExpr { body, redirects } => self.with(Cmd::Test(test(body)), redirects),
            NodeKind::Negation { pipeline } => Cmd::Not(self.boxed(pipeline)),
            NodeKind::Time { pipeline, .. } => self.cmd(pipeline),
            _ => Cmd::Empty,
        }
    }

    fn redir(&self, node: &Node) -> Option<Redir> {
        match &node.kind {
            NodeKind::Redirect { op, target, fd, varfd } => {
                let op = match op.as_str() {
                    "<" => RedirOp::In,
                    ">" => RedirOp::Out,
                    ">|" => RedirOp::Clobber,
                    ">>" => RedirOp::Append,
                    "<>" => RedirOp::Both,
                    "&>" => RedirOp::OutErr,
                    "&>>" => RedirOp::AppendErr,
                    ">&" => RedirOp::DupOut,
                    "<&" => RedirOp::DupIn,
                    ">&-" | "<&-" => RedirOp::Close,
                    "<<<" => RedirOp::HereString,
                    _ => return None,
                };
                let dropped = *fd < 0 && matches!(op, RedirOp::Close | RedirOp::DupIn | RedirOp::DupOut);
                let fd = if dropped { self.number_before(node.span.start) } else { *fd };
                Some(Redir { fd, var: varfd.clone(), op, target: word(target) })
            }
            NodeKind::HereDoc { content, quoted, fd, .. } => {
                let target = if *quoted {
                    Word { raw: content.clone(), ..Word::default() }
                } else {
                    Word { raw: content.clone(), parts: words::here_text(content), braces: false }
                };
                Some(Redir { fd: *fd, var: None, op: RedirOp::Here { expand: !*quoted }, target })
            }
            _ => None,
        }
    }
}

fn test(node: &Node) -> Test {
    match &node.kind {
        NodeKind::UnaryTest { op, operand } => Test::Unary(op.clone(), word(operand)),
        NodeKind::BinaryTest { op, left, right } => Test::Binary(op.clone(), word(left), word(right)),
        NodeKind::CondAnd { left, right } => Test::And(Box::new(test(left)), Box::new(test(right))),
        NodeKind::CondOr { left, right } => Test::Or(Box::new(test(left)), Box::new(test(right))),
        NodeKind::CondNot { operand } => Test::Not(Box::new(test(operand))),
        NodeKind::CondParen { inner } => test(inner),
        _ => Test::Word(word(node)),
    }
}
