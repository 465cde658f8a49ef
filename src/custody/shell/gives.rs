//! Calls that only give something: paths put together, directories listed, texts decoded, files read.

use super::columns::base64;
use super::found::Found;
use super::lex::Lang;
use super::picture::{self, join};
use super::scan::{Args, Host, Val};

impl Found<'_, '_> {
    /// A call that gives a path, a list or a text.
    pub(super) fn gives(&mut self, name: &str, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        match (last, self.lang) {
            ("Path" | "PurePath" | "PosixPath", Lang::Python) | ("Pathname", Lang::Ruby) | ("path", Lang::Perl) => {
                let mut v = if a.pos.is_empty() { Val::text(".") } else { arg(0).clone() };
                for p in a.pos.iter().skip(1) {
                    let mut out = Vec::new();
                    for x in v.texts() {
                        for y in p.texts() {
                            out.push(join(&x, &y));
                        }
                    }
                    v = Val { any: out, ..Val::default() };
                }
                v.from = "path".into();
                v.list = false;
                return Some(v);
            }
            ("new", Lang::Ruby) if name.ends_with("Pathname.new") => return Some(Val { from: "path".into(), ..arg(0).clone() }),
            ("joinpath" | "with_name" | "with_suffix", Lang::Python) => {
                let r = recv.cloned().unwrap_or_default();
                let mut out = Vec::new();
                for x in r.texts() {
                    for y in arg(0).texts() {
                        out.push(match last {
                            "joinpath" => join(&x, &y),
                            "with_name" => join(picture::split(&x).0, &y),
                            _ => format!("{}{y}", x.rsplit_once('.').map_or(x.as_str(), |s| s.0)),
                        });
                    }
                }
                return Some(Val { any: out, list: false, from: "path".into() });
            }
            ("iterdir" | "children" | "entries", _) => {
                let r = recv.cloned().unwrap_or_default();
                return Some(Val { from: "path".into(), ..self.list_dir(&r, true) });
            }
            ("glob" | "rglob", Lang::Python) if recv.is_some_and(|r| r.from == "path") => {
                let deep = if last == "rglob" { "/**/" } else { "/" };
                let r = recv.cloned().unwrap_or_default();
                let pats: Vec<String> =
                    r.texts().iter().flat_map(|d| arg(0).texts().iter().map(|p| format!("{d}{deep}{p}")).collect::<Vec<_>>()).collect();
                return Some(Val { from: "path".into(), ..self.glob(&Val::many(pats)) });
            }
            ("glob" | "iglob" | "globSync", _) => return Some(self.glob(arg(0))),
            ("scandir", Lang::Python) => return Some(self.list_dir(arg(0), true)),
            ("listdir" | "scandir" | "readdirSync" | "readdir" | "scandir_r", _) => return Some(self.list_dir(arg(0), false)),
            ("walk", Lang::Python) => return Some(self.walk(arg(0))),
            ("join", _) if name.ends_with("path.join") || name == "File.join" || name == "join" && self.lang == Lang::Node => {
                let mut v = arg(0).clone();
                for p in a.pos.iter().skip(1) {
                    let mut out = Vec::new();
                    for x in v.texts() {
                        for y in p.texts() {
                            if out.len() < 400 {
                                out.push(if self.lang == Lang::Python { join(&x, &y) } else { format!("{x}/{y}") });
                            }
                        }
                    }
                    v = Val { any: out, ..Val::default() };
                }
                v.list = false;
                return Some(v);
            }
            // `path.resolve(a, b)`: like `cd a; cd b`
            ("resolve", Lang::Node) if (name.contains("path") || recv.is_some_and(|r| r.from == "path")) && a.pos.len() > 1 => {
                let mut v = arg(0).clone();
                for p in a.pos.iter().skip(1) {
                    let pairs = v.texts().into_iter().take(20).flat_map(|x| p.texts().into_iter().take(20).map(move |y| join(&x, &y)));
                    v = Val { any: pairs.collect(), ..Val::default() };
                }
                return Some(v);
            }
            (
                "abspath" | "realpath" | "expanduser" | "normpath" | "resolve" | "normalize" | "str" | "String" | "list" | "sorted"
                | "fspath" | "expand_path" | "reversed" | "set" | "tuple" | "iter" | "Array.from",
                _,
            ) => return a.pos.last().cloned(),
            ("getcwd" | "cwd" | "pwd", _) => {
                let from = if name.contains("Path") { "path".to_owned() } else { String::new() };
                return Some(Val { from, ..Val::text(self.sh.cwd.clone()) });
            }
            ("dirname", _) => {
                return Some(Val { any: arg(0).any.iter().map(|p| picture::split(p).0.to_owned()).collect(), ..Val::default() });
            }
            ("basename", _) => {
                return Some(Val { any: arg(0).any.iter().map(|p| picture::split(p).1.to_owned()).collect(), ..Val::default() });
            }
            ("getenv" | "get", _) if last == "getenv" || name.ends_with("environ.get") || name == "ENV.fetch" => {
                let k = arg(0).any.first().cloned().unwrap_or_default();
                let sh = self.sh.clone();
                let v = self.e.var(&sh, &k);
                return Some(v.map_or_else(|| a.pos.get(1).cloned().unwrap_or_default(), Val::text));
            }
            ("chr", _) => {
                return arg(0).any.first().and_then(|n| n.parse().ok()).and_then(char::from_u32).map(|c| Val::text(c.to_string()));
            }
            ("b64decode" | "decode64" | "base64_decode" | "decode_base64" | "atob" | "standard_b64decode" | "strict_decode64", _) => {
                return arg(0).any.first().and_then(|t| base64(t)).map(|b| Val::text(String::from_utf8_lossy(&b)));
            }
            ("from", Lang::Node) if name.ends_with("Buffer.from") => {
                let t = arg(0).any.first().cloned()?;
                return match arg(1).any.first().map(String::as_str) {
                    Some("base64") => base64(&t).map(|b| Val::text(String::from_utf8_lossy(&b))),
                    _ => Some(Val::text(t)),
                };
            }
            _ => {}
        }
        None
    }

    /// A call that reads a file, or what an opened one holds.
    pub(super) fn reads(&mut self, last: &str, recv: Option<&Val>, a: &Args) -> Option<Val> {
        let empty = Val::default();
        let arg = |n: usize| a.pos.get(n).unwrap_or(&empty);
        if matches!(
            last,
            "read"
                | "readlines"
                | "read_text"
                | "readFileSync"
                | "readFile"
                | "readlink"
                | "slurp"
                | "slurp_utf8"
                | "file_get_contents"
                | "lines"
                | "foreach"
                | "readline"
                | "getlines"
        ) {
            if recv.is_some_and(|r| r.from == "open") {
                let r = recv.cloned().unwrap_or_default();
                return Some(if last == "readlines" {
                    Val::many(r.any.iter().flat_map(|t| t.lines().map(str::to_owned)).collect())
                } else {
                    Val { any: r.any, ..Val::default() }
                });
            }
            let p = if a.pos.is_empty() { recv.cloned().unwrap_or_default() } else { arg(0).clone() };
            if p.any.first().is_some_and(|x| x == "0" || x == "/dev/stdin") {
                return self.name("STDIN");
            }
            let v = self.open(&p, None, false);
            return Some(if matches!(last, "readlines" | "lines" | "foreach") {
                Val::many(v.any.iter().flat_map(|t| t.lines().map(str::to_owned)).collect())
            } else {
                Val { any: v.any, ..Val::default() }
            });
        }
        None
    }
}
