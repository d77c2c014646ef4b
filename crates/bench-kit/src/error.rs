//! What can go wrong while measuring.

use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong while measuring.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver, the lack of one, or a library.
    #[error(transparent)]
    Parity(#[from] parity::Error),
    /// A call was refused or failed.
    #[error("{case}, {variant}: the call returned {code}{}", text(message))]
    Call {
        /// The case's id.
        case: String,
        /// The variant that was called.
        variant: String,
        /// What it returned.
        code: i32,
        /// The library's sentence for it, where it has one.
        message: Option<String>,
    },
    /// Outputs are not what the oracle says.
    #[error("{case}, {variant}: {buffer}: {what}")]
    Wrong {
        /// The case's id.
        case: String,
        /// The variant that computed them.
        variant: String,
        /// The output.
        buffer: &'static str,
        /// How many elements, the first of them, both values.
        what: String,
    },
    /// A bench does not hold together, e.g. nothing to rotate in a cold row.
    #[error("{case}: {what}")]
    Bench {
        /// The case's id.
        case: String,
        /// What is wrong with it.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it must.
    #[error("{}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        what: String,
    },
    /// A chart could not be drawn.
    #[error("the chart could not be drawn: {0}")]
    Chart(String),
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::File {
            path: path.into(),
            source,
        }
    }

    /// Whether this machine has no GPU to measure on, as opposed to one that misbehaves.
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::Parity(parity::Error::NoDevice(_)))
    }
}

fn text(message: &Option<String>) -> String {
    message
        .as_ref()
        .map_or_else(String::new, |message| format!(" ({message})"))
}
