//! Running a compiler and keeping all that it says; writing files and naming the one that fails.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::error::{Error, Kind};

/// Runs `command` and returns what it printed; a failure carries the command, how it ended and
/// its whole output.
pub(crate) fn run(command: &mut Command, failed: &str) -> Result<String, Error> {
    let output = command.output().map_err(|e| {
        let program = Path::new(command.get_program()).display();
        Error::environment(format!("{program} does not run: {e}"))
    })?;
    let text = [&output.stdout[..], &output.stderr[..]]
        .map(String::from_utf8_lossy)
        .concat();
    if output.status.success() {
        return Ok(text);
    }
    Err(Error {
        kind: Kind::Build,
        message: failed.to_owned(),
        detail: Some(format!(
            "command: {}\n{}\n{text}",
            spell(command),
            output.status
        )),
    })
}

/// The command as a shell would take it.
fn spell(command: &Command) -> String {
    let quoted = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@".contains(c);
        if word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{word}'")
        }
    };
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn create_dir(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Leaves a file that already reads so alone. Answers whether it wrote.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<bool, Error> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(false);
    }
    write(path, text).map(|()| true)
}

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("strings and maps of strings always serialise")
}
