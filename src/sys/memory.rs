//! Memory that was needed once, and is not any more.

/// Gives back to the system what a start has needed: pages of the heap that are free, and pages of the program and
/// its libraries, which are read again from their files where they are used. It costs a pass over the heap; what stays in use stays.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "the standard library has no call for it")]
        // SAFETY: it takes a number, and gives back only what is free.
        unsafe {
            nix::libc::malloc_trim(0);
        }
    }
    #[cfg(target_os = "linux")]
    for (start, length) in only_read() {
        #[expect(unsafe_code, reason = "nix wants a pointer as well")]
        // SAFETY: the range is a private mapping of a file, can't be written to, and holds no page of its own: all its
        // pages are those of the file, and come back by themselves.
        unsafe {
            nix::libc::madvise(start as *mut nix::libc::c_void, length, nix::libc::MADV_DONTNEED);
        }
    }
}

/// Where files are mapped that were only read: start and length. What holds a page of its own, in memory or swapped
/// out, is left out: a page that the loader has filled in comes back by itself from nowhere.
#[cfg(target_os = "linux")]
fn only_read() -> Vec<(usize, usize)> {
    ranges(&std::fs::read_to_string("/proc/self/smaps").unwrap_or_default())
}

#[cfg(target_os = "linux")]
fn ranges(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut range, mut own) = (None, 0);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        if first.ends_with(':') {
            own += u32::from(matches!(first, "Anonymous:" | "Swap:") && second == "0");
            // Both say that nothing is its own: only then.
            if own == 2 {
                found.extend(range.take());
            }
            continue;
        }
        own = 0;
        let of_file = matches!(second, "r-xp" | "r--p") && words.nth(3).is_some_and(|path| path.starts_with('/'));
        range = first.split_once('-').filter(|_| of_file).and_then(|(start, end)| {
            let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
            Some((start, end.checked_sub(start)?))
        });
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_used_is_there_afterwards() {
        let kept: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        let gone: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        drop(gone);
        super::give_back();
        assert!(kept.iter().enumerate().all(|(n, text)| *text == n.to_string()));
        #[cfg(target_os = "linux")]
        assert!(!super::only_read().is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_loader_has_filled_in_stays() {
        let one = |range: &str, mode: &str, path: &str, anonymous: u32, swap: u32| {
            format!(
                "{range} {mode} 00000000 fe:00 12 {path}\nSize: 8 kB\nAnonymous: {anonymous} kB\nSwap: {swap} kB\nVmFlags: rd mr mw me sd\n"
            )
        };
        let smaps = [
            one("1000-3000", "r--p", "/bin/loci", 0, 0),
            one("3000-4000", "r-xp", "/bin/loci", 0, 0),
            one("4000-5000", "r--p", "/bin/loci", 4, 0),
            one("5000-6000", "r--p", "/bin/loci", 0, 4),
            one("6000-7000", "rw-p", "/bin/loci", 0, 0),
            one("7000-8000", "r--p", "[vvar]", 0, 0),
            one("8000-9000", "r--s", "/var/x", 0, 0),
            "9000-a000 r--p 00000000 fe:00 12 /bin/loci\nAnonymous: 0 kB\n".to_owned(),
        ];
        assert_eq!(super::ranges(&smaps.concat()), [(0x1000, 0x2000), (0x3000, 0x1000)]);
    }
}
