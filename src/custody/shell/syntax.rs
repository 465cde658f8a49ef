//! Our own small syntax tree of a shell script. The parser crate's types stop at `parse`; everything else knows only these.

use std::rc::Rc;

/// A word as written, and what it is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    /// The text as written, quotes and all.
    pub(crate) raw: String,
    /// What it is made of; braces are expanded on `raw` first, so a word that has some is taken apart again.
    pub(crate) parts: Vec<Part>,
    /// It may hold a brace expansion.
    pub(crate) braces: bool,
}

/// A piece of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Plain text without quotes: patterns are alive in it.
    Plain(String),
    /// Text that quotes or a backslash made literal.
    Quoted(String),
    /// Double quotes: expansions without splitting.
    Double(Vec<Part>),
    /// A parameter.
    Param(Box<Param>),
    /// `$(…)` or backquotes, the text of the inner script.
    Command(String),
    /// `$((…))`.
    Arith(String),
    /// `<(…)`, or `>(…)` where `out`.
    Process { out: bool, script: String },
}

/// A parameter expansion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Param {
    /// Name, digit or special character.
    pub(crate) name: String,
    /// What stands in `[…]`.
    pub(crate) index: Option<String>,
    /// `${#x}`.
    pub(crate) length: bool,
    /// `${!x}`.
    pub(crate) indirect: bool,
    /// The operator, empty for none.
    pub(crate) op: String,
    /// What stands after the operator, as written.
    pub(crate) arg: String,
}

/// A redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redir {
    /// The file descriptor in front, -1 where none is written.
    pub(crate) fd: i32,
    /// `{name}` in front.
    pub(crate) var: Option<String>,
    /// What is done.
    pub(crate) op: RedirOp,
    /// Its target; for a here-document, its text.
    pub(crate) target: Word,
}

/// The kinds of redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirOp {
    /// `<`
    In,
    /// `>`
    Out,
    /// `>|`
    Clobber,
    /// `>>`
    Append,
    /// `<>`
    Both,
    /// `&>`
    OutErr,
    /// `&>>`
    AppendErr,
    /// `>&`
    DupOut,
    /// `<&`
    DupIn,
    /// `>&-`, `<&-`
    Close,
    /// A here-document; its text is expanded unless the delimiter was quoted.
    Here { expand: bool },
    /// `<<<`
    HereString,
}

/// How a command is tied to the next one in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// `;` or a newline or the end.
    Next,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `&`
    Behind,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) enum Cmd {
    /// Assignments, words, redirections.
    Simple { assigns: Vec<Word>, words: Vec<Word>, redirs: Vec<Redir> },
    /// `a | b`
    Pipe(Vec<Cmd>),
    /// Commands on lines of their own at the top: an alias defined on one is known on the next.
    Lines(Vec<Cmd>),
    /// `a; b && c`
    List(Vec<(Cmd, Then)>),
    /// `if`
    If { cond: Box<Cmd>, then: Box<Cmd>, other: Option<Box<Cmd>> },
    /// `while` or `until`
    While { cond: Box<Cmd>, body: Box<Cmd>, until: bool },
    /// `for x in …` or `select x in …`
    For { var: String, words: Vec<Word>, body: Box<Cmd>, select: bool },
    /// `for ((a;b;c))`
    ForArith { init: String, cond: String, step: String, body: Box<Cmd> },
    /// `case`
    Case { word: Word, arms: Vec<Arm> },
    /// A function definition.
    Function { name: String, body: Rc<Cmd> },
    /// `( … )`
    Subshell(Box<Cmd>),
    /// `coproc`
    Coproc { name: String, body: Box<Cmd> },
    /// `(( … ))`
    Arith(String),
    /// `[[ … ]]`
    Test(Test),
    /// `! …`
    Not(Box<Cmd>),
    /// A compound command with redirections.
    Redirected(Box<Cmd>, Vec<Redir>),
    /// Nothing.
    Empty,
}

/// One arm of a `case`.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// Its patterns.
    pub(crate) patterns: Vec<Word>,
    /// What it does.
    pub(crate) body: Option<Cmd>,
    /// `;&` goes on into the next arm, `;;&` goes on testing.
    pub(crate) falls: bool,
    /// `;;&`
    pub(crate) tests_on: bool,
}

/// A conditional expression.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// `-f x`
    Unary(String, Word),
    /// `a == b`
    Binary(String, Word, Word),
    /// `a && b`
    And(Box<Test>, Box<Test>),
    /// `a || b`
    Or(Box<Test>, Box<Test>),
    /// `! a`
    Not(Box<Test>),
    /// a bare word: true if it is not empty
    Word(Word),
}
