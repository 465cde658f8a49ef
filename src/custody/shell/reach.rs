//! Calls that don't name what they call: functions as values, names that are put together, methods by their name. Where the
//! name can be had it is called; where not, it can't be known what is.

use super::found::Found;
use super::lex::{Lang, Tok};
use super::scan::{Args, Host, Val};

/// Functions whose being handed around is as good as their being called: the ends of dotted names.
const WRITERS: &[&str] = &[
    "remove",
    "unlink",
    "rmdir",
    "removedirs",
    "rmtree",
    "rename",
    "renames",
    "replace",
    "move",
    "makedirs",
    "mkdir",
    "symlink",
    "link",
    "chmod",
    "chown",
    "utime",
    "truncate",
    "copy",
    "copy2",
    "copyfile",
    "copytree",
    "system",
    "popen",
    "run",
    "call",
    "Popen",
    "check_call",
    "check_output",
    "open",
];

/// Modules of Python that these belong to.
const MODULES: &[&str] = &["os", "shutil", "subprocess", "io", "codecs", "builtins", "pathlib"];

impl Found<'_, '_> {
    /// A call through another one: the function that is meant is called with what is meant for it.
    pub(super) fn indirect(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let from = |v: Option<&Val>| v.and_then(Val::function).map(str::to_owned);
        let rest = |n: usize| Args { pos: a.pos.iter().skip(n).cloned().collect(), named: a.named.clone(), raw: a.raw.clone() };
        let listed = |v: Option<&Val>| {
            let pos = v.map(|v| v.any.iter().map(|text| Val::text(text.clone())).collect()).unwrap_or_default();
            Args { pos, named: Vec::new(), raw: a.raw.clone() }
        };
        match (last, self.lang()) {
            ("getattr", Lang::Python) if name == "getattr" => match (from(a.pos.first()), a.pos.get(1).and_then(|key| key.any.first())) {
                (Some(object), Some(key)) => Some(Val { from: format!("{object}.{key}"), ..Val::default() }),
                (None, Some(_)) => Some(Val { from: "fn:".into(), ..Val::default() }),
                _ => {
                    self.reached();
                    Some(Val::default())
                }
            },
            ("__import__" | "import_module", Lang::Python) => match a.pos.first().and_then(|module| module.any.first()) {
                Some(module) => {
                    let module = module.clone();
                    self.load(&module);
                    Some(Val { from: module, ..Val::default() })
                }
                None => {
                    self.reached();
                    Some(Val::default())
                }
            },
            ("apply", Lang::Node) if name == "Reflect.apply" => self.call(&from(a.pos.first())?, None, &listed(a.pos.get(2))),
            ("call" | "bind", Lang::Node) => {
                let target = name.strip_suffix(&format!(".{last}"))?.to_owned();
                self.call(&target, None, &rest(1));
                Some(Val { from: target, ..Val::default() })
            }
            ("apply", Lang::Node) => {
                let target = name.strip_suffix(".apply")?.to_owned();
                self.call(&target, None, &listed(a.pos.get(1)))
            }
            ("method" | "public_method" | "instance_method", Lang::Ruby) => {
                let object = name.rsplit_once('.').map_or("", |dotted| dotted.0);
                let (_, method) = symbol(a)?;
                Some(Val { from: if object.is_empty() { method } else { format!("{object}.{method}") }, ..Val::default() })
            }
            ("send" | "public_send" | "__send__", Lang::Ruby) => {
                let object = name.rsplit_once('.').map_or("", |dotted| dotted.0).to_owned();
                let Some((at, method)) = symbol(a) else {
                    self.reached();
                    return Some(Val::default());
                };
                let target = if object.is_empty() { method } else { format!("{object}.{method}") };
                self.call(&target, recv, &rest(at + 1))
            }
            ("const_get", Lang::Ruby) => {
                self.reached();
                Some(Val::default())
            }
            ("call", Lang::Ruby) if from(recv).is_some() => self.call(&from(recv)?, None, a),
            _ => None,
        }
    }

    /// A function that is handed to another one, which nothing is known about, is called with the rest: `map(os.remove, list)`,
    /// `list.forEach(fs.unlinkSync)`.
    pub(super) fn handed_on(&mut self, recv: Option<&Val>, a: &Args) {
        for (i, v) in a.pos.iter().enumerate() {
            let Some(name) =
                v.function().filter(|name| WRITERS.contains(&name.rsplit('.').next().unwrap_or(name)) || name.ends_with("Sync"))
            else {
                continue;
            };
            let mut pos: Vec<Val> =
                a.pos.iter().enumerate().filter(|(k, v)| *k != i && !v.any.is_empty()).map(|(_, v)| v.clone()).collect();
            if pos.is_empty() {
                pos.extend(recv.filter(|recv| !recv.any.is_empty()).cloned());
            }
            let args = Args { pos, ..Args::default() };
            self.call(name, None, &args);
        }
    }
}

/// The method that a symbol or a text names, with the place of that argument.
fn symbol(a: &Args) -> Option<(usize, String)> {
    a.pos.iter().enumerate().find_map(|(i, v)| match (v.any.first(), v.from.strip_prefix("fn:")) {
        (Some(text), _) => Some((i, text.clone())),
        (None, Some(name)) => Some((i, name.to_owned())),
        _ => None,
    })
}

/// Something in a program by which a function is reached that can't be followed: a function as a value that is kept, a table of
/// names. None where there is nothing of the kind.
pub(super) fn unnamed(text: &str, t: &[Tok], lang: Lang) -> Option<String> {
    let op = |k: usize, o: &str| matches!(t.get(k), Some(Tok::Op(x)) if x == o);
    let name = |k: usize| if let Some(Tok::Name(n)) = t.get(k) { Some(n.as_str()) } else { None };
    match lang {
        Lang::Perl => {
            let signs = ["exec {", "exec{", "system {", "system{", "$^I", "&{", "->$", "*{", "\\&CORE"];
            return signs.iter().find(|sign| text.contains(**sign)).map(|sign| (*sign).to_owned()).or_else(|| {
                // `&$f(…)`, but no `&&$x`
                let at = text.find("&$")?;
                (!text[..at].ends_with('&')).then(|| "&$".to_owned())
            });
        }
        Lang::Python | Lang::Node => {}
        Lang::Ruby | Lang::Php => return None,
    }
    let mut importing = false;
    for k in 0..t.len() {
        match &t[k] {
            Tok::Line => importing = false,
            Tok::Op(o) if o == ";" => importing = false,
            Tok::Name(n) if matches!(n.as_str(), "import" | "from" | "def" | "class") => importing = lang == Lang::Python,
            Tok::Name(n) if !importing => {
                if lang == Lang::Python && matches!(n.as_str(), "globals" | "__builtins__" | "ctypes" | "cffi") {
                    return Some(n.clone());
                }
                if op(k + 1, "(") || op(k + 1, ".") || op(k + 1, "=") || op(k + 1, ":") && lang == Lang::Node {
                    continue;
                }
                let dotted = k > 1 && op(k - 1, ".");
                let value = match lang {
                    Lang::Python if dotted => name(k - 2).is_some_and(|m| MODULES.contains(&m)) && WRITERS.contains(&n.as_str()),
                    Lang::Python => matches!(n.as_str(), "open" | "exec" | "eval"),
                    _ => dotted && n.ends_with("Sync") && !n.starts_with("read") && !n.starts_with("exists"),
                };
                if !value {
                    continue;
                }
                // `f = os.remove`, alone, is another name, and `map(os.remove, …)` hands it on; both are followed
                let head = if dotted { k - 2 } else { k };
                let named = head > 0 && op(head - 1, "=") && matches!(t.get(k + 1), None | Some(Tok::Line)) || op(k + 1, ";");
                let handed = head > 1 && (op(head - 1, "(") || op(head - 1, ",")) && name(head - 2).is_some_and(|n| n != "in");
                if !named && !handed {
                    return Some(n.clone());
                }
            }
            _ => {}
        }
    }
    None
}
