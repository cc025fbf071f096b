//! The only place that starts a child: nothing on its stdin, a deadline, bounded output, and an
//! end for everything it started when time is up. What its answer means is the caller's business.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One run of a program.
#[derive(Clone, Debug)]
pub struct Call {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub dir: Option<PathBuf>,
    /// Applied in order over our own environment; nothing as the value removes the name.
    pub env: Vec<(OsString, Option<OsString>)>,
    pub deadline: Duration,
    pub when_late: WhenLate,
    /// Of each stream.
    pub output_bytes_max: usize,
}

/// A file that may not grow beyond a limit of the user's is an error like a full disk, and not the
/// end of this process: a hook that is killed lets its agent go without a word.
pub fn outlive_file_limits() {
    tree::hear_of_file_limits();
}

/// Where a program is, by the rules of the system: PATH, and on Windows the usual endings.
pub fn locate(program: &str) -> Option<PathBuf> {
    which::which(program).ok()
}

/// What becomes of a program that has not ended when time is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenLate {
    /// It is ended, and all that it started.
    #[default]
    End,
    /// It goes on by itself; nobody waits for it any more. For what must not stop half-way.
    Leave,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Nothing if a signal ended the program.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// A stream was longer than was asked for, and only its end was kept.
    pub is_truncated: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{program}` was not found")]
    NotFound { program: String },
    #[error("could not start `{program}`")]
    Spawn { program: String, source: io::Error },
    #[error(
        "`{program}` had not ended after {seconds} s{}",
        after_colon(stderr_tail)
    )]
    Deadline {
        program: String,
        seconds: u64,
        stderr_tail: String,
    },
    #[error("could not {action} `{program}`")]
    Io {
        program: String,
        action: &'static str,
        source: io::Error,
    },
}

/// The time and the room that a call gets unless its caller says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);
const OUTPUT_BYTES_MAX: usize = 8 << 20;

/// Output lies in memory or on disk until it is read, and a child that never falls silent would
/// fill either long before its deadline.
const STREAM_BYTES_MAX: u64 = 256 << 20;
const STREAM_CHECK_EVERY: Duration = Duration::from_millis(100);

/// A killed process is gone at once unless the kernel holds it, on a dead network mount for one.
const REAP_MAX: Duration = Duration::from_secs(1);

const STDERR_TAIL_BYTES_MAX: usize = 2 << 10;

impl Call {
    pub fn new(program: impl Into<OsString>) -> Call {
        Call {
            program: program.into(),
            args: Vec::new(),
            dir: None,
            env: Vec::new(),
            deadline: DEADLINE,
            when_late: WhenLate::default(),
            output_bytes_max: OUTPUT_BYTES_MAX,
        }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Call {
        self.args.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Call {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Call {
        self.dir = Some(dir.into());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Call {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Call {
        self.env.push((name.into(), None));
        self
    }

    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Call {
        self.deadline = deadline;
        self
    }

    #[must_use]
    pub fn when_late(mut self, when_late: WhenLate) -> Call {
        self.when_late = when_late;
        self
    }

    /// Runs the program to its end. An exit code other than 0 is an answer, not an error.
    pub fn run(&self) -> Result<Output, Error> {
        self.run_within(STREAM_BYTES_MAX)
    }

    fn run_within(&self, stream_bytes_max: u64) -> Result<Output, Error> {
        self.start()?.end_within(stream_bytes_max)
    }

    /// Starts the program; others can be done meanwhile.
    pub fn start(&self) -> Result<Started<'_>, Error> {
        // On a busy machine a start alone can take long; that is the caller's time as well.
        let began = Instant::now();
        let no_files = |source| self.io("open files for the output of", source);
        let streams = Streams::new().map_err(no_files)?;
        let (stdout, stderr) = streams.share().map_err(no_files)?;
        let env = self.env.clone();
        let mut expression = duct::cmd(self.program_path(), &self.args)
            .stdin_null()
            .stdout_file(stdout)
            .stderr_file(stderr)
            .unchecked()
            // Not by duct's own `env`, in which the first of two values for a name wins.
            .before_spawn(move |command| {
                for (name, value) in &env {
                    match value {
                        Some(value) => command.env(name, value),
                        None => command.env_remove(name),
                    };
                }
                tree::lead(command);
                Ok(())
            });
        if let Some(dir) = &self.dir {
            expression = expression.dir(dir);
        }
        let handle = expression
            .start()
            .map_err(|source| self.unstarted(source))?;
        Ok(Started {
            call: self,
            handle,
            streams,
            began,
            is_settled: false,
        })
    }

    /// A bare name is looked for here and not by the child: for a path the system starts a child
    /// afresh, for a name it first copies this process. What is nowhere is left to the system to
    /// refuse.
    fn program_path(&self) -> OsString {
        if Path::new(&self.program).components().count() != 1 {
            return self.program.clone();
        }
        let found = which::which_in_global(&self.program, self.search_path());
        // A relative folder on the path would mean another one after the child's change of folder.
        let found = found.into_iter().flatten().find(|path| path.is_absolute());
        found.map_or_else(|| self.program.clone(), PathBuf::into_os_string)
    }

    /// Where the child itself would look.
    fn search_path(&self) -> Option<OsString> {
        let set = self.env.iter().rfind(|(name, _)| name == "PATH");
        match set {
            Some((_, value)) => value.clone(),
            None => std::env::var_os("PATH"),
        }
    }

    /// The system says "not found" of the program, of the directory and of a script's interpreter
    /// alike; and of a program that is nowhere it says "permission denied" if the path has a
    /// directory that we may not look into.
    fn unstarted(&self, source: io::Error) -> Error {
        let program = self.program_name();
        let is_absence = matches!(
            source.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
        );
        match &self.dir {
            Some(dir) if !dir.is_dir() => {
                let what = format!("`{}` is no directory", dir.display());
                let source = io::Error::new(io::ErrorKind::NotFound, what);
                Error::Spawn { program, source }
            }
            _ if is_absence && !self.is_program_there() => Error::NotFound { program },
            _ => Error::Spawn { program, source },
        }
    }

    fn is_program_there(&self) -> bool {
        let program = Path::new(&self.program);
        if program.components().count() != 1 {
            return program.is_file();
        }
        let path = self.search_path().unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
    }

    fn late(&self, streams: &mut Streams) -> Error {
        let tail = read_end(&mut streams.stderr, STDERR_TAIL_BYTES_MAX);
        let (stderr, _) = tail.unwrap_or_default();
        Error::Deadline {
            program: self.program_name(),
            seconds: self
                .deadline
                .as_millis()
                .div_ceil(1000)
                .try_into()
                .unwrap_or(u64::MAX),
            stderr_tail: String::from_utf8_lossy(&stderr).trim().to_owned(),
        }
    }

    fn io(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io {
            program: self.program_name(),
            action,
            source,
        }
    }

    fn program_name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// A program that was started and not waited for yet. Dropped before that, it is ended.
pub struct Started<'a> {
    call: &'a Call,
    handle: duct::Handle,
    streams: Streams,
    began: Instant,
    /// It has ended, or may go on by itself.
    is_settled: bool,
}

impl Started<'_> {
    pub fn call(&self) -> &Call {
        self.call
    }

    /// Waits for the program's end, no longer than the call allows.
    pub fn end(self) -> Result<Output, Error> {
        self.end_within(STREAM_BYTES_MAX)
    }

    fn end_within(mut self, stream_bytes_max: u64) -> Result<Output, Error> {
        let code = match self.wait(stream_bytes_max) {
            Ok(End::Exited(code)) => {
                self.is_settled = true;
                code
            }
            // As a closed pipe would have ended it.
            Ok(End::Flooded) => {
                self.kill();
                None
            }
            Ok(End::Late) => {
                self.is_settled = self.call.when_late == WhenLate::Leave;
                return Err(self.call.late(&mut self.streams));
            }
            Err(source) => return Err(self.call.io("wait for", source)),
        };
        self.streams
            .read(code, self.call.output_bytes_max)
            .map_err(|source| self.call.io("read the output of", source))
    }

    fn wait(&self, bytes_max: u64) -> io::Result<End> {
        loop {
            let left = self.call.deadline.saturating_sub(self.began.elapsed());
            if let Some(output) = self.handle.wait_timeout(left.min(STREAM_CHECK_EVERY))? {
                return Ok(End::Exited(output.status.code()));
            }
            if self.began.elapsed() >= self.call.deadline {
                return Ok(End::Late);
            }
            if self.streams.longest()? > bytes_max {
                return Ok(End::Flooded);
            }
        }
    }

    /// Ends the child and what it started. Neither step can fail in a way that is worth more than
    /// the reason for killing.
    fn kill(&mut self) {
        self.is_settled = true;
        tree::kill(&self.handle);
        let _ = self.handle.kill();
        let _ = self.handle.wait_timeout(REAP_MAX);
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.kill();
        }
    }
}

enum End {
    Exited(Option<i32>),
    Late,
    Flooded,
}

/// Where a child writes. Files, not pipes: a daemon that a child leaves behind keeps a pipe open,
/// and whoever reads the pipe to its end waits for the daemon's.
struct Streams {
    stdout: File,
    stderr: File,
}

impl Streams {
    fn new() -> io::Result<Streams> {
        let (stdout, stderr) = (scratch()?, scratch()?);
        tree::append(&stdout)?;
        tree::append(&stderr)?;
        Ok(Streams { stdout, stderr })
    }

    fn share(&self) -> io::Result<(File, File)> {
        Ok((self.stdout.try_clone()?, self.stderr.try_clone()?))
    }

    fn longest(&self) -> io::Result<u64> {
        Ok(self
            .stdout
            .metadata()?
            .len()
            .max(self.stderr.metadata()?.len()))
    }

    fn read(&mut self, code: Option<i32>, bytes_max: usize) -> io::Result<Output> {
        let (stdout, is_stdout_cut) = read_end(&mut self.stdout, bytes_max)?;
        let (stderr, is_stderr_cut) = read_end(&mut self.stderr, bytes_max)?;
        Ok(Output {
            code,
            stdout,
            stderr,
            is_truncated: is_stdout_cut || is_stderr_cut,
        })
    }
}

/// A file that nobody else sees. In memory where the system can do that: it is faster, and a full
/// disk keeps nobody from an answer.
#[cfg(target_os = "linux")]
fn scratch() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    match memfd_create("beadlock", MemfdFlags::CLOEXEC) {
        Ok(file) => Ok(file.into()),
        Err(_) => tempfile::tempfile(),
    }
}

#[cfg(not(target_os = "linux"))]
fn scratch() -> io::Result<File> {
    tempfile::tempfile()
}

/// The last bytes of a stream, and whether there were more. What a failing program has to say
/// comes last, and half a document is of no use whichever half it is.
fn read_end(file: &mut File, bytes_max: usize) -> io::Result<(Vec<u8>, bool)> {
    let bytes_max = bytes_max as u64;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    // A daemon may still be writing.
    file.take(length.min(bytes_max)).read_to_end(&mut bytes)?;
    Ok((bytes, length > bytes_max))
}

fn after_colon(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}

/// A child leads a process group, so that its own children can be ended with it. One that calls
/// `setsid` gets away.
#[cfg(unix)]
mod tree {
    use std::fs::File;
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::process::{Pid, Signal, kill_process_group};

    /// See `super::outlive_file_limits`.
    pub fn hear_of_file_limits() {
        // Nobody asks: a write that fails says it. Where there is no handler to be had, the signal
        // kills as before.
        let heard = std::sync::Arc::default();
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard);
    }

    pub fn lead(command: &mut Command) {
        command.process_group(0);
    }

    pub fn kill(handle: &duct::Handle) {
        // The child has not been waited for, so its number cannot be somebody else's by now.
        for pid in handle.pids() {
            if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }

    /// Scripts that open `/dev/stderr` get a second file position, and would otherwise write over
    /// what stands there.
    pub fn append(file: &File) -> io::Result<()> {
        let flags = fcntl_getfl(file)?;
        Ok(fcntl_setfl(file, flags | OFlags::APPEND)?)
    }
}

/// Only the direct child is ended so far; its children need a job object.
#[cfg(not(unix))]
mod tree {
    use std::fs::File;
    use std::io;
    use std::process::Command;

    pub fn hear_of_file_limits() {}

    pub fn lead(_command: &mut Command) {}

    pub fn kill(_handle: &duct::Handle) {}

    pub fn append(_file: &File) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::PermissionsExt;

    use rustix::process::{Pid, Signal, kill_process, test_kill_process};

    use super::*;

    fn shell(script: &str) -> Call {
        // Generous, for the machines of strangers; nothing here takes long unless it is broken.
        Call::new("sh")
            .args(["-c", script])
            .deadline(Duration::from_secs(60))
    }

    fn pid(text: &[u8]) -> Option<Pid> {
        let text = std::str::from_utf8(text).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }

    /// A process that nobody has waited for yet still has a number, but does not run.
    fn runs(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        test_kill_process(pid).is_ok() && !stat.is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn a_daemon_that_keeps_the_stream_open_delays_nobody() {
        let output = shell("sleep 300 & echo $!").run().unwrap();
        let daemon = pid(&output.stdout).unwrap();
        assert!(runs(daemon), "we were held until the daemon had ended");
        assert_eq!(output.code, Some(0));
        kill_process(daemon, Signal::KILL).unwrap();
    }

    #[test]
    fn the_deadline_ends_the_whole_group() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = "echo why >&2; sleep 300 & echo $! > pid.part; mv pid.part pid; wait";
        let call = shell(script)
            .dir(dir.path())
            .deadline(Duration::from_secs(2));
        let error = call.run().unwrap_err();
        let Error::Deadline {
            program,
            seconds,
            stderr_tail,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((program.as_str(), seconds), ("sh", 2));
        assert_eq!(stderr_tail, "why");
        let grandchild = pid(&std::fs::read(file).unwrap()).unwrap();
        let killed = Instant::now();
        while runs(grandchild) && killed.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!runs(grandchild));
    }

    #[test]
    fn of_much_output_the_end_is_kept() {
        let mut call = shell("head -c 50000000 /dev/zero; echo end");
        call.output_bytes_max = 1000;
        let output = call.run().unwrap();
        assert_eq!(output.code, Some(0));
        assert_eq!(output.stdout.len(), 1000);
        assert!(output.stdout.ends_with(b"\0end\n"));
        assert!(output.is_truncated);
    }

    #[test]
    fn output_that_just_fits_is_whole() {
        let mut call = shell("printf 1234");
        call.output_bytes_max = 4;
        let output = call.run().unwrap();
        assert_eq!(
            (&output.stdout[..], output.is_truncated),
            (&b"1234"[..], false)
        );
    }

    #[test]
    fn a_child_that_never_falls_silent_does_not_fill_the_disk() {
        let mut call = shell("yes");
        call.output_bytes_max = 1000;
        let output = call.run_within(1 << 20).unwrap();
        assert_eq!((output.code, output.is_truncated), (None, true));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Call::new("no-such-program").run().unwrap_err();
        assert!(matches!(&error, Error::NotFound { program } if program == "no-such-program"));
        assert_eq!(error.to_string(), "`no-such-program` was not found");
    }

    #[test]
    fn a_program_is_missing_even_if_the_path_cannot_be_searched_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        // Refused in the same way as a directory that belongs to somebody else, by root too.
        std::fs::create_dir(dir.path().join("tool")).unwrap();
        let call = Call::new("tool").env("PATH", dir.path());
        assert!(matches!(call.run(), Err(Error::NotFound { .. })));
        std::fs::remove_dir(dir.path().join("tool")).unwrap();
        std::fs::write(dir.path().join("tool"), "").unwrap();
        assert!(matches!(call.run(), Err(Error::Spawn { .. })));
    }

    #[test]
    fn a_script_without_its_interpreter_is_not_missing() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/no/such/shell\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Call::new(script).run(), Err(Error::Spawn { .. })));
    }

    #[test]
    fn a_missing_directory_is_not_taken_for_a_missing_program() {
        let error = Call::new("sh").dir("/no/such/place").run().unwrap_err();
        let Error::Spawn { program, source } = error else {
            panic!("{error}");
        };
        assert_eq!(program, "sh");
        assert_eq!(source.to_string(), "`/no/such/place` is no directory");
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let output = shell("printf 'a\\377b'; printf '\\376' >&2").run().unwrap();
        assert_eq!(output.stdout, b"a\xffb");
        assert_eq!(output.stderr, b"\xfe");
        let argument = OsString::from_vec(vec![b'a', 0xff]);
        let output = Call::new("printf").arg("%s").arg(argument).run().unwrap();
        assert_eq!(output.stdout, b"a\xff");
    }

    #[test]
    fn an_exit_code_is_an_answer_and_death_by_signal_has_none() {
        assert_eq!(shell("exit 3").run().unwrap().code, Some(3));
        assert_eq!(shell("kill -9 $$").run().unwrap().code, None);
    }

    #[test]
    fn the_later_of_two_values_for_a_name_wins() {
        let call = shell("echo \"${A-unset} ${B-unset} ${HOME-unset}\"")
            .env("A", "1")
            .env("A", "2")
            .env("B", "1")
            .env_remove("B")
            .env_remove("HOME");
        assert_eq!(call.run().unwrap().stdout, b"2 unset unset\n");
    }

    #[test]
    fn a_reopened_stream_is_not_written_over() {
        let output = shell("echo a long line; echo b >> /dev/stdout; echo c")
            .run()
            .unwrap();
        assert_eq!(output.stdout, b"a long line\nb\nc\n");
    }

    #[test]
    fn stdin_is_empty() {
        const MARK: &str = "BEADLOCK_TEST_INSIDE";
        // Our own stdin must hold something for a child to find: so in a second process.
        if std::env::var_os(MARK).is_none() {
            let test = "edge::process::tests::stdin_is_empty";
            let program = std::env::current_exe().unwrap();
            let said = duct::cmd(program, [test, "--exact", "--nocapture"])
                .env(MARK, "1")
                .stdin_bytes("ours\n")
                .read();
            assert!(said.unwrap().contains("1 passed"));
            return;
        }
        assert_eq!(shell("cat; echo done").run().unwrap().stdout, b"done\n");
    }
}
