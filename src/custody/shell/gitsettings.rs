//! Settings of git that name programs, as data: which sub-commands run them. Only what the command itself sets is looked at,
//! whichever way it does that. Those that need more than a row stand in `gitruns`.

use super::engine::Engine;
use super::git::Global;
use super::gitruns::REACHES;
use super::gitwords::moves;
use super::options::Call;
use super::state::Shell;

/// Settings and the sub-commands that run what they name. A `*` stands for one name in the middle.
const ROWS: &[(&str, &str)] = &[
    ("difftool.*.cmd difftool.*.path mergetool.*.cmd mergetool.*.path", "difftool mergetool"),
    ("trailer.*.cmd trailer.*.command", "commit interpret-trailers tag merge am rebase cherry-pick revert"),
    ("tar.*.command", "archive upload-archive"),
    ("man.*.cmd man.*.path", "help"),
    ("browser.*.cmd browser.*.path", "help web--browse instaweb"),
    ("instaweb.httpd", "instaweb"),
    ("guitool.*.cmd", "gui citool"),
    ("imap.tunnel", "imap-send"),
    ("gc.recentobjectshook", "gc prune repack maintenance fetch merge pull rebase commit am receive-pack"),
    ("interactive.difffilter", "add stage commit checkout reset restore stash"),
    (
        "gpg.program gpg.*.program gpg.ssh.defaultkeycommand",
        "commit commit-tree tag merge pull rebase cherry-pick revert am push log show verify-commit verify-tag whatchanged reflog branch for-each-ref",
    ),
    (
        "sendemail.smtpserver sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd sendemail.headercmd sendemail.*.smtpserver \
         sendemail.*.sendmailcmd sendemail.*.tocmd sendemail.*.cccmd sendemail.*.headercmd",
        "send-email",
    ),
    ("hook.*.command", "*"),
];

/// Options that name a program, and their sub-commands.
const OPTIONS: &[(&str, &[&str])] = &[
    ("difftool", &["-x", "--extcmd"]),
    ("grep", &["-O", "--open-files-in-pager"]),
    ("send-email", &["--sendmail-cmd", "--smtp-server", "--to-cmd", "--cc-cmd", "--header-cmd"]),
];

/// Whether a setting is one of a row's.
fn is(row: &str, key: &str) -> bool {
    row.split(' ').filter(|name| !name.is_empty()).any(|name| match name.split_once('*') {
        Some((front, back)) => key.len() >= name.len() && key.starts_with(front) && key.ends_with(back),
        None => name == key,
    })
}

/// A setting's name as git compares it: the names at both ends in small letters, the one in the middle as it is.
pub(super) fn key(name: &str) -> String {
    match (name.find('.'), name.rfind('.')) {
        (Some(first), Some(last)) if first < last => {
            format!("{}{}{}", name[..first].to_lowercase(), &name[first..last], name[last..].to_lowercase())
        }
        _ => name.to_lowercase(),
    }
}

/// The address that git takes in place of one, after the settings of the line.
fn instead(config: &[(String, String)], address: &str) -> String {
    let starts = config.iter().filter_map(|(key, start)| {
        let base = key.strip_prefix("url.")?;
        let base = base.strip_suffix(".insteadof").or_else(|| base.strip_suffix(".pushinsteadof"))?;
        address.strip_prefix(start.as_str()).map(|rest| (start.len(), format!("{base}{rest}")))
    });
    // the longest counts
    starts.max_by_key(|(len, _)| *len).map_or_else(|| address.to_owned(), |(_, address)| address)
}

impl Engine<'_> {
    /// Programs that settings of the line name, for a sub-command.
    pub(super) fn git_set_programs(&mut self, sh: &Shell, g: &Global, verb: &str, c: &Call) -> Vec<String> {
        let mut run: Vec<String> = Vec::new();
        for (row, verbs) in ROWS {
            if *verbs == "*" || verbs.split(' ').any(|one| one == verb) {
                run.extend(g.config.iter().filter(|(key, _)| is(row, key)).map(|(_, value)| value.clone()));
            }
        }
        for (one, options) in OPTIONS {
            if *one == verb {
                run.extend(c.values(options).into_iter().map(str::to_owned));
            }
        }
        if verb == "grep" && c.has(&["-O", "--open-files-in-pager"]) {
            run.extend(g.config.iter().filter(|(key, _)| key == "core.pager").map(|(_, value)| value.clone()));
            for name in ["GIT_PAGER", "PAGER"] {
                let own = sh.vars.get(name).is_some_and(|var| var.exported);
                run.extend(own.then(|| self.var(sh, name)).flatten());
            }
        }
        if verb == "submodule" {
            let update = |(key, value): &(String, String)| {
                (key.starts_with("submodule.") && key.ends_with(".update")).then(|| value.strip_prefix('!').map(str::to_owned))?
            };
            run.extend(g.config.iter().filter_map(update));
        }
        let index = moves(verb, c)
            || matches!(
                verb,
                "status"
                    | "diff"
                    | "add"
                    | "stage"
                    | "restore"
                    | "ls-files"
                    | "clean"
                    | "apply"
                    | "grep"
                    | "describe"
                    | "checkout-index"
                    | "submodule"
                    | "worktree"
                    | "blame"
                    | "diff-index"
                    | "diff-files"
                    | "write-tree"
            );
        let monitor = g.config.iter().rev().find(|(key, _)| key == "core.fsmonitor").filter(|_| index).map(|(_, value)| value.clone());
        run.extend(monitor.filter(|value| !matches!(value.as_str(), "" | "true" | "false" | "1" | "0" | "yes" | "no" | "on" | "off")));
        if REACHES.contains(&verb) {
            run.extend(self.git_addresses(g, c));
        }
        run.retain(|program| !program.is_empty());
        run
    }

    /// Programs that are run as the other end of an address (`ext::…`): as it is written, and as settings make it.
    fn git_addresses(&mut self, g: &Global, c: &Call) -> Vec<String> {
        let set = |(key, value): &(String, String)| {
            let address =
                (key.starts_with("remote.") || key.starts_with("submodule.")) && (key.ends_with(".url") || key.ends_with(".pushurl"));
            address.then(|| value.clone())
        };
        let mut addresses: Vec<String> = g.config.iter().filter_map(set).collect();
        addresses.extend(c.args.iter().cloned());
        let mut run = Vec::new();
        let mut rewritten = false;
        for address in addresses {
            let to = instead(&g.config, &address);
            rewritten |= to != address;
            run.extend(to.strip_prefix("ext::").map(script));
        }
        if !rewritten {
            // an address that is not seen here (the repository's own) may begin that way
            let base = |(key, _): &(String, String)| {
                key.strip_prefix("url.ext::").and_then(|key| key.rsplit_once('.')).map(|(base, _)| script(base))
            };
            run.extend(g.config.iter().filter_map(base));
        }
        run
    }
}

/// The command of an `ext::` address: a blank with a percent sign in front belongs to a word.
fn script(address: &str) -> String {
    address.replace("% ", "\\ ").replace('%', "")
}

#[cfg(test)]
mod tests {
    use super::{instead, is, key};

    #[test]
    fn a_row_has_names_in_the_middle() {
        assert!(is("a.b difftool.*.cmd", "difftool.my.tool.cmd") && is("gpg.program gpg.*.program", "gpg.program"));
        assert!(!is("difftool.*.cmd", "difftool.cmd") && is("pager.*", "pager.log"));
    }

    #[test]
    fn the_middle_of_a_setting_keeps_its_letters() {
        assert_eq!(key("URL.ext::sh -c touch A.InsteadOf"), "url.ext::sh -c touch A.insteadof");
        assert_eq!(key("Core.Editor"), "core.editor");
    }

    #[test]
    fn the_longest_beginning_counts() {
        let set = |base: &str, start: &str| (format!("url.{base}.insteadof"), start.to_owned());
        assert_eq!(instead(&[set("one:", "z"), set("two:", "zz:")], "zz:q"), "two:q");
    }
}
