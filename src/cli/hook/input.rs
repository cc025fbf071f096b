//! The payload on stdin, bounded in size and in time: an agent that keeps the pipe open, or a
//! person who types the command by hand, is not waited for.

use std::io::{IsTerminal, Read};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

/// A last message of 10 MB must fit; nothing sensible is larger than this.
const INPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
const INPUT_SECONDS_MAX: u64 = 5;
const CHUNK_BYTES: usize = 64 * 1024;

/// What came in, as far as it came.
pub fn read() -> Vec<u8> {
    if std::io::stdin().is_terminal() {
        return Vec::new();
    }
    gather()
}

/// Waits on the pipe itself: a thread would cost every stop more than reading does.
#[cfg(unix)]
fn gather() -> Vec<u8> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let deadline = Instant::now() + Duration::from_secs(INPUT_SECONDS_MAX);
    let stdin = std::io::stdin();
    let mut lock = stdin.lock();
    let mut buffer = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    while buffer.len() < INPUT_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waiting, Some(&timeout)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
        }
        match lock.read(&mut chunk) {
            Ok(count) if count > 0 => buffer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    buffer
}

#[cfg(not(unix))]
fn gather() -> Vec<u8> {
    use std::sync::{Arc, Mutex, mpsc};

    let buffer = Arc::new(Mutex::new(Vec::new()));
    let (done, finished) = mpsc::channel();
    let shared = buffer.clone();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut total = 0;
        while total < INPUT_BYTES_MAX {
            match stdin.read(&mut chunk) {
                Ok(count) if count > 0 => {
                    total += count;
                    if let Ok(mut buffer) = shared.lock() {
                        buffer.extend_from_slice(&chunk[..count]);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        // Nobody listens if it took too long.
        let _ = done.send(());
    });
    let _ = finished.recv_timeout(Duration::from_secs(INPUT_SECONDS_MAX));
    buffer
        .lock()
        .map(|mut buffer| std::mem::take(&mut *buffer))
        .unwrap_or_default()
}
