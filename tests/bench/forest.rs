//! A made-up tree for the walk, the same for the same seed: packages, noise of other programs, a
//! deep chain, clusters of places.

use std::fs;
use std::path::{Path, PathBuf};

/// A small generator of numbers (splitmix64): the tree must be the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..below`.
    fn below(&mut self, below: usize) -> usize {
        usize::try_from(self.next() % below.max(1) as u64).unwrap()
    }

    /// A number in `0.0..1.0`.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Makes a tree with about so many directories and so many places under `out`; the directory to walk.
pub(crate) fn grow(out: &Path, dirs: usize, places: usize) -> PathBuf {
    let mut random = Random(1);
    let root = out.join("repo");
    fs::create_dir_all(&root).unwrap();
    let depth = |path: &Path| path.components().count();
    let base = depth(&root);
    // Packages: old ones get more children; nothing deeper than 14.
    let mut packages = vec![root.clone()];
    for nth in 1..dirs * 4 / 10 {
        let parent = loop {
            let at = (packages.len() as f64 * random.share().powf(1.5)) as usize;
            if depth(&packages[at]) - base < 14 {
                break packages[at].clone();
            }
        };
        let dir = parent.join(format!("{}{nth}", random.pick(&["pkg", "svc", "lib", "app", "mod", "ui"])));
        fs::create_dir(&dir).unwrap();
        if random.share() < 0.3 {
            fs::write(dir.join(format!("f{nth}.txt")), "").unwrap();
        }
        packages.push(dir);
    }
    noise(&mut random, &packages, dirs - dirs * 4 / 10);
    // A deep chain where every level is a place.
    let mut deep = root.join("deep");
    for nth in 0..60 {
        deep = deep.join(format!("d{nth}"));
        write(&deep.join(format!(".claude/rules/r{nth}.md")), "level\n");
    }
    clusters(&mut random, &root, &packages, places.saturating_sub(60));
    root
}

/// What other programs fill: to be passed by, with traps in it.
fn noise(random: &mut Random, packages: &[PathBuf], count: usize) {
    let mut made = 0;
    while made < count {
        let name = random.pick(&["node_modules", "node_modules", "node_modules", "target", ".git", ".venv"]);
        let base = random.pick(packages).join(name);
        if fs::create_dir(&base).is_err() {
            continue;
        }
        made += 1;
        if *name == "target" {
            fs::write(base.join("CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
        }
        let mut inside = vec![base.clone()];
        for nth in 0..(20 + random.below(1180)).min(count - made) {
            let mut parent = random.pick(&inside).clone();
            if parent.components().count() - base.components().count() > 7 {
                parent.clone_from(&base);
            }
            let dir = parent.join(format!("m{nth}"));
            fs::create_dir(&dir).unwrap();
            made += 1;
            if random.share() < 0.5 {
                fs::write(dir.join("index.js"), "").unwrap();
            }
            if random.share() < 0.002 {
                write(&dir.join(".claude/skills/trap/SKILL.md"), "---\nname: trap\n---\n");
            }
            inside.push(dir);
        }
    }
}

/// What the places of a cluster carry.
const DOTDIRS: [&[&str]; 5] = [&[".claude"], &[".claude"], &[".loci"], &[".claude", ".loci"], &[".agents"]];

/// Places in runs of one to five levels, with a few files each.
fn clusters(random: &mut Random, root: &Path, packages: &[PathBuf], count: usize) {
    let mut hosts = std::collections::HashSet::new();
    while hosts.len() < count {
        let mut dir = random.pick(packages).clone();
        for _ in 0..*random.pick(&[1, 1, 1, 2, 3, 5]) {
            if !dir.starts_with(root) || hosts.len() >= count {
                break;
            }
            hosts.insert(dir.clone());
            dir.pop();
        }
    }
    let mut hosts: Vec<PathBuf> = hosts.into_iter().collect();
    hosts.sort();
    for host in &hosts {
        let dotdirs = *random.pick(&DOTDIRS);
        for dotdir in dotdirs {
            for nth in 0..=random.below(10) {
                let file = match random.below(4) {
                    0 => format!("skills/s{nth}/SKILL.md"),
                    1 => format!("agents/a{nth}.md"),
                    2 => format!("rules/sub/r{nth}.md"),
                    _ => format!("rules/r{nth}.md"),
                };
                write(&host.join(dotdir).join(file), "---\nname: it\ndescription: an item\n---\nbody\n");
            }
        }
    }
}

/// Writes a file, with the directories above it.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
