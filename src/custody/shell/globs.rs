//! The paths that a pattern names.

use super::engine::Engine;
use super::state::Shell;
use super::{Kind, pattern, picture};

/// Most files that one pattern names.
pub(super) const MAX_GLOB: usize = 2048;

impl Engine<'_> {
    /// The paths that a pattern names, in order.
    pub(crate) fn glob(&mut self, sh: &Shell, pat: &str) -> Vec<String> {
        let absolute = pat.starts_with('/');
        let comps: Vec<&str> = pat.split('/').filter(|c| !c.is_empty()).collect();
        let mut found: Vec<String> = vec![if absolute { "/".into() } else { String::new() }];
        for (n, comp) in comps.iter().enumerate() {
            let last = n + 1 == comps.len();
            let mut next = Vec::new();
            for base in &found {
                if next.len() > MAX_GLOB {
                    self.unknown("too many files", pat);
                    break;
                }
                if !pattern::alive(comp) {
                    let p = format!("{base}{}", pattern::unescape(comp));
                    let full = self.full(sh, &p);
                    if !last {
                        next.push(p + "/");
                    } else if self.fs.at(&full, false).kind.is_some() {
                        next.push(p);
                    }
                    continue;
                }
                let dir = if base.is_empty() { self.full(sh, ".") } else { self.full(sh, base) };
                if *comp == "**" && sh.opts.globstar {
                    self.deep(sh, base, &dir, last, &mut next, 0);
                    continue;
                }
                let Some(names) = self.fs.list(&dir) else { continue };
                if !self.spend(names.len() * 4) {
                    break;
                }
                for (name, kind) in names.iter() {
                    if name.starts_with('.') && !comp.starts_with('.') && !comp.starts_with("\\.") && !sh.opts.dotglob {
                        continue;
                    }
                    let hit = if sh.opts.nocaseglob { pattern::matches_fold(comp, name) } else { pattern::matches(comp, name) };
                    if !hit {
                        continue;
                    }
                    if last {
                        next.push(format!("{base}{name}"));
                    } else if *kind == Kind::Dir || *kind == Kind::Link && self.fs.is_dir(&picture::join(&dir, name)) {
                        next.push(format!("{base}{name}/"));
                    }
                }
            }
            found = next;
        }
        if pat.ends_with('/') {
            found.retain(|p| {
                let full = self.full(sh, p);
                self.fs.is_dir(&full)
            });
            for f in &mut found {
                f.push('/');
            }
        }
        // a component that is plain can name something that is not there
        if comps.last().is_some_and(|c| !pattern::alive(c)) {
            return found;
        }
        found.sort();
        found
    }

    pub(super) fn deep(&mut self, sh: &Shell, base: &str, dir: &str, last: bool, out: &mut Vec<String>, level: u32) {
        out.push(base.to_owned());
        if level > 12 || out.len() > MAX_GLOB {
            return;
        }
        let Some(names) = self.fs.list(dir) else { return };
        super::fuel::did(names.len() * 4);
        for (name, kind) in names.iter() {
            if name.starts_with('.') && !sh.opts.dotglob {
                continue;
            }
            if *kind == Kind::Dir {
                self.deep(sh, &format!("{base}{name}/"), &picture::join(dir, name), last, out, level + 1);
            } else if last {
                out.push(format!("{base}{name}"));
            }
        }
    }
}
