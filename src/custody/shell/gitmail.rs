//! `git format-patch`: files whose names git chooses, with what stands in them, so that a later command can take them.

use super::engine::{Engine, UNK};
use super::gitask::Repo;
use super::options::Call;
use super::picture::{Left, join};
use super::state::Shell;

/// Most patches that are told apart.
const MAX_PATCHES: usize = 32;
/// Longest name of a patch, its ending included.
const MAX_NAME: usize = 64;

/// The patches of a mailbox, each with the commit that it was made from.
fn patches(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let commit = line.strip_prefix("From ").and_then(|rest| rest.split_once(' ')).filter(|(commit, rest)| {
            commit.len() >= 40 && commit.chars().all(|c| c.is_ascii_hexdigit()) && rest.starts_with("Mon Sep 17 00:00:00 2001")
        });
        if let Some((commit, _)) = commit {
            all.push((commit.to_owned(), String::new()));
        }
        if let Some((_, patch)) = all.last_mut() {
            patch.push_str(line);
        }
    }
    all
}

impl Engine<'_> {
    /// Leaves the patches in the picture and prints their names; where they can't be known, what takes patches later can't be
    /// known either.
    pub(super) fn git_patches(&mut self, sh: &mut Shell, r: &Repo, c: &Call, rest: &[String], dir: &str) {
        let made = self.git_patches_of(r, c, rest);
        let Some(made) = made.filter(|_| !dir.contains(UNK)) else {
            self.patches_unknown = true;
            self.put(sh, 1, &UNK.to_string());
            return;
        };
        // git makes the directory
        let there = self.full(sh, dir);
        let missing: Vec<&str> = there.match_indices('/').map(|(at, _)| &there[..at]).chain([there.as_str()]).skip(1).collect();
        for dir in missing {
            if self.fs.what(dir).is_none() {
                self.fs.leave(dir, true, Left::Dir);
            }
        }
        for (name, text) in made {
            let path = join(dir, &name);
            let full = self.full(sh, &path);
            self.fs.leave(&full, true, Left::File(Some(text.into())));
            if !c.has(&["-q", "--quiet"]) {
                self.put(sh, 1, &(path.trim_start_matches("./").to_owned() + "\n"));
            }
        }
    }

    fn git_patches_of(&mut self, r: &Repo, c: &Call, rest: &[String]) -> Option<Vec<(String, String)>> {
        if self.git_moved || c.has(&["--cover-letter", "--interdiff", "--range-diff", "-N", "--attach", "--inline"]) {
            return None;
        }
        let mut words: Vec<&str> = vec!["format-patch", "--stdout", "--no-ext-diff", "--no-textconv"];
        let mut skip = false;
        for word in rest {
            if std::mem::take(&mut skip) {
                continue;
            }
            match word.as_str() {
                "-o" | "--output-directory" => skip = true,
                "-q" | "--quiet" => {}
                word if word.starts_with("-o") || word.starts_with("--output-directory=") => {}
                word => words.push(word),
            }
        }
        let answer = self.ask(&r.as_written(), &words).filter(|answer| answer.ok && answer.stdout.len() <= super::engine::MAX_TEXT)?;
        let all = patches(&String::from_utf8_lossy(&answer.stdout));
        if all.len() > MAX_PATCHES {
            return None;
        }
        let first = c.value(&["--start-number"]).map_or(Some(1), |n| n.parse::<usize>().ok())?;
        let ending = c.value(&["--suffix"]).unwrap_or(".patch").to_owned();
        let turn = c.value(&["-v", "--reroll-count"]).map(|n| format!("v{n}-")).unwrap_or_default();
        let mut made = Vec::new();
        for (n, (commit, text)) in all.into_iter().enumerate() {
            let number = first + n;
            let name = if c.has(&["--numbered-files"]) {
                number.to_string()
            } else {
                let subject = self.word(r, &["log", "-1", "--format=%f", &commit, "--"])?;
                let mut name = format!("{turn}{number:04}-{subject}");
                name.truncate(name.floor_char_boundary(MAX_NAME.saturating_sub(ending.len() + 1)));
                name + &ending
            };
            made.push((name, text));
        }
        Some(made)
    }

    /// The text of a patch that a command takes; it can't be known where git has chosen its name.
    pub(super) fn patch_content(&mut self, sh: &Shell, name: &str) -> String {
        if self.patches_unknown && self.what(sh, name).is_none() {
            self.unknown("a patch that git has named", name);
        }
        self.content(sh, name)
    }
}

#[cfg(test)]
mod tests {
    use super::patches;

    #[test]
    fn a_mailbox_is_taken_apart_at_its_commits() {
        let commit = "0123456789012345678901234567890123456789";
        let text = format!("From {commit} Mon Sep 17 00:00:00 2001\na\nFrom me\nFrom {commit} Mon Sep 17 00:00:00 2001\nb\n");
        let all = patches(&text);
        assert_eq!(all.len(), 2);
        assert!(all[0].1.ends_with("a\nFrom me\n") && all[1].1.ends_with("b\n"));
    }
}
