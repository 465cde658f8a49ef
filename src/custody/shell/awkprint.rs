//! What the prints of an awk program put out.

use super::awktext::{Tok, Values};
use super::engine::UNK;

/// What one print puts out for one line.
pub(super) fn printed(body: &[Tok], formatted: bool, line: &[String], v: &Values) -> String {
    let one = Values { vars: v.vars.clone(), lines: vec![line.to_vec()], files: v.files.clone(), args: v.args.clone() };
    let parts: Vec<String> = if body.is_empty() {
        vec![line.first().cloned().unwrap_or_default()]
    } else {
        body.split(|t| *t == Tok::Op(",".into())).map(|p| one.text(p).into_iter().next().unwrap_or_default()).collect()
    };
    if formatted { super::echo::printf(&parts) } else { parts.join(" ") + "\n" }
}

/// Whether a place in a program belongs to a `BEGIN` or `END`, where there is no line.
pub(super) fn without_line(toks: &[Tok], at: usize) -> bool {
    let mut depth = 0i32;
    let mut head = 0;
    for (i, t) in toks[..at].iter().enumerate() {
        match t {
            Tok::Op(o) if o == "{" => {
                if depth == 0 {
                    head = i;
                }
                depth += 1;
            }
            Tok::Op(o) if o == "}" => depth -= 1,
            _ => {}
        }
    }
    depth > 0 && head > 0 && matches!(&toks[head - 1], Tok::Name(n) if n == "BEGIN" || n == "END")
}

/// What the prints of a program put out, for all lines alike: conditions are taken as true.
pub(super) fn awk_prints(toks: &[Tok], v: &Values) -> String {
    let mut out = String::new();
    let begin_only = toks.first() == Some(&Tok::Name("BEGIN".into()));
    let prints: Vec<usize> =
        toks.iter().enumerate().filter(|(_, t)| matches!(t, Tok::Name(n) if n == "print" || n == "printf")).map(|x| x.0).collect();
    if toks.iter().any(|t| matches!(t, Tok::Name(n) if matches!(n.as_str(), "for" | "while" | "sub" | "gsub" | "getline")))
        || prints.len() > 3
    {
        return UNK.to_string();
    }
    let unknown_line = [vec![UNK.to_string()]];
    let lines: &[Vec<String>] = if begin_only { &unknown_line } else { &v.lines };
    let line_test = match toks {
        [Tok::Name(n), Tok::Op(o), Tok::Num(k), rest @ ..]
            if n == "NR" && (rest.is_empty() || matches!(rest.first(), Some(Tok::Op(b)) if b == "{")) =>
        {
            k.parse::<usize>().ok().map(|k| (o.clone(), k))
        }
        _ => None,
    };
    for (n, l) in lines.iter().enumerate() {
        if let Some((op, k)) = &line_test {
            let n = n + 1;
            let hit = match op.as_str() {
                "==" => n == *k,
                "!=" => n != *k,
                ">" => n > *k,
                "<" => n < *k,
                ">=" => n >= *k,
                "<=" => n <= *k,
                _ => true,
            };
            if !hit {
                continue;
            }
        }
        if prints.is_empty() {
            // a pattern alone prints the line
            out.push_str(&l[0]);
            out.push('\n');
        }
        for p in &prints {
            let formatted = toks[*p] == Tok::Name("printf".into());
            let mut depth = 0;
            let end = (*p + 1..toks.len())
                .find(|k| match &toks[*k] {
                    Tok::End => true,
                    Tok::Op(o) if o == "(" => {
                        depth += 1;
                        false
                    }
                    Tok::Op(o) if o == ")" => {
                        depth -= 1;
                        false
                    }
                    Tok::Op(o) => depth == 0 && matches!(o.as_str(), "}" | ">" | ">>" | "|"),
                    _ => false,
                })
                .unwrap_or(toks.len());
            if matches!(toks.get(end), Some(Tok::Op(o)) if o != "}") {
                continue;
            }
            out.push_str(&printed(&toks[*p + 1..end], formatted, l, v));
        }
        if out.len() > 100_000 {
            break;
        }
    }
    out
}
