//! The words of git: which options of a sub-command have a value, which sub-commands leave the work tree alone, and which
//! move what git goes by.

use super::options::Call;

/// Options with a value, of the sub-commands that matter.
pub(super) fn marks(verb: &str) -> &'static str {
    match verb {
        "checkout" => "-b: -B: --orphan: --conflict: --pathspec-from-file: -U:",
        "switch" => "-c: -C: --create: --force-create: --orphan: --conflict:",
        "restore" => "-s: --source: --conflict: --pathspec-from-file:",
        "reset" => "--pathspec-from-file:",
        "merge" => "-m: -F: --file: -s: --strategy: -X: --strategy-option: --into-name: --cleanup:",
        "pull" => "-s: --strategy: -X: --strategy-option: --upload-pack: --depth: -j: --jobs:",
        "rebase" => "-s: --strategy: -X: --strategy-option: --onto: -x: --exec: -C:",
        "cherry-pick" | "revert" => "-m: --mainline: -s: --strategy: -X: --strategy-option: --cleanup:",
        "stash" => "-m: --message: --pathspec-from-file:",
        "apply" => "-p: --directory: --exclude: --include: -C: --whitespace: --build-fake-ancestor:W",
        "am" => "-p: --directory: --exclude: --include: -C: --patch-format: --whitespace: --resolvemsg: -S::",
        "clean" => "-e: --exclude:",
        "rm" | "mv" => "--pathspec-from-file:",
        "read-tree" => "--prefix: --index-output: --exclude-per-directory:",
        "checkout-index" => "--prefix: --stage:",
        "clone" => {
            "-b: --branch: -o: --origin: -u: --upload-pack: --reference: --reference-if-able: --template: --depth: --separate-git-dir: -c: --config: -j: --jobs: --filter: --shallow-since: --shallow-exclude: --server-option: --bundle-uri:"
        }
        "init" => "--template: --separate-git-dir: --object-format: -b: --initial-branch: --shared::",
        "config" => "-f: --file: --blob: --type: --default: --value: --comment:",
        "archive" => "-o:W --output:W --format: --prefix: --remote: --exec: --add-file: --add-virtual-file: --mtime:",
        "format-patch" => {
            "-o: --output-directory: --subject-prefix: --in-reply-to: --to: --cc: --from:: --suffix: --start-number: -v: --reroll-count: --base: --range-diff: --interdiff: --output:W --attach:: -U: -N: --signature: --cover-from-description: -l:"
        }
        "log" | "show" | "diff" | "diff-tree" | "diff-index" | "diff-files" | "stash-show" | "whatchanged" | "range-diff" | "reflog" => {
            "--output:W --format: --pretty:: --author: --grep: --since: --until: --after: --before: -n: -S: -G: -L: -O: -U: --max-count: --skip: --date: -l: --committer: --diff-filter:"
        }
        "worktree" => "-b: -B: --reason: --expire: --orphan",
        "submodule" => "-b: --branch: --reference: --depth: --name: -j: --jobs:",
        "bisect" => "--term-new: --term-old: --term-good: --term-bad:",
        "difftool" => "-x: --extcmd: -t: --tool:",
        "grep" => "-e: -f: -A: -B: -C: -m: --max-depth: --threads: -O:: --open-files-in-pager::",
        "bugreport" | "diagnose" => "-o: --output-directory: -s: --suffix: --mode:",
        "commit" => {
            "-m: -F: --message: --file: -C: -c: --reuse-message: --reedit-message: --fixup: --squash: --author: --date: -t: --template: --cleanup: --trailer: -S:: --gpg-sign:: -u:: --pathspec-from-file:"
        }
        "tag" => "-m: -F: -u: --message: --file: --sort: --contains:: --points-at: --format: -n::",
        "fetch" => "--upload-pack: --depth: --deepen: -o: -j: --refmap: --shallow-since: --negotiation-tip:",
        "push" => "--receive-pack: --exec: -o: --push-option: --repo:",
        "fast-export" => "--export-marks:W --import-marks: --signed-tags: --tag-of-filtered-object: --refspec:",
        "fast-import" => "--export-marks:W --import-marks: --export-pack-edges:W --depth: --active-branches: --max-pack-size:",
        "mailinfo" => "--encoding:",
        "daemon" => "--pid-file:W",
        "interpret-trailers" => "--trailer: --where: --if-exists: --if-missing:",
        "mailsplit" => "-o: -d: -f:",
        "subtree" => "-P: --prefix: -m: --message: -b: --branch: --onto:",
        "svn" | "p4" => "",
        "pack-objects" => "--window: --depth: --max-pack-size: --keep-pack: --filter: --threads: --stdout! @1P",
        "index-pack" => "-o:W --keep:: --rev-index: --threads: --max-input-size:",
        "filter-branch" => {
            "--env-filter: --tree-filter: --index-filter: --parent-filter: --msg-filter: --commit-filter: --tag-name-filter: --subdirectory-filter: --original: -d: --state-branch: --setup:"
        }
        "blame" | "annotate" => "-L: -S: --contents: --date: --ignore-rev: --ignore-revs-file:",
        "ls-files" => "-x: -X: --exclude: --exclude-from: --with-tree: --format:",
        "sparse-checkout" => "",
        "credential-store" => "--file:",
        _ => "--output:W",
    }
}

/// Sub-commands that change nothing in a work tree.
pub(super) const QUIET: &[&str] = &[
    "log",
    "show",
    "diff",
    "diff-tree",
    "diff-index",
    "diff-files",
    "status",
    "blame",
    "annotate",
    "shortlog",
    "describe",
    "rev-parse",
    "rev-list",
    "cat-file",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "branch",
    "tag",
    "remote",
    "fetch",
    "push",
    "add",
    "stage",
    "commit",
    "notes",
    "reflog",
    "gc",
    "prune",
    "repack",
    "fsck",
    "count-objects",
    "for-each-ref",
    "symbolic-ref",
    "update-ref",
    "update-index",
    "hash-object",
    "write-tree",
    "commit-tree",
    "mktree",
    "mktag",
    "merge-base",
    "merge-tree",
    "name-rev",
    "cherry",
    "grep",
    "whatchanged",
    "range-diff",
    "show-branch",
    "show-ref",
    "var",
    "version",
    "help",
    "check-ignore",
    "check-attr",
    "check-ref-format",
    "config",
    "archive",
    "bundle",
    "format-patch",
    "pack-refs",
    "pack-objects",
    "index-pack",
    "unpack-objects",
    "replace",
    "rerere",
    "request-pull",
    "send-email",
    "verify-commit",
    "verify-tag",
    "verify-pack",
    "get-tar-commit-id",
    "patch-id",
    "stripspace",
    "column",
    "credential",
    "maintenance",
    "multi-pack-index",
    "commit-graph",
    "fast-export",
    "fast-import",
    "interpret-trailers",
    "mailinfo",
    "mailsplit",
    "fmt-merge-msg",
    "bugreport",
    "diagnose",
    "daemon",
    "instaweb",
    "web--browse",
    "imap-send",
    "prune-packed",
    "show-index",
    "update-server-info",
    "upload-pack",
    "receive-pack",
    "difftool",
    "gui",
    "gitk",
    "citool",
];

/// Sub-commands whose words in front of `--` may be revisions.
pub(super) const TAKE_REVISIONS: &[&str] = &[
    "checkout",
    "switch",
    "reset",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "read-tree",
    "restore",
    "worktree",
    "stash",
    "bisect",
    "pull",
];

/// Whether a sub-command changes what git goes by: where its references stand, the index, its settings. New branches
/// and tags are followed by themselves.
pub(super) fn moves(verb: &str, c: &Call) -> bool {
    match verb {
        "fetch" | "pull" | "commit" | "reset" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "stash" | "checkout" | "switch"
        | "bisect" | "rm" | "mv" | "read-tree" | "update-index" | "update-ref" | "replace" | "fast-import" => true,
        "restore" => c.has(&["-S", "--staged"]),
        "apply" => c.has(&["--cached", "--index", "-3", "--3way"]),
        "symbolic-ref" => c.args.len() > 1,
        "config" => c.args.iter().any(|word| {
            let key = word.to_lowercase();
            ["core.", "alias.", "include", "merge.", "filter.", "extensions.", "remote.", "url.", "branch."]
                .iter()
                .any(|start| key.starts_with(start))
        }),
        _ => false,
    }
}
