//! Text that came from outside, made safe to print.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path as it may be printed on a terminal: control characters and bytes that are not UTF-8 are
/// escaped, so that a file name can't forge a line or move the cursor.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(&'a [u8]);

/// Shows a path.
#[must_use]
pub fn path(path: &Path) -> Shown<'_> {
    Shown(path.as_os_str().as_bytes())
}

/// Shows text that came from a file or a model, on one line.
#[must_use]
pub fn text(text: &str) -> Shown<'_> {
    Shown(text.as_bytes())
}

/// A number of things, in words: `1 message`, `3 messages`. Both words are given, verb and all where one goes with them.
#[must_use]
pub fn count<N: fmt::Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let word = if number == N::from(1) { one } else { many };
    format!("{number} {word}")
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            // What shows itself is written in runs: nearly always all of it.
            let mut rest = chunk.valid();
            while let Some((at, c)) = first_hidden(rest) {
                let (run, after) = rest.split_at(at);
                f.write_str(run)?;
                write!(f, "{}", c.escape_unicode())?;
                rest = after.get(c.len_utf8()..).unwrap_or_default();
            }
            f.write_str(rest)?;
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// As [`text`]; borrowed where nothing in it is escaped.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if first_hidden(text).is_none() { Cow::Borrowed(text) } else { Cow::Owned(self::text(text).to_string()) }
}

fn first_hidden(text: &str) -> Option<(usize, char)> {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte);
    if text.as_bytes().iter().all(plain) {
        return None;
    }
    text.char_indices().find(|(_, c)| hidden(*c))
}

/// The name of an error number, as in `EPERM`.
#[must_use]
pub fn errno(number: i32) -> &'static str {
    // Its debug form is the name; the list is the C library's.
    macro_rules! names {
        ($($name:ident)*) => { match nix::errno::Errno::from_raw(number) { $(nix::errno::Errno::$name => stringify!($name),)* _ => "an unknown error" } };
    }
    names!(EPERM ENOENT EIO ENXIO E2BIG ENOEXEC EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE
        ETXTBSY EFBIG ENOSPC EROFS EMLINK EPIPE EDEADLK ENAMETOOLONG ENOSYS ENOTEMPTY ELOOP EOVERFLOW EUSERS EOPNOTSUPP ESTALE EDQUOT)
}

/// Whether a character would change the terminal or the reading order instead of showing itself.
#[must_use]
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn one_is_told_from_many() {
        let said = [0_usize, 1, 2].map(|number| count(number, "entry", "entries"));
        assert_eq!(said, ["0 entries", "1 entry", "2 entries"]);
    }

    #[test]
    fn a_name_cannot_forge_a_line() {
        let name = Path::new(OsStr::from_bytes(b"a\n\x1b[2Jb\xff"));
        assert_eq!(path(name).to_string(), "a\\u{a}\\u{1b}[2Jb\\xff");
        assert_eq!(text("a\u{202e}b").to_string(), "a\\u{202e}b");
        assert_eq!(text("\n\u{202e}é\u{7f}").to_string(), "\\u{a}\\u{202e}é\\u{7f}");
        assert!(matches!(escaped("a b é"), Cow::Borrowed("a b é")));
        assert_eq!(escaped("a\tb"), "a\\u{9}b");
    }
}
