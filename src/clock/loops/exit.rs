//! When a loop is done: an expression in CEL over the state that its hooks have left.
//!
//! It is asked at the end of a turn, by a program that a harness waits for, over a state that an agent wrote. So it is
//! bounded before it is asked: by its length and its nesting when the file is read; by what it could cost
//! over this very state when it is evaluated. Functions that make something out of nothing are not there.

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr};
use cel::objects::Map as CelMap;
use cel::parser::{Expression, PrattParser};
use cel::{Context, Env, Value as CelValue};
use serde_json::{Map, Value};

/// The longest expression, in bytes.
pub const MAX_BYTES: usize = 2_000;
/// How deep brackets and calls may nest.
const MAX_DEPTH: u16 = 32;
/// The most parts of an expression.
const MAX_PARTS: u64 = 500;
/// How many parts may be gone through in all.
const MAX_STEPS: u64 = 200_000;
/// How many bytes may be looked at in all.
const MAX_LOOKED: u64 = 1 << 30;
/// How many bytes may be put together in all.
const MAX_MADE: u64 = 32 << 20;
/// What a regular expression counts as: it is compiled each time.
const REGEX_STEPS: u64 = 10_000;
/// How often each byte is looked at by one, at most, as it is counted.
const REGEX_LOOKS: u64 = 64;
/// The stack that it is evaluated on: that of the program may be small, and a chain of operators nests.
const STACK: usize = 16 << 20;

/// The functions and operators that there are.
const KNOWN: [&str; 33] = [
    "_?_:_",
    "_&&_",
    "_||_",
    "!_",
    "_-_",
    "_+_",
    "_*_",
    "_/_",
    "_%_",
    "_==_",
    "_!=_",
    "_>=_",
    "_<=_",
    "_>_",
    "_<_",
    "-_",
    "_[_]",
    "@in",
    "@not_strictly_false",
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "bytes",
    "type",
    "dyn",
    "has",
];

/// What an expression is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    parts: u64,
    /// How many times the deepest part is gone through, as a power of the longest list.
    loops: u32,
    regexes: u64,
    /// Whether something is put together.
    makes: bool,
    /// The longest list that is written out.
    written: u64,
}

/// Says what is wrong with an expression, if anything is.
///
/// # Errors
/// Where it can't be read, or asks for what there is not.
pub fn check(text: &str) -> Result<(), String> {
    on_a_stack(|| read(text).map(|_| ()))
}

/// Whether it holds. `round` is there as `state.round` where no hook has set that.
///
/// # Errors
/// Why it can't be said: it raises, is no truth value, or could cost too much over this state.
pub fn holds(text: &str, state: &Map<String, Value>, round: u32) -> Result<bool, String> {
    on_a_stack(|| {
        let (expression, shape) = read(text)?;
        affordable(shape, state)?;
        let env = Env::default().with_optional_support(false).with_stdlib();
        let mut context = Context::with_env(Arc::new(env));
        let mut map = entries(state);
        map.entry("round".to_owned().into()).or_insert(CelValue::Int(i64::from(round)));
        context.add_variable_from_value("state", CelValue::Map(CelMap { map: Arc::new(map) }));
        match CelValue::resolve(&expression, &context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(_) => Err("it is neither true nor false".to_owned()),
            Err(error) => Err(short(&error.to_string())),
        }
    })
}

/// What is evaluated ends here, whatever it does: a panic is an error like any other.
fn on_a_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("it can't be evaluated: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("it can't be evaluated".to_owned()))
    })
}

fn read(text: &str) -> Result<(Expression, Shape), String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > usize::from(MAX_DEPTH) {
            return Err(format!("its brackets nest more than {MAX_DEPTH} deep"));
        }
    }
    let parser = PrattParser::new().max_recursion_depth(MAX_DEPTH).error_recovery_limit(1).error_reporting_limit(1);
    let expression = parser.parse(text).map_err(|error| short(&error.to_string()))?;
    let mut shape = Shape::default();
    measure(&expression, 0, &mut shape)?;
    if shape.parts > MAX_PARTS {
        return Err(format!("it has more than {MAX_PARTS} parts"));
    }
    Ok((expression, shape))
}

fn short(text: &str) -> String {
    // An error may quote a whole state.
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(200).collect()
}

fn measure(expression: &Expression, loops: u32, shape: &mut Shape) -> Result<(), String> {
    shape.parts += 1;
    shape.loops = shape.loops.max(loops);
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => Ok(()),
        Expr::Ident(_) => Ok(()),
        Expr::Select(select) => measure(&select.operand, loops, shape),
        Expr::Call(call) => {
            if !KNOWN.contains(&call.func_name.as_str()) {
                return Err(format!("there is no `{}`", short(&call.func_name)));
            }
            shape.makes |= call.func_name == "_+_" && loops > 0;
            shape.regexes += u64::from(call.func_name == "matches");
            call.target.iter().map(AsRef::as_ref).chain(&call.args).try_for_each(|part| measure(part, loops, shape))
        }
        Expr::List(list) => {
            shape.written = shape.written.max(list.elements.len() as u64);
            shape.makes |= loops > 0;
            list.elements.iter().try_for_each(|part| measure(part, loops, shape))
        }
        Expr::Map(map) => {
            shape.written = shape.written.max(map.entries.len() as u64);
            shape.makes |= loops > 0;
            map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    measure(&entry.key, loops, shape)?;
                    measure(&entry.value, loops, shape)
                }
                EntryExpr::StructField(field) => measure(&field.value, loops, shape),
            })
        }
        Expr::Struct(_) => Err("there are no messages here".to_owned()),
        Expr::Comprehension(comprehension) => {
            measure(&comprehension.iter_range, loops, shape)?;
            measure(&comprehension.accu_init, loops, shape)?;
            for part in [&comprehension.loop_cond, &comprehension.loop_step] {
                measure(part, loops + 1, shape)?;
            }
            measure(&comprehension.result, loops, shape)
        }
    }
}

/// Whether an expression of this shape over this state ends soon and stays small, whatever it is.
fn affordable(shape: Shape, state: &Map<String, Value>) -> Result<(), String> {
    let (longest, bytes) = extent(state);
    let longest = longest.max(shape.written).max(1);
    // What a macro makes of a list can be gone through by the next one, so a list may be as long as all parts together.
    let times = longest.saturating_pow(shape.loops);
    let steps = shape.parts.saturating_add(shape.regexes.saturating_mul(REGEX_STEPS)).saturating_mul(times);
    let looked = shape.parts.saturating_add(shape.regexes.saturating_mul(REGEX_LOOKS)).saturating_mul(times).saturating_mul(bytes.max(64));
    let made = times.saturating_mul(shape.parts).saturating_mul(bytes.max(64));
    if steps > MAX_STEPS || looked > MAX_LOOKED || (shape.makes && made > MAX_MADE) {
        return Err(format!("it could cost too much over a state of {bytes} bytes with lists of up to {longest}"));
    }
    Ok(())
}

/// The longest list or text, and how many bytes all of it has.
fn extent(state: &Map<String, Value>) -> (u64, u64) {
    fn of(value: &Value, longest: &mut u64, bytes: &mut u64) {
        *bytes += 16;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *bytes += text.len() as u64,
            Value::Array(items) => {
                *longest = (*longest).max(items.len() as u64);
                items.iter().for_each(|item| of(item, longest, bytes));
            }
            Value::Object(fields) => {
                *longest = (*longest).max(fields.len() as u64);
                for (key, value) in fields {
                    *bytes += key.len() as u64;
                    of(value, longest, bytes);
                }
            }
        }
    }
    let (mut longest, mut bytes) = (state.len() as u64, 0);
    for (key, value) in state {
        bytes += key.len() as u64;
        of(value, &mut longest, &mut bytes);
    }
    (longest + 1, bytes)
}

fn entries(object: &Map<String, Value>) -> HashMap<cel::objects::Key, CelValue> {
    object.iter().map(|(key, value)| (key.clone().into(), given(value))).collect()
}

/// A whole number is an `int`, so that `state.round + 1` is one too.
fn given(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => CelValue::Int(number),
            (None, Some(number)) => CelValue::UInt(number),
            (None, None) => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => CelValue::List(Arc::new(items.iter().map(given).collect())),
        Value::Object(fields) => CelValue::Map(CelMap { map: Arc::new(entries(fields)) }),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a bound on time is measured")]

    use std::time::Instant;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn asked(text: &str, state: Value) -> Result<bool, String> {
        holds(text, state.as_object().unwrap(), 3)
    }

    #[test]
    fn a_predicate_over_the_state() {
        let state = json!({ "tests_pass": true, "failed": ["a", "b"], "n": 4, "part": { "done": 0.5 }, "who": "bob", "none": null });
        for (text, wanted) in [
            ("state.tests_pass && state.round >= 2", true),
            ("state.round == 3", true),
            ("size(state.failed) == 0", false),
            ("state.failed.size() == 2 && 'a' in state.failed", true),
            ("state.failed.all(x, x != 'c')", true),
            ("state.failed.exists(x, x == 'b')", true),
            ("state.failed.filter(x, x == 'a').size() == 1", true),
            ("has(state.nothing) && state.nothing", false),
            ("!has(state.nothing) || state.nothing", true),
            ("state.n + 1 == 5 && state.n % 2 == 0", true),
            ("state.part.done > 0.4", true),
            ("state.who.startsWith('b') && state.who.matches('^b.b$')", true),
            ("state['n'] > 3 ? true : false", true),
            ("state.none == null", true),
            ("false", false),
        ] {
            assert_eq!(asked(text, state.clone()), Ok(wanted), "{text}");
        }
        assert_eq!(asked("state.round == 9", json!({ "round": 9 })), Ok(true), "what a hook says counts");
    }

    #[test]
    fn what_raises_says_why() {
        for (text, word) in [
            ("state.nothing", "nothing"),
            ("state.n > 1", "n"),
            ("1 / 0 == 1", "zero"),
            ("state.who + 1 == 2", "operator"),
            ("'x'", "neither"),
            ("9223372036854775807 + 1 > 0", "verflow"),
            ("other.x", "other"),
        ] {
            let said = asked(text, json!({ "who": "bob" })).unwrap_err();
            assert!(said.contains(word) && said.len() <= 800, "{text}: {said}");
        }
    }

    #[test]
    fn what_can_not_be_is_refused_when_it_is_read() {
        for text in ["", "state.", "state.a &&", "(true", "loop()", "state.x.split(',')", "lists.range(1000000000)", "Msg{a: 1}"] {
            assert!(check(text).is_err(), "{text}");
        }
        assert!(check(&format!("{}true{}", "(".repeat(500), ")".repeat(500))).is_err());
        assert!(check(&"!".repeat(1_999)).is_err());
        assert!(check(&vec!["true"; 400].join("&&")).is_err());
        assert!(check("state.tests_pass && state.round >= 2").is_ok());
    }

    /// The worst that is let through ends within a second; what would not is told from its shape.
    #[test]
    fn nothing_hangs_and_nothing_grows() {
        let long = json!({ "l": (0..5_000).collect::<Vec<_>>(), "t": "a".repeat(200_000) });
        let list = json!({ "l": (0..60).collect::<Vec<_>>(), "t": "a".repeat(400) });
        for (text, state, is_let) in [
            ("state.l.all(x, state.l.all(y, x >= y || y >= x))", &list, true),
            ("state.l.all(x, state.l.all(y, state.l.all(z, true)))", &list, false),
            ("state.l.all(x, state.l.all(y, true))", &long, false),
            ("state.l.map(x, state.t).size() > 0", &long, false),
            ("state.l.map(x, state.t + state.t + state.t).size() > 0", &long, false),
            ("state.l.exists(x, state.t.matches('(a+)+b'))", &list, false),
            ("state.t.matches('(a+)+b')", &long, true),
            ("state.t.matches('((((a{90}){90}){90}){90})')", &long, true),
            ("state.t.contains('ab') || size(state.l) > 3", &long, true),
            ("state.l.filter(x, x > 3).size() > 3", &list, true),
        ] {
            let begun = Instant::now();
            let said = asked(text, state.clone());
            let let_through = !matches!(&said, Err(why) if why.contains("cost"));
            assert_eq!(let_through, is_let, "{text}: {said:?}");
            assert!(begun.elapsed().as_secs() < 20, "{text}: {:?}", begun.elapsed());
        }
        // A chain nests as deep as it is long: the deepest that is let through.
        for chain in
            [vec!["true"; 160].join("&&"), vec!["1"; 200].join("+") + ">0", format!("{}true", "!".repeat(30)), vec!["state"; 200].join(".")]
        {
            let _ = asked(&chain, json!({}));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = asked(&text, json!({ "a": 1 }));
        }

        #[test]
        fn anything_near_an_expression(text in "(state|state\\.a|state\\[|'x'|1|-|!|\\(|\\)|\\[|\\]|\\.all\\(x, |\\.map\\(x, |&&|\\|\\||\\+|\\?|:|,|has\\(|size\\(){0,24}") {
            let _ = asked(&text, json!({ "a": [1, 2, 3] }));
        }
    }
}
