//! `sqlite3`: its own commands, and statements that write.

use super::engine::{Engine, UNK};
use super::options::Call;
use super::state::Shell;

/// The shell command in place of a file: `|COMMAND`, in quotes or not.
fn piped(rest: &str) -> Option<String> {
    let rest = rest.trim();
    match rest.chars().next()? {
        '|' => Some(rest[1..].to_owned()),
        quote @ ('"' | '\'') => Some(rest[1..].strip_prefix('|')?.split(quote).next()?.to_owned()),
        _ => rest.split_ascii_whitespace().find_map(|word| word.strip_prefix('|')).map(str::to_owned),
    }
}

impl Engine<'_> {
    /// Functions and statements of SQL that write other files than the database.
    pub(super) fn sql_files(&mut self, sh: &mut Shell, text: &str) {
        let low = text.to_ascii_lowercase();
        for word in ["writefile", "vacuum into", "into outfile", "into dumpfile", "edit("] {
            for (at, _) in low.match_indices(word) {
                match text[at..].split('\'').nth(1).filter(|_| word != "edit(") {
                    Some(file) => self.effect(sh, 'W', file, false),
                    None => self.unknown("a file that a query writes", word),
                }
            }
        }
    }

    pub(crate) fn sqlite(&mut self, sh: &mut Shell, c: &Call) {
        let memory = ":memory:".to_owned();
        let db = c.args.first().unwrap_or(&memory);
        // options with a text, and a script, come before what follows the name
        let mut lines: Vec<String> = c.values(&["-cmd"]).into_iter().map(str::to_owned).collect();
        if let Some(script) = c.value(&["-init"]) {
            let text = self.content(sh, script);
            lines.extend(text.lines().map(str::to_owned));
        }
        if c.args.len() < 2 {
            let input = self.take(sh, 0);
            lines.extend(input.lines().map(str::to_owned));
        } else {
            lines.extend(c.args[1..].iter().flat_map(|arg| arg.lines()).map(str::to_owned));
        }
        let mut text = lines.join("\n");
        let mut i = 0;
        while i < lines.len() && i < 2_000 {
            let dot = lines[i].trim().to_owned();
            i += 1;
            let Some((word, rest)) = dot.strip_prefix('.').map(|dot| dot.split_once(' ').unwrap_or((dot, ""))) else { continue };
            // a command may be cut short where that says enough
            let is = |name: &str, least: usize| word.len() >= least && name.starts_with(word);
            let last = rest.split_ascii_whitespace().next_back().unwrap_or("").trim_matches(['"', '\'']).to_owned();
            if ["output", "once", "backup", "save", "clone", "log", "excel", "trace", "testcase"].iter().any(|name| is(name, 2)) {
                match piped(rest).as_deref() {
                    Some(program) => self.effect(sh, 'Y', program, false),
                    None if matches!(last.as_str(), "" | "off" | "on" | "stdout" | "stderr") => {}
                    None => self.effect(sh, 'W', &last, false),
                }
            } else if is("shell", 2) || is("system", 2) {
                self.effect(sh, 'Y', rest, false);
            } else if let Some(program) = piped(rest).filter(|_| is("read", 3) || is("import", 3)) {
                self.effect(sh, 'Y', &program, false);
            } else if is("open", 2) {
                self.effect(sh, 'W', last.strip_prefix("file:").unwrap_or(&last).split('?').next().unwrap_or(""), false);
            } else if is("read", 3) {
                let script = self.content(sh, &last);
                text.push_str(&script);
                lines.extend(script.lines().map(str::to_owned));
            } else if is("load", 2) {
                self.unknown("a library that can do anything", &last);
            } else if is("cd", 2) {
                self.unknown("where a program goes on in its own words", &dot);
            }
        }
        self.sql_files(sh, &text);
        let low = text.to_lowercase();
        let changes = [
            "create",
            "insert",
            "update",
            "delete",
            "drop",
            "alter",
            "replace",
            "vacuum",
            "reindex",
            "pragma journal",
            "pragma user_version",
            ".import",
            ".restore",
            "begin",
        ]
        .iter()
        .any(|w| low.contains(w));
        if c.has(&["-readonly"]) || db == ":memory:" || db.contains("mode=ro") {
        } else if changes || text.contains(UNK) || !self.exists(sh, db.strip_prefix("file:").unwrap_or(db).split('?').next().unwrap_or(db))
        {
            let path = db.strip_prefix("file:").unwrap_or(db).split('?').next().unwrap_or(db).to_owned();
            self.effect(sh, 'W', &path, false);
        }
        if let Some(i) = low.find("attach")
            && let Some(q) = text[i..].split(['\'', '"']).nth(1)
        {
            let q = q.to_owned();
            self.effect(sh, 'W', &q, false);
        }
        if let Some(i) = low.find("vacuum into").or_else(|| low.find("writefile("))
            && let Some(q) = text[i..].split(['\'', '"']).nth(1)
        {
            let q = q.to_owned();
            self.effect(sh, 'W', &q, false);
        }
        self.put(sh, 1, &UNK.to_string());
    }
}
