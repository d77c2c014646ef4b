//! What can go wrong while a library is built.

use std::fmt;
use std::path::Path;

/// What kind of trouble an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This machine lacks something: a toolkit, a host compiler, a supported system.
    Environment,
    /// What the user asked for cannot be done: an unknown architecture, a bad manifest.
    Input,
    /// A compiler or linker ran and failed.
    Build,
    /// A file could not be read or written.
    Io,
}

/// An error: one sentence, and for a failed compiler everything that it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of trouble this is.
    pub kind: Kind,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The failed command, its exit code and its whole output, if a command failed.
    pub detail: Option<String>,
}

impl Error {
    /// Something that this machine lacks.
    pub fn environment(message: impl Into<String>) -> Error {
        Error {
            kind: Kind::Environment,
            message: message.into(),
            detail: None,
        }
    }

    /// Something that was asked for and cannot be.
    pub fn input(message: impl Into<String>) -> Error {
        Error {
            kind: Kind::Input,
            message: message.into(),
            detail: None,
        }
    }

    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> Error {
        let message = format!("cannot {doing} {}: {error}", path.display());
        Error {
            kind: Kind::Io,
            message,
            detail: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.detail {
            Some(detail) => write!(f, "\n{detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
