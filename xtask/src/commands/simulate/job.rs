//! One run of the simulator in a process of its own, and several side by side.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::suite::Tally;

/// What a child prints, one a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A case begins.
    Begin(String),
    /// A case is done: its row of the table.
    Row(String),
    /// Something is wrong.
    Failure(String),
    /// All is done.
    End(Tally),
    /// The run itself could not be made.
    Broken(String),
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// How the cases ended.
    pub tally: Tally,
    /// A line per case.
    pub rows: Vec<String>,
    /// What is wrong.
    pub failures: Vec<String>,
    /// How the process died, if it did.
    pub crash: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// A run to be made.
pub struct Job {
    command: anyhow::Result<Command>,
}

impl Job {
    /// A run of one backend.
    pub fn new(root: &Path, backend: &str, case: Option<&str>) -> Job {
        let command = env::current_exe().map_err(anyhow::Error::from).map(|this| {
            let mut command = Command::new(this);
            command.args(["simulate", "--backend", backend]);
            command.arg("--root").arg(root);
            if let Some(case) = case {
                command.args(["--case", case]);
            }
            command
        });
        Job { command }
    }

    /// With an option and its value.
    pub fn argument(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        if let Ok(command) = &mut self.command {
            command.arg(name).arg(value);
        }
        self
    }

    /// With another value of the last option.
    pub fn argument_again(mut self, value: impl AsRef<OsStr>) -> Job {
        if let Ok(command) = &mut self.command {
            command.arg(value);
        }
        self
    }

    /// Makes the run and waits for it.
    pub fn run(self) -> anyhow::Result<Ended> {
        let started = Instant::now();
        let output = self
            .command?
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut ended = read(&stdout, Death::of(output.status), &stderr)?;
        ended.seconds = started.elapsed().as_secs_f64();
        Ok(ended)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// By itself, well.
    None,
    /// By a signal that wrong code gets: a wild access, a trap.
    Fault(i32),
    /// In any other way; that says nothing about the kernel.
    Other,
}

impl Death {
    fn of(status: ExitStatus) -> Death {
        // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV. Not SIGABRT: that is how the simulator gives up.
        const FAULTS: [i32; 5] = [4, 5, 7, 8, 11];
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        match signal {
            Some(signal) if FAULTS.contains(&signal) => Death::Fault(signal),
            None if status.success() => Death::None,
            _ => Death::Other,
        }
    }
}

/// Reads a child's lines. One that faulted did so in the case it had begun.
fn read(stdout: &str, death: Death, stderr: &str) -> anyhow::Result<Ended> {
    let mut ended = Ended::default();
    let mut begun = None;
    let mut finished = false;
    for line in stdout.lines() {
        // A kernel under debugging may print lines of its own.
        let Ok(line) = serde_json::from_str(line) else {
            continue;
        };
        match line {
            Line::Begin(id) => begun = Some(id),
            Line::Row(row) => {
                begun = None;
                ended.rows.push(row);
            }
            Line::Failure(message) => ended.failures.push(message),
            Line::End(tally) => {
                finished = true;
                ended.tally = tally;
            }
            Line::Broken(message) => anyhow::bail!(message),
        }
    }
    let last = || {
        stderr
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("")
    };
    match (death, finished, begun) {
        (Death::None, true, _) => {}
        (Death::Fault(signal), false, Some(case)) => {
            ended.crash = Some(format!(
                "{case}: the process died of signal {signal}: {}",
                last()
            ));
        }
        _ => anyhow::bail!("a run of the simulator did not end as it must: {}", last()),
    }
    Ok(ended)
}

/// Makes the runs, `width` at a time. Results come as they are ready, with the run's number.
pub fn run_all(
    jobs: Vec<Job>,
    width: usize,
) -> impl Iterator<Item = (usize, anyhow::Result<Ended>)> {
    let (send, receive) = mpsc::channel();
    let count = jobs.len();
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let queue = Arc::new((jobs, AtomicUsize::new(0)));
    for _ in 0..width.min(count) {
        let (send, queue) = (send.clone(), queue.clone());
        std::thread::spawn(move || {
            let (jobs, next) = &*queue;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { break };
                let job = job.lock().ok().and_then(|mut job| job.take());
                let Some(job) = job else { break };
                if send.send((index, job.run())).is_err() {
                    break;
                }
            }
        });
    }
    receive.into_iter().take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[Line]) -> String {
        lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap() + "\n")
            .collect()
    }

    #[test]
    fn a_finished_run_is_read_as_it_was_written() {
        let tally = Tally {
            pass: 1,
            fail: 1,
            could_not_check: 0,
        };
        let lines = [
            Line::Begin("a".into()),
            Line::Row("pass a".into()),
            Line::Begin("b".into()),
            Line::Row("FAIL b".into()),
            Line::Failure("b: wrong".into()),
            Line::End(tally),
        ];
        let ended = read(&(text(&lines) + "printf of a kernel\n"), Death::None, "").unwrap();
        assert_eq!((ended.tally, ended.rows.len()), (tally, 2));
        assert_eq!(ended.failures, ["b: wrong"]);
        assert_eq!(ended.crash, None);
    }

    #[test]
    fn a_crash_is_laid_at_the_case_that_had_begun() {
        let lines = [
            Line::Begin("a".into()),
            Line::Row("pass a".into()),
            Line::Begin("b".into()),
        ];
        let ended = read(&text(&lines), Death::Fault(11), "boom\n\n").unwrap();
        assert_eq!(
            ended.crash.as_deref(),
            Some("b: the process died of signal 11: boom")
        );
    }

    #[test]
    fn what_says_nothing_about_the_kernel_is_an_error_and_kills_no_mutant() {
        let begun = text(&[Line::Begin("a".into())]);
        let gave_up = read(&begun, Death::Other, "simulator: no memory\n").unwrap_err();
        assert!(
            gave_up.to_string().ends_with(": simulator: no memory"),
            "{gave_up}"
        );
        assert!(read(&begun, Death::None, "").is_err());
        assert!(read("", Death::Fault(11), "no such library").is_err());
        let broken = text(&[Line::Broken("no mutant x".into())]);
        assert!(read(&broken, Death::None, "").is_err());
    }
}
