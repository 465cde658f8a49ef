//! Text that came from outside, made safe to print.

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

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                if hidden(c) {
                    write!(f, "{}", c.escape_unicode())?;
                } else {
                    write!(f, "{c}")?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
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
    fn a_name_cannot_forge_a_line() {
        let name = Path::new(OsStr::from_bytes(b"a\n\x1b[2Jb\xff"));
        assert_eq!(path(name).to_string(), "a\\u{a}\\u{1b}[2Jb\\xff");
        assert_eq!(text("a\u{202e}b").to_string(), "a\\u{202e}b");
    }
}
