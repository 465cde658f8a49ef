//! The terminal and the standard streams.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::time::Duration;

/// Whether standard input and standard error are a terminal: somebody is there to be asked.
#[must_use]
pub fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether standard input and standard output are a terminal: a session can be had at it.
#[must_use]
pub fn is_a_session() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether standard input is a terminal.
#[must_use]
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether standard output is a terminal.
#[must_use]
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes data to standard output. A reader that went away (a closed pipe) is not an error.
///
/// # Errors
/// Any other failure to write, such as a full disk behind a redirection.
pub fn out(data: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes to standard output in large pieces. A reader that went away is not an error.
///
/// # Errors
/// As [`out`], or what `write` says.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // What it still holds is for nobody.
            let _ = stdout.into_parts();
            Ok(())
        }
        other => other,
    }
}

/// Waits so long, or until nobody can read standard output any more (a closed pipe): then `true`.
#[must_use]
pub fn reader_is_gone(pause: Duration) -> bool {
    use std::os::fd::AsFd as _;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let stdout = io::stdout();
    let mut watched = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let millis = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
    match poll(&mut watched, millis) {
        Ok(count) => count > 0 && watched.iter().any(|fd| fd.any() == Some(true) || fd.revents().is_some_and(|events| !events.is_empty())),
        // A signal that does not end us.
        Err(_) => false,
    }
}

/// Writes words for people to standard error; there is nobody left to tell if that fails.
pub fn err(words: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(words.as_bytes());
    let _ = stderr.flush();
}

/// Reads standard input up to `max` bytes; `true` says that there was more.
///
/// # Errors
/// Where the stream can't be read.
pub fn stdin(max: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut data = Vec::new();
    io::stdin().lock().take(max.saturating_add(1)).read_to_end(&mut data)?;
    let more = data.len() as u64 > max;
    if more {
        data.truncate(usize::try_from(max).unwrap_or(usize::MAX));
    }
    Ok((data, more))
}

/// What was read of standard input in time.
#[derive(Debug, Default)]
pub struct Taken {
    /// The bytes, at most as many as were allowed.
    pub bytes: Vec<u8>,
    /// Whether there were more.
    pub more: bool,
    /// Whether the end had not come when the time was up.
    pub late: bool,
}

/// Reads standard input up to `max` bytes, and no longer than `patience`: what came until then is handed over.
///
/// # Errors
/// Where the stream can't be read.
pub fn stdin_within(max: u64, patience: Duration) -> io::Result<Taken> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let stdin = io::stdin();
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let start = std::time::Instant::now();
    let mut taken = Taken::default();
    let mut piece = vec![0; 1 << 16];
    loop {
        let left = patience.saturating_sub(start.elapsed());
        let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)], wait) {
            Ok(0) => return Ok(Taken { late: true, ..taken }),
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let read = match nix::unistd::read(stdin.as_fd(), &mut piece) {
            Ok(0) => return Ok(taken),
            Ok(read) => read,
            Err(nix::errno::Errno::EINTR | nix::errno::Errno::EAGAIN) => continue,
            Err(error) => return Err(error.into()),
        };
        taken.bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if taken.bytes.len() > max {
            taken.bytes.truncate(max);
            return Ok(Taken { more: true, ..taken });
        }
    }
}

/// Hands over standard input line by line as it comes, without the line ends; `None` for a line longer
/// than `max` bytes, which is passed over.
///
/// # Errors
/// Where the stream can't be read.
pub fn each_line(max: usize, mut take: impl FnMut(Option<Vec<u8>>) -> ControlFlow<()>) -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let mut more = stdin.by_ref().take(max as u64 + 1).read_until(b'\n', &mut line)? > 0;
        if !more {
            return Ok(());
        }
        let whole = line.ends_with(b"\n") || line.len() <= max;
        while more && !whole {
            line.clear();
            more = stdin.by_ref().take(1 << 16).read_until(b'\n', &mut line)? > 0 && !line.ends_with(b"\n");
        }
        if take(whole.then(|| line.strip_suffix(b"\n").unwrap_or(&line).to_vec())).is_break() {
            return Ok(());
        }
    }
}

/// Shows a question on standard error and reads the answer line; `None` at the end of input.
///
/// # Errors
/// Where the terminal can't be read.
pub fn ask(question: &str) -> io::Result<Option<String>> {
    err(question);
    let mut line = String::new();
    Ok((io::stdin().read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
}
