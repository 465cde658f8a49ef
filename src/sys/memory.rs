//! Memory that was needed once, and is not any more.

/// Gives back to the system what a start has needed: pages of the heap that are free, and pages of the program itself,
/// which are read again from its file where they are used. It costs a pass over the heap; what stays in use stays.
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
    for (start, length) in own_text() {
        #[expect(unsafe_code, reason = "nix wants a pointer as well")]
        // SAFETY: the range is a private mapping of a file that is executed and was never writable: its pages are
        // those of the file, and come back by themselves.
        unsafe {
            nix::libc::madvise(start as *mut nix::libc::c_void, length, nix::libc::MADV_DONTNEED);
        }
    }
}

/// Where the code of this program lies: start and length. Whatever is or was writable is left out.
#[cfg(target_os = "linux")]
fn own_text() -> Vec<(usize, usize)> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let text = maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (range, mode) = (words.next()?, words.next()?);
        let path = words.nth(3)?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        (mode == "r-xp" && std::path::Path::new(path) == program && start < end).then(|| (start, end - start))
    });
    text.collect()
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
        assert!(!super::own_text().is_empty());
    }
}
