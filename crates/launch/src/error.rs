//! Status codes of the C libraries, as Rust errors.

use std::ffi::c_int;

/// The result of every call in the kernel crates.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call did not run, or did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no usable NVIDIA driver or no device on this machine.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// One sentence: what was looked for and what was found instead.
        reason: String,
    },
    /// The crate was compiled without its kernel library (documentation builds).
    #[error(
        "{library} was compiled without its CUDA library; build it with nvcc or point \
         {variable} at a prebuilt one"
    )]
    NotBuilt {
        /// The crate whose library is missing.
        library: &'static str,
        /// The environment variable that names a directory with a prebuilt library.
        variable: &'static str,
    },
    /// A scalar argument has a value that the operation does not define.
    #[error("{argument}: {reason}")]
    InvalidArgument {
        /// The argument as the function's signature spells it.
        argument: &'static str,
        /// What it was and what it must be.
        reason: String,
    },
    /// A buffer is too short, or two shapes do not agree.
    #[error("{argument}: was {was}, must be {must_be}")]
    ShapeMismatch {
        /// The argument as the function's signature spells it.
        argument: &'static str,
        /// The length or shape that was passed.
        was: String,
        /// The length or shape that the other arguments ask for.
        must_be: String,
    },
    /// Two buffers that must not overlap do.
    #[error("{argument}: overlaps {other}")]
    Overlap {
        /// The argument that is written.
        argument: &'static str,
        /// The argument it runs into.
        other: &'static str,
    },
    /// The CUDA driver or runtime refused, with a `cudaError_t` or `CUresult`.
    #[error("CUDA error {code}: {message}")]
    Cuda {
        /// The numeric code (below 1000).
        code: i32,
        /// The driver's or the library's text for it.
        message: String,
    },
    /// A library that is loaded when it is needed is missing, or failed.
    #[error("{library}: {message}")]
    Foreign {
        /// Its name.
        library: &'static str,
        /// What is missing, or its own word for the failure.
        message: String,
    },
    /// The kernel library refused an argument with a code of its own (1000 and above).
    #[error("{message} (status {code})")]
    Library {
        /// The library's status code: 1000 * kind + argument.
        code: i32,
        /// The library's text for it, which names the argument.
        message: String,
    },
}

impl Error {
    /// A short buffer: `was` elements where at least `must_be` are needed.
    pub fn too_short(argument: &'static str, was: usize, must_be: usize) -> Error {
        Error::ShapeMismatch {
            argument,
            was: format!("{was} elements"),
            must_be: format!("at least {must_be}"),
        }
    }

    /// An argument outside its domain.
    pub fn invalid(
        argument: &'static str,
        was: impl std::fmt::Display,
        must_be: impl std::fmt::Display,
    ) -> Error {
        Error::InvalidArgument {
            argument,
            reason: format!("was {was}, must be {must_be}"),
        }
    }
}

/// Turns the `int` of a C entry point into a result. `describe` is the library's
/// `<prefix>_error_string`, called only for a failure.
pub fn status(code: c_int, describe: impl FnOnce(c_int) -> String) -> Result<()> {
    match code {
        0 => Ok(()),
        1..1000 => Err(Error::Cuda {
            code,
            message: describe(code),
        }),
        _ => Err(Error::Library {
            code,
            message: describe(code),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_success_and_describes_nothing() {
        assert_eq!(status(0, |_| unreachable!("success needs no text")), Ok(()));
    }

    #[test]
    fn codes_below_1000_are_cuda_errors_and_the_rest_are_the_librarys() {
        let text = |code| format!("text of {code}");
        assert_eq!(
            status(700, text),
            Err(Error::Cuda {
                code: 700,
                message: "text of 700".into()
            })
        );
        assert_eq!(
            status(1003, text),
            Err(Error::Library {
                code: 1003,
                message: "text of 1003".into()
            })
        );
        assert_eq!(
            status(-1, text),
            Err(Error::Library {
                code: -1,
                message: "text of -1".into()
            })
        );
    }

    #[test]
    fn a_shape_error_says_what_it_was_and_what_it_must_be() {
        assert_eq!(
            Error::too_short("candidates", 7, 8).to_string(),
            "candidates: was 7 elements, must be at least 8"
        );
        assert_eq!(
            Error::invalid("temperature", -1.0, "finite and above 0").to_string(),
            "temperature: was -1, must be finite and above 0"
        );
    }
}
