//! What can go wrong while a simulator library is made.

use std::path::PathBuf;

/// An error: one sentence, and everything that a failed compiler printed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine cannot build simulator libraries.
    #[error("{0}")]
    Environment(String),
    /// The crate's manifest or sources are not what they must be.
    #[error("{0}")]
    Input(String),
    /// The compiler or the linker failed.
    #[error("the C++ compiler failed on {what}\n{command}\n{output}")]
    Compiler {
        /// The source, or the library that was linked.
        what: String,
        /// The whole command.
        command: String,
        /// All that it printed.
        output: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}
