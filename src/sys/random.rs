//! Bytes that nobody can guess.

use std::io::Read;

/// Ten bytes from the kernel as 20 hex digits.
///
/// # Errors
/// Where `/dev/urandom` can't be read; a guessable stand-in would be worse than none.
pub fn hex20() -> std::io::Result<String> {
    let mut bytes = [0_u8; 10];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
