//! SHA-256, as hex.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes as 64 hex digits.
#[must_use]
pub fn sha256(data: &[u8]) -> String {
    hex(&Sha256::digest(data))
}

/// The SHA-256 of several parts, each with its length before it, so that no two lists of parts
/// have the same bytes.
#[must_use]
pub fn sha256_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

/// A SHA-256 that is fed piece by piece.
#[derive(Debug, Default)]
pub struct Running(Sha256);

impl Running {
    /// Adds some bytes.
    pub fn add(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest of all that was added, as 64 hex digits.
    #[must_use]
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// A name for a path that is safe as a file name: `KIND-` and 16 hex digits. The key of journals and
/// locks.
#[must_use]
pub fn key(kind: &str, path: &std::path::Path) -> String {
    let hash = sha256(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
    format!("{kind}-{}", hash.get(..16).unwrap_or(&hash))
}

/// Bytes as lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).map(char::from).collect()
}

/// SHA-256 over several parts, each with its length, as bytes.
#[must_use]
pub fn bytes_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_values() {
        assert_eq!(super::sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_ne!(super::sha256_of_parts([&b"ab"[..], b"c"]), super::sha256_of_parts([&b"a"[..], b"bc"]));
    }
}
