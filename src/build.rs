//! Links the released program statically where the system can do it.
//!
//! A harness starts `loci gate` on every tool call, so what the program costs before its first line
//! counts: finding and relocating `libc` and `libgcc_s` takes longer than the gate itself. rustc has
//! a flag for it (`-C target-feature=+crt-static`), but Cargo hands that to procedural macros as
//! well, which then can't be built. So the same is said to the linker here, for the program alone.
//! Where anything that it takes is missing, the program is linked as usual and works the same.
//!
//! And the functions that a call of the gate goes through are laid side by side ([`ORDER`]): spread over the
//! whole program, the pages that they lie in cost as much as the rest of the call.

#![expect(clippy::disallowed_methods, reason = "a build script talks to Cargo on standard output and asks the compiler")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to anything: link as usual.
const SWITCH: &str = "LOCI_LINK_DYNAMIC";

/// Which functions lie side by side; `tests/bench/startup-order` writes it.
const ORDER: &str = "src/startup.order";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-changed={ORDER}");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|is| is == value);
    let native = env::var("HOST").ok() == env::var("TARGET").ok();
    let wanted = is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if native
        && wanted
        && env::var_os(SWITCH).is_none()
        && let Some(out) = env::var_os("OUT_DIR")
        && let Some(words) = static_link(Path::new(&out))
    {
        for word in words {
            println!("cargo::rustc-link-arg-bin=loci={word}");
        }
    }
}

/// The libraries that Rust's own library asks for, and what stands for them.
const SHARED: [(&str, &str); 7] = [
    ("libgcc_s.so", "libgcc_eh.a"),
    ("libc.so", "libc.a"),
    ("libm.so", "libm.a"),
    ("librt.so", "librt.a"),
    ("libpthread.so", "libpthread.a"),
    ("libutil.so", "libutil.a"),
    ("libdl.so", "libdl.a"),
];

/// What to say to the linker; `None` where the static libraries are not installed, or a small
/// program that is linked with them does not work.
fn static_link(out: &Path) -> Option<Vec<String>> {
    // In this folder the names of the shared libraries that rustc asks for stand for the static ones. Each
    // that Rust's library can ask for has to be here: some linkers take a shared one into a static program
    // without a word, and it then dies at its start.
    let folder = out.join("static");
    fs::create_dir_all(&folder).ok()?;
    for (asked, given) in SHARED {
        let given = library(given)?;
        // `libm.a` may be a script of the linker's, which has to be read as one.
        let script = fs::read(&given).ok().filter(|text| text.len() < 4096 && text.starts_with(b"/*"));
        fs::write(folder.join(asked), script.unwrap_or_else(|| format!("INPUT({})\n", given.display()).into_bytes())).ok()?;
    }
    let words = vec![
        // At a fixed address: a relocatable program copies and corrects a page for every 4 KiB of its tables at each
        // start, a sixth of the gate's whole time, and more with each verb. Stack, heap and mappings stay randomised.
        "-static".to_owned(),
        "-no-pie".to_owned(),
        // A weak name that no static library has is nobody's; without this it would wait for a loader.
        "-Wl,-z,nodynamic-undefined-weak".to_owned(),
        format!("-L{}", folder.display()),
        // What a library needs of one that some linkers have done with by then.
        "-lc".to_owned(),
        "-lgcc".to_owned(),
        "-lgcc_eh".to_owned(),
    ];
    let mut ordered = words.clone();
    ordered.extend(side_by_side(&folder));
    if ordered.len() > words.len() && works(&folder, &ordered) {
        return Some(ordered);
    }
    works(&folder, &words).then_some(words)
}

/// Says to the linker which functions come first: a script that adds one section to its own. A name in it that
/// the program doesn't have means nothing.
fn side_by_side(folder: &Path) -> Option<String> {
    let order = fs::read_to_string(ORDER).ok()?;
    let name = |line: &&str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.$*".contains(&b));
    let sections: String = order.lines().filter(name).map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n")).collect();
    let script = folder.join("order.ld");
    fs::write(&script, format!("SECTIONS\n{{\n  .text.gate :\n  {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")).ok()?;
    Some(format!("-Wl,-T,{}", script.display()))
}

/// Whether a small program that is linked so works.
fn works(folder: &Path, words: &[String]) -> bool {
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    let Some(rustc) = env::var_os("RUSTC").filter(|_| fs::write(&source, PROBE).is_ok()) else { return false };
    let mut rustc = Command::new(rustc);
    rustc.arg("--edition=2024").arg("-o").arg(&program).arg(&source);
    for word in words {
        rustc.arg("-C").arg(format!("link-arg={word}"));
    }
    let went = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    went(&mut rustc) && went(&mut Command::new(&program))
}

/// Threads, unwinding, thread-local destructors, the environment and numbers have to work.
const PROBE: &str = r#"
fn main() {
    thread_local! { static KEPT: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) }; }
    let caught = std::thread::spawn(|| {
        KEPT.with_borrow_mut(|kept| kept.push(1));
        std::panic::catch_unwind(|| { if std::env::args_os().count() > 0 { panic!("seen") } }).is_err()
    });
    let number = std::hint::black_box(2.0_f64);
    assert!(number.powf(number).exp().sin().is_finite());
    assert!(caught.join().unwrap() && std::env::current_dir().is_ok() && std::fs::metadata("/").is_ok());
}
"#;

/// Where the compiler finds a library; it answers with the bare name where it does not.
fn library(name: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}
