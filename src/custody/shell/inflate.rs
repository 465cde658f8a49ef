//! Unpacks gzip, for the list of members of a small `.tar.gz`. Bounded by the caller's limit.

struct Bits<'a> {
    b: &'a [u8],
    at: usize,
    acc: u32,
    n: u32,
}

impl Bits<'_> {
    fn get(&mut self, n: u32) -> Option<u32> {
        while self.n < n {
            self.acc |= u32::from(*self.b.get(self.at)?) << self.n;
            self.at += 1;
            self.n += 8;
        }
        let v = self.acc & ((1u32 << n) - 1);
        self.acc >>= n;
        self.n -= n;
        Some(v)
    }
}

struct Tree {
    count: [u16; 16],
    symbols: Vec<u16>,
}

impl Tree {
    fn new(lengths: &[u8]) -> Self {
        let mut count = [0u16; 16];
        for l in lengths {
            count[usize::from(*l & 15)] += 1;
        }
        count[0] = 0;
        let mut offs = [0u16; 16];
        for i in 1..15 {
            offs[i + 1] = offs[i] + count[i];
        }
        let mut symbols = vec![0u16; lengths.len()];
        for (s, l) in (0u16..).zip(lengths) {
            if *l != 0 {
                let o = &mut offs[usize::from(*l & 15)];
                if let Some(slot) = symbols.get_mut(usize::from(*o)) {
                    *slot = s;
                }
                *o += 1;
            }
        }
        Self { count, symbols }
    }

    fn next(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first, mut index) = (0i32, 0i32, 0i32);
        for len in 1..16 {
            code |= i32::try_from(bits.get(1)?).ok()?;
            let count = i32::from(self.count[len]);
            if code - count < first {
                return self.symbols.get(usize::try_from(index + code - first).ok()?).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

const LEN_BASE: [u16; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LEN_EXTRA: [u8; 29] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DIST_BASE: [u16; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
    24577,
];
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Unpacks a raw deflate stream. What is whole is given even where the end is missing or too far.
fn inflate(b: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut bits = Bits { b, at: 0, acc: 0, n: 0 };
    let mut out: Vec<u8> = Vec::new();
    loop {
        let last = bits.get(1)?;
        match bits.get(2)? {
            0 => {
                bits.acc = 0;
                bits.n = 0;
                let len = usize::from(u16::from_le_bytes([*b.get(bits.at)?, *b.get(bits.at + 1)?]));
                let from = bits.at + 4;
                out.extend_from_slice(b.get(from..from + len)?);
                bits.at = from + len;
            }
            k @ (1 | 2) => {
                let (lit, dist) = if k == 1 {
                    let mut l = [8u8; 288];
                    l[144..256].fill(9);
                    l[256..280].fill(7);
                    (Tree::new(&l), Tree::new(&[5u8; 30]))
                } else {
                    let (nl, nd, nc) = (bits.get(5)? as usize + 257, bits.get(5)? as usize + 1, bits.get(4)? as usize + 4);
                    let mut cl = [0u8; 19];
                    for o in &ORDER[..nc] {
                        cl[*o] = bits.get(3)? as u8;
                    }
                    let ct = Tree::new(&cl);
                    let mut lens: Vec<u8> = Vec::new();
                    while lens.len() < nl + nd {
                        match ct.next(&mut bits)? {
                            s @ 0..=15 => lens.push(s as u8),
                            16 => {
                                let p = *lens.last()?;
                                let n = 3 + bits.get(2)? as usize;
                                lens.extend(std::iter::repeat_n(p, n));
                            }
                            17 => {
                                let n = 3 + bits.get(3)? as usize;
                                lens.extend(std::iter::repeat_n(0, n));
                            }
                            _ => {
                                let n = 11 + bits.get(7)? as usize;
                                lens.extend(std::iter::repeat_n(0, n));
                            }
                        }
                    }
                    (Tree::new(lens.get(..nl)?), Tree::new(lens.get(nl..nl + nd)?))
                };
                loop {
                    let s = lit.next(&mut bits)?;
                    match s {
                        0..=255 => out.push(s as u8),
                        256 => break,
                        _ => {
                            let i = usize::from(s - 257);
                            let len = usize::from(*LEN_BASE.get(i)?) + bits.get(u32::from(LEN_EXTRA[i]))? as usize;
                            let d = usize::from(dist.next(&mut bits)?);
                            let extra = if d < 4 { 0 } else { (d as u32 - 2) / 2 };
                            let back = usize::from(*DIST_BASE.get(d)?) + bits.get(extra)? as usize;
                            let from = out.len().checked_sub(back)?;
                            for k in 0..len {
                                let x = out[from + k];
                                out.push(x);
                            }
                        }
                    }
                    if out.len() > max {
                        return None;
                    }
                }
            }
            _ => return None,
        }
        if last == 1 {
            return Some(out);
        }
        if out.len() > max {
            return None;
        }
    }
}

/// Unpacks the first member of a gzip file; `None` where it is none or longer than `max`.
pub(crate) fn gunzip(b: &[u8], max: usize) -> Option<Vec<u8>> {
    if b.len() < 18 || b[0] != 0x1f || b[1] != 0x8b || b[2] != 8 {
        return None;
    }
    let flags = b[3];
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*b.get(at)?, *b.get(at + 1)?]));
    }
    for bit in [8, 16] {
        if flags & bit != 0 {
            at += b.get(at..)?.iter().position(|x| *x == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    inflate(b.get(at..)?, max)
}
