//! The words of git that mean something else than they say: revisions that are searched for, and lists of paths in a file.

use super::engine::{Engine, UNK};
use super::gitask::Repo;
use super::gitwords::TAKE_REVISIONS;
use super::options::Call;
use super::state::Shell;

impl Engine<'_> {
    /// The call with the commits in place of revisions that only git can find: the newest commit with a text, and where two
    /// lines part.
    pub(super) fn git_revisions(&mut self, r: &Repo, verb: &str, c: Call, rest: &[String]) -> Call {
        let searched = |word: &str| word.len() > 2 && word.starts_with(":/") || word.contains("...");
        let any = c.args.iter().any(|word| searched(word)) || c.opts.iter().any(|(_, v)| v.as_deref().is_some_and(searched));
        if !any || !TAKE_REVISIONS.contains(&verb) {
            return c;
        }
        let mut c = c;
        let paths = rest.iter().position(|word| word == "--").map_or(0, |at| rest.len() - at - 1);
        let revisions = c.args.len().saturating_sub(paths);
        // a range of commits is no commit where commits are listed
        let parted = matches!(verb, "checkout" | "switch" | "rebase" | "restore" | "read-tree" | "worktree");
        let values =
            c.opts.iter_mut().filter(|(name, _)| matches!(name.as_str(), "-s" | "--source" | "--onto")).filter_map(|(_, v)| v.as_mut());
        for word in c.args.iter_mut().take(revisions).chain(values) {
            if word.starts_with(":/") && word.len() > 2 {
                if let Some(commit) = self.commit(r, word) {
                    *word = commit;
                }
            } else if let Some((a, b)) = word.split_once("...").filter(|_| parted) {
                let end = |side: &str| if side.is_empty() { "HEAD".to_owned() } else { side.to_owned() };
                if let Some(base) = self.word(r, &["merge-base", &end(a), &end(b)]) {
                    *word = base;
                }
            }
        }
        c
    }

    /// The paths of `--pathspec-from-file`, which may come from standard input.
    pub(super) fn git_listed_paths(&mut self, sh: &Shell, r: &Repo, c: &Call) -> Vec<String> {
        let Some(file) = c.value(&["--pathspec-from-file"]).map(str::to_owned) else { return Vec::new() };
        let text = if file == "-" { self.take(sh, 0) } else { self.content(sh, &file) };
        if text.contains(UNK) {
            self.unknown("a list of paths is not known", &r.verb);
        }
        let ends = if c.has(&["--pathspec-file-nul"]) { '\0' } else { '\n' };
        let bare = |line: &str| {
            let line = line.trim_end_matches('\r');
            match line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).filter(|_| ends == '\n') {
                Some(quoted) => super::words::ansi_c(&quoted.chars().collect::<Vec<_>>()),
                None => line.to_owned(),
            }
        };
        text.split(ends).map(bare).filter(|path| !path.is_empty()).collect()
    }
}
