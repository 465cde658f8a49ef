//! A server on the loopback address of this machine, one short answer for each question.
//!
//! It speaks as little HTTP as that takes: a head within bounds, a body of a length that is said, one
//! answer, and the end of the connection. Nobody from another machine reaches it; who of this machine may,
//! whoever answers decides.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How many are answered at once; others wait in the kernel.
const WORKERS: usize = 4;
/// How long a question may take to come, and an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest head.
const MAX_HEAD: usize = 16 << 10;
/// The most lines of a head.
const MAX_LINES: usize = 64;

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `POST`, …
    pub method: String,
    /// What is asked for, before a `?`.
    pub path: String,
    /// What stands behind it.
    pub query: String,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// What came along.
    pub body: Vec<u8>,
}

impl Asked {
    /// The value of a header that is there once; one that comes twice counts for none.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(one, _)| one == name).map(|(_, value)| value.as_str());
        found.next().filter(|_| found.next().is_none())
    }

    /// Whether a header is there at all.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(one, _)| one == name)
    }
}

/// An answer: a number as HTTP has it, and a JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// 200, 404, …
    pub status: u16,
    /// One JSON value.
    pub body: String,
}

/// A question that is none: the number to answer with, and why.
type Malformed = (u16, &'static str);

/// A port of this machine that is listened at.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    max_body: usize,
}

impl Loopback {
    /// Takes a port; 0 is any free one. `max_body` is how long a question's body may be.
    ///
    /// # Errors
    /// Where somebody has it.
    pub fn open(port: u16, max_body: usize) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port))?, max_body })
    }

    /// The port.
    ///
    /// # Errors
    /// Where the system does not say it.
    pub fn port(&self) -> io::Result<u16> {
        self.listener.local_addr().map(|at: SocketAddr| at.port())
    }

    /// Answers until the process ends.
    pub fn serve(&self, answer: impl Fn(&Asked) -> Answered + Sync) {
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    loop {
                        match self.listener.accept() {
                            Ok((stream, from)) if from.ip().is_loopback() => drop(self.one(stream, &answer)),
                            Ok(_) => {}
                            // Too many open files: it passes.
                            Err(_) => std::thread::sleep(Duration::from_millis(100)),
                        }
                    }
                });
            }
        });
    }

    fn one(&self, mut stream: TcpStream, answer: &(impl Fn(&Asked) -> Answered + Sync)) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let answered = match read(&mut Timed { stream: &stream, end: Instant::now() + PATIENCE }, self.max_body) {
            Ok(asked) => answer(&asked),
            Err((0, _)) => return Ok(()),
            Err((status, why)) => Answered { status, body: format!("{{\"schema\":1,\"error\":\"{why}\"}}") },
        };
        let head = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
             x-content-type-options: nosniff\r\nconnection: close\r\n\r\n",
            answered.status,
            word(answered.status),
            answered.body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(answered.body.as_bytes())?;
        stream.flush()
    }
}

/// A stream whose reads all together end at a time.
struct Timed<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(into)
    }
}

/// Reads a question. Number 0: there is nobody to answer.
fn read(stream: &mut impl Read, max_body: usize) -> Result<Asked, Malformed> {
    let mut data = Vec::new();
    let mut piece = [0; 4096];
    let mut more = |data: &mut Vec<u8>| match stream.read(&mut piece) {
        Ok(0) => Err((if data.is_empty() { 0 } else { 400 }, "it ends too early")),
        Ok(count) => {
            data.extend_from_slice(piece.get(..count).unwrap_or_default());
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => Err((408, "it does not come")),
        Err(_) => Err((0, "")),
    };
    let end = loop {
        if let Some(end) = data.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if data.len() > MAX_HEAD {
            return Err((431, "its head is too long"));
        }
        more(&mut data)?;
    };
    let mut body = data.split_off(end + 4);
    data.truncate(end);
    let mut asked = head(&data)?;
    if asked.has("transfer-encoding") {
        return Err((501, "a body has to say its length"));
    }
    let length = match asked.header("content-length") {
        Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map_err(|_| (413, "it is too long"))?
        }
        None if !asked.has("content-length") => 0,
        _ => return Err((400, "its length is no number")),
    };
    if length > max_body {
        return Err((413, "it is too long"));
    }
    while body.len() < length {
        more(&mut body)?;
    }
    body.truncate(length);
    asked.body = body;
    Ok(asked)
}

/// Reads the head of a question.
fn head(data: &[u8]) -> Result<Asked, Malformed> {
    let text = std::str::from_utf8(data).map_err(|_| (400, "its head is not UTF-8"))?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return Err((400, "its first line is not METHOD PATH VERSION"));
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !target.starts_with('/') || method.is_empty() {
        return Err((400, "its first line is not METHOD PATH VERSION"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut asked = Asked { method: method.to_owned(), path: path.to_owned(), query: query.to_owned(), ..Asked::default() };
    for line in lines {
        if asked.headers.len() >= MAX_LINES {
            return Err((431, "its head is too long"));
        }
        let (name, value) = line.split_once(':').ok_or((400, "a line of its head is not NAME: VALUE"))?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err((400, "a line of its head is not NAME: VALUE"));
        }
        asked.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(asked)
}

/// The word that goes with a number.
fn word(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comes in pieces of a few bytes.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(3).min(into.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn status(text: &str) -> u16 {
        read(&mut Slow(text.as_bytes()), 100).unwrap_err().0
    }

    #[test]
    fn a_question_is_read_whole() {
        let text = "POST /type?wait=3 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 5\r\n\r\nä\r\n.rest";
        let asked = read(&mut Slow(text.as_bytes()), 100).unwrap();
        assert_eq!((&*asked.method, &*asked.path, &*asked.query, &*asked.body), ("POST", "/type", "wait=3", "ä\r\n.".as_bytes()));
        assert_eq!((asked.header("host"), asked.header("x")), (Some("127.0.0.1:1"), None));
    }

    #[test]
    fn what_is_no_question_is_refused() {
        assert_eq!(status(""), 0);
        assert_eq!(status("GET / HTTP/1.1\r\n"), 400);
        for line in ["GET /", "GET / HTTP/2", "GET  / HTTP/1.1", "GET http://x/ HTTP/1.1", " / HTTP/1.1"] {
            assert_eq!(status(&format!("{line}\r\n\r\n")), 400, "{line}");
        }
        for (lines, wanted) in [
            ("content-length: 101", 413),
            ("content-length: 99999999999999999999999", 413),
            ("content-length: +1", 400),
            ("content-length: 1\r\ncontent-length: 2", 400),
            ("transfer-encoding: chunked", 501),
            ("no colon", 400),
            ("na me: x", 400),
        ] {
            assert_eq!(status(&format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n")), wanted, "{lines}");
        }
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_LINES + 1))), 431);
        assert_eq!(status(&format!("GET /{} HTTP/1.1", "a".repeat(MAX_HEAD))), 431);
    }

    #[test]
    fn a_header_that_comes_twice_counts_for_none() {
        let asked = head(b"GET / HTTP/1.1\r\nHost: a\r\nhost: b").unwrap();
        assert_eq!((asked.header("host"), asked.has("host")), (None, true));
    }
}
