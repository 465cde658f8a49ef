//! Unpacks gzip, for the members of a small `.tar.gz` and what `zcat` prints.

use super::fuel;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Unpacks a gzip file, all of its members; `None` where it is none, is damaged, or unpacks to more than `max` bytes.
pub(crate) fn gunzip(bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut out = inflate(bytes, max)?;
    // programs unpack one member after the other, and what follows the last one is padding
    while let Some(rest) = bytes.get(out.1..).filter(|rest| rest.starts_with(&[0x1f, 0x8b])) {
        let (more, used) = inflate(rest, max.checked_sub(out.0.len())?)?;
        out.0.extend(more);
        out.1 += used;
    }
    Some(out.0)
}

/// Unpacks one member: its bytes, and how long it was.
fn inflate(bytes: &[u8], max: usize) -> Option<(Vec<u8>, usize)> {
    let start = header(bytes)?;
    let mut state = Box::<DecompressorOxide>::default();
    let mut out = vec![0; bytes.len().saturating_mul(4).clamp(1, max.max(1))];
    let (mut read, mut made) = (start, 0);
    loop {
        let (status, used, more) = decompress(&mut state, bytes.get(read..)?, &mut out, made, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        read += used;
        made += more;
        if !fuel::spend(more / 8) {
            return None;
        }
        match status {
            TINFLStatus::Done => {
                out.truncate(made);
                // a checksum and the length stand behind
                return (made <= max).then_some((out, read + 8));
            }
            TINFLStatus::HasMoreOutput if out.len() < max => out.resize(out.len().saturating_mul(2).min(max), 0),
            _ => return None,
        }
    }
}

/// How long the header is.
fn header(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < 18 || bytes.get(..3)? != [0x1f, 0x8b, 8] {
        return None;
    }
    let flags = *bytes.get(3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    }
    for bit in [8, 16] {
        if flags & bit != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'one\n' | gzip -n`
    const ONE: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0xcf, 0x4b, 0xe5, 2, 0, 0x9f, 0xa8, 0x17, 0xf8, 4, 0, 0, 0];

    #[test]
    fn members_follow_one_another() {
        fuel::start();
        assert_eq!(gunzip(ONE, 100).unwrap(), b"one\n");
        assert_eq!(gunzip(&[ONE, ONE].concat(), 100).unwrap(), b"one\none\n");
        assert_eq!(gunzip(&[ONE, b"\0\0\0"].concat(), 100).unwrap(), b"one\n");
    }

    #[test]
    fn what_is_damaged_or_too_long_is_not_known() {
        fuel::start();
        assert_eq!(gunzip(ONE, 3), None);
        assert_eq!(gunzip(&[ONE, ONE].concat(), 7), None);
        assert_eq!(gunzip(&ONE[..12], 100), None);
        assert_eq!(gunzip(b"no gzip at all, but long enough", 100), None);
    }
}
