//! A change as git writes it: text as hunks, anything else as a binary patch, links, modes, files made
//! and removed. Made without git, and read by `git apply`, which checks by the digests in it that a
//! binary file is the one that was changed.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use sha1::{Digest as _, Sha1};

use super::diff;

/// The largest side that is compared line by line.
const MAX_TEXT: usize = 2 << 20;
/// The mode of a link.
pub const LINK: u32 = 0o120_000;

/// One side of a file: what it is, and its content; of a link, its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side<'a> {
    /// Whether it is a link, a program, or neither: a mode as git has it.
    pub mode: u32,
    /// The bytes.
    pub data: &'a [u8],
}

/// A mode as git has it: of a file only whether its owner may execute it counts.
#[must_use]
pub fn mode(bits: u32) -> u32 {
    match bits {
        LINK => LINK,
        bits if bits & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}

/// The part of a patch that is about one file; `name` is its path from where the patch is applied.
/// Empty where nothing of what git knows differs.
#[must_use]
pub fn file(name: &Path, old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> String {
    match (old, new) {
        (Some(was), Some(will)) if (was.mode == LINK) != (will.mode == LINK) => {
            // A file that becomes a link is removed, and a link made.
            section(name, Some(was), None) + &section(name, None, Some(will))
        }
        _ if old == new => String::new(),
        _ => section(name, old, new),
    }
}

fn section(name: &Path, old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> String {
    let (from, to) = (quoted(b"a/", name), quoted(b"b/", name));
    let mut out = format!("diff --git {from} {to}\n");
    // Writing to a string can't fail.
    let _ = match (old, new) {
        (None, Some(will)) => writeln!(out, "new file mode {:o}", will.mode),
        (Some(was), None) => writeln!(out, "deleted file mode {:o}", was.mode),
        (Some(was), Some(will)) if was.mode != will.mode => writeln!(out, "old mode {:o}\nnew mode {:o}", was.mode, will.mode),
        _ => Ok(()),
    };
    let data = |side: Option<&Side<'_>>| side.map(|side| side.data.to_vec()).unwrap_or_default();
    let (was, will) = (data(old), data(new));
    if was == will {
        if old.is_none() || new.is_none() {
            let _ = writeln!(out, "index {}..{}", id(old), id(new));
        }
        return out;
    }
    let text =
        |side: &[u8]| (side.len() <= MAX_TEXT && !side.contains(&0)).then(|| std::str::from_utf8(side).ok().map(str::to_owned)).flatten();
    if let (Some(was), Some(will)) = (text(&was), text(&will)) {
        let names = (if old.is_none() { "/dev/null" } else { &from }, if new.is_none() { "/dev/null" } else { &to });
        out.push_str(&diff::unified(&was, &will, names, 3));
    } else {
        let _ = writeln!(out, "index {}..{}", id(old), id(new));
        out.push_str("GIT binary patch\n");
        literal(&mut out, &will);
        literal(&mut out, &was);
    }
    out
}

/// The name of a content in git; zeros where there is none.
fn id(side: Option<&Side<'_>>) -> String {
    let Some(side) = side else { return "0".repeat(40) };
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", side.data.len()));
    hash.update(side.data);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name in a header: C-style quotes where git needs them.
fn quoted(side: &[u8], name: &Path) -> String {
    let bytes: Vec<u8> = side.iter().chain(name.as_os_str().as_bytes()).copied().collect();
    if let Some(plain) = std::str::from_utf8(&bytes)
        .ok()
        .filter(|text| text.bytes().all(|byte| (b' '..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'))
    {
        return plain.to_owned();
    }
    let mut out = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..0x7f => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// A content as git's binary patches hold it: its length, then its compressed form in lines of text.
fn literal(out: &mut String, data: &[u8]) {
    let _ = writeln!(out, "literal {}", data.len());
    for piece in compressed(data).chunks(52) {
        let length = u8::try_from(piece.len()).unwrap_or(0);
        out.push(char::from(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 }));
        for four in piece.chunks(4) {
            let mut word = [0_u8; 4];
            word.iter_mut().zip(four).for_each(|(place, byte)| *place = *byte);
            let mut value = u32::from_be_bytes(word);
            let mut digits = [0_u8; 5];
            for digit in digits.iter_mut().rev() {
                *digit = DIGITS.get(usize::try_from(value % 85).unwrap_or(0)).copied().unwrap_or(b'0');
                value /= 85;
            }
            out.extend(digits.map(char::from));
        }
        out.push('\n');
    }
    out.push('\n');
}

const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// The zlib form with nothing compressed: what is captured is small, and read once.
fn compressed(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        out.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(mode: u32, data: &[u8]) -> Side<'_> {
        Side { mode, data }
    }

    #[test]
    fn what_git_writes() {
        // Ids that git itself gives.
        assert_eq!(id(Some(&side(0o100_644, b""))), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id(Some(&side(0o100_644, b"bob1\n"))), "a1e39286602d2884121141686e622c47fbf7a323");
        let text = file(Path::new("a b/ü"), Some(&side(0o100_644, b"x\n")), Some(&side(0o100_755, b"y")));
        assert_eq!(
            text,
            "diff --git \"a/a b/\\303\\274\" \"b/a b/\\303\\274\"\nold mode 100644\nnew mode 100755\n--- \"a/a b/\\303\\274\"\n+++ \"b/a b/\\303\\274\"\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
        );
        let same = side(0o100_644, b"x");
        assert_eq!(file(Path::new("x"), Some(&same), Some(&same)), "");
        let link = file(Path::new("x"), Some(&same), Some(&side(LINK, b"to")));
        assert!(
            link.contains("deleted file mode 100644")
                && link.contains("new file mode 120000")
                && link.ends_with("+to\n\\ No newline at end of file\n"),
            "{link}"
        );
        assert_eq!((mode(0o755), mode(0o600), mode(LINK)), (0o100_755, 0o100_644, LINK));
    }

    #[test]
    fn the_digits_of_a_binary_patch() {
        let mut out = String::new();
        literal(&mut out, b"");
        // As git reads it: 11 bytes of zlib in one line of three words.
        assert_eq!(out.lines().next(), Some("literal 0"));
        assert_eq!(out.lines().nth(1).map(|line| (line.len(), line.starts_with('K'))), Some((16, true)));
        assert_eq!(compressed(b"abc"), [0x78, 1, 1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c', 0x02, 0x4d, 0x01, 0x27]);
    }
}
