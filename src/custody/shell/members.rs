//! The members of an archive, read from its bytes: tar, zip and the forms of cpio.

/// Most members that are listed.
pub(super) const MAX_MEMBERS: usize = 4000;

/// Whether a block is a header: its bytes add up to what it says, the sum itself taken as blanks.
pub(super) fn tar_header(h: &[u8]) -> bool {
    let said = String::from_utf8_lossy(&h[148..156]);
    let said = u32::from_str_radix(said.trim_matches([' ', '\0']), 8);
    let sum = h.iter().enumerate().map(|(i, x)| if (148..156).contains(&i) { 32 } else { u32::from(*x) }).sum();
    said == Ok(sum)
}

/// The members of a tar file, with whether each is a link.
pub(super) fn tar_members(b: &[u8]) -> Option<Vec<(String, bool)>> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut long: Option<String> = None;
    let text = |f: &[u8]| String::from_utf8_lossy(f.split(|x| *x == 0).next().unwrap_or(&[])).into_owned();
    // no tar file is shorter than a block
    b.get(..512)?;
    while let Some(h) = b.get(at..at + 512) {
        if h.iter().all(|x| *x == 0) || out.len() > MAX_MEMBERS {
            break;
        }
        if !tar_header(h) {
            return None;
        }
        let size = if h[124] & 0x80 != 0 {
            h[128..136].iter().fold(0usize, |a, x| a << 8 | usize::from(*x))
        } else {
            usize::from_str_radix(text(&h[124..136]).trim(), 8).unwrap_or(0)
        };
        let kind = h[156];
        let data = b.get(at + 512..(at + 512).checked_add(size)?);
        match kind {
            b'L' => long = data.map(text),
            b'x' => {
                // records `LEN key=value\n`
                let d = String::from_utf8_lossy(data?).into_owned();
                for l in d.lines() {
                    if let Some(p) = l.split_once(" path=") {
                        long = Some(p.1.to_owned());
                    }
                }
            }
            b'g' | b'K' => {}
            _ => {
                let name = long.take().unwrap_or_else(|| {
                    let prefix = text(&h[345..500]);
                    let name = text(&h[..100]);
                    if &h[257..263] == b"ustar\0" && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
                });
                out.push((name, kind == b'2' || kind == b'1'));
            }
        }
        at = (at + 512).checked_add(size.div_ceil(512) * 512)?;
    }
    Some(out)
}

/// The members of a zip file, from its directory at the end.
pub(super) fn zip_members(b: &[u8]) -> Option<Vec<String>> {
    let from = b.len().saturating_sub(66_000);
    let end = b[from..].windows(4).rposition(|w| w == b"PK\x05\x06")? + from;
    let n = |at: usize, k: usize| b.get(at..at + k).map(|s| s.iter().rev().fold(0usize, |a, x| a << 8 | usize::from(*x)));
    let count = n(end + 10, 2)?;
    let mut at = n(end + 16, 4)?;
    let mut out = Vec::new();
    for _ in 0..count.min(MAX_MEMBERS) {
        if b.get(at..at + 4)? != b"PK\x01\x02" {
            break;
        }
        let (name, extra, comment) = (n(at + 28, 2)?, n(at + 30, 2)?, n(at + 32, 2)?);
        out.push(String::from_utf8_lossy(b.get(at + 46..at + 46 + name)?).into_owned());
        at += 46 + name + extra + comment;
    }
    Some(out)
}

/// The members of a cpio file (the `newc`, `crc` and `odc` forms).
pub(super) fn cpio_members(b: &[u8]) -> Option<Vec<String>> {
    let mut at = 0;
    let mut out = Vec::new();
    while out.len() < MAX_MEMBERS {
        let magic = b.get(at..at + 6)?;
        let (name_len, size, head, pad) = match magic {
            b"070701" | b"070702" => {
                let f = |i: usize| usize::from_str_radix(std::str::from_utf8(b.get(at + 6 + i * 8..at + 14 + i * 8)?).ok()?, 16).ok();
                (f(11)?, f(6)?, 110, 4)
            }
            b"070707" => {
                let f = |from: usize, n: usize| usize::from_str_radix(std::str::from_utf8(b.get(at + from..at + from + n)?).ok()?, 8).ok();
                (f(59, 6)?, f(65, 11)?, 76, 1)
            }
            // the old form, in either order of bytes
            _ if magic[..2] == [0xc7, 0x71] || magic[..2] == [0x71, 0xc7] => {
                let read = if magic[0] == 0xc7 { u16::from_le_bytes } else { u16::from_be_bytes };
                let h = |i: usize| b.get(at + i..at + i + 2).map(|x| usize::from(read([x[0], x[1]])));
                (h(20)?, h(22)? << 16 | h(24)?, 26, 2)
            }
            _ => return None,
        };
        let name = b.get(at + head..(at + head).checked_add(name_len)?.checked_sub(1)?)?;
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
        if name == "TRAILER!!!" {
            break;
        }
        out.push(name);
        let up = |x: usize| x.div_ceil(pad) * pad;
        at = up(at + head + name_len).checked_add(up(size))?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member in the old binary form of cpio, in either order of bytes.
    fn old_cpio(name: &str, data: &[u8], put: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, data) in [(name, data), ("TRAILER!!!", &[][..])] {
            let size = u16::try_from(data.len()).unwrap();
            let mut head = [0_u16; 13];
            head[0] = 0o070_707;
            head[10] = u16::try_from(name.len() + 1).unwrap();
            head[12] = size;
            out.extend(head.into_iter().flat_map(put));
            out.extend_from_slice(name.as_bytes());
            out.push(0);
            out.resize(out.len().next_multiple_of(2), 0);
            out.extend_from_slice(data);
            out.resize(out.len().next_multiple_of(2), 0);
        }
        out
    }

    #[test]
    fn the_old_form_of_cpio_is_read_and_is_no_tar() {
        for put in [u16::to_le_bytes, u16::to_be_bytes] {
            for data in [&b"x"[..], &[7; 3_000]] {
                let file = old_cpio("owned/a.txt", data, put);
                assert_eq!(cpio_members(&file), Some(vec!["owned/a.txt".to_owned()]));
                assert_eq!(tar_members(&file), None);
            }
        }
        assert_eq!(tar_members(b"short"), None);
        assert_eq!(cpio_members(b"short"), None);
    }

    #[test]
    fn a_header_of_tar_adds_up() {
        let mut block = [0_u8; 512];
        block[..5].copy_from_slice(b"a.txt");
        block[124..135].copy_from_slice(b"00000000000");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|x| u32::from(*x)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        // a file of before there was a magic word, with an end of two empty blocks
        let file = [&block[..], &[0; 1024]].concat();
        assert_eq!(tar_members(&file), Some(vec![("a.txt".to_owned(), false)]));
        block[0] = b'b';
        assert_eq!(tar_members(&[&block[..], &[0; 1024]].concat()), None);
    }
}
