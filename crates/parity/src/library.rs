//! A kernel library, loaded at run time.

use crate::{Error, Result};
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};

/// A loaded `lib<name>.so` (or `lib<name>_sim.so`), never linked to.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    library: libloading::Library,
}

impl Library {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// [`Error::Load`] with the loader's reason.
    pub fn open(path: impl AsRef<Path>) -> Result<Library> {
        let path = path.as_ref().to_path_buf();
        // SAFETY: the kernel libraries have no constructors beyond the CUDA runtime's, which only
        // register fat binaries.
        match unsafe { libloading::Library::new(&path) } {
            Ok(library) => Ok(Library { path, library }),
            Err(error) => Err(Error::Load {
                path,
                message: error.to_string(),
            }),
        }
    }

    /// Where it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An exported function, as the function pointer type `T`.
    ///
    /// # Safety
    /// `T` must be the function pointer type of the symbol's C prototype, and the pointer must
    /// not be called after the library is dropped.
    ///
    /// # Errors
    /// [`Error::Symbol`] when the library does not export it.
    pub unsafe fn function<T: Copy>(&self, symbol: &str) -> Result<T> {
        // SAFETY: the caller promises the type.
        match unsafe { self.library.get::<T>(symbol) } {
            Ok(function) => Ok(*function),
            Err(_) => Err(Error::Symbol {
                path: self.path.clone(),
                symbol: symbol.into(),
            }),
        }
    }

    /// Whether it exports `symbol`.
    pub fn exports(&self, symbol: &str) -> bool {
        // SAFETY: the pointer is only looked up, never called.
        unsafe { self.library.get::<unsafe extern "C" fn()>(symbol) }.is_ok()
    }

    /// `<prefix>_abi_version()`.
    ///
    /// # Errors
    /// [`Error::Symbol`] when the library does not export it.
    pub fn abi_version(&self, prefix: &str) -> Result<u32> {
        type Version = unsafe extern "C" fn() -> u32;
        // SAFETY: the contract fixes this prototype for every library.
        let version = unsafe { self.function::<Version>(&format!("{prefix}_abi_version")) }?;
        // SAFETY: it takes nothing.
        Ok(unsafe { version() })
    }

    /// `<prefix>_error_string(code)`; `None` for a null pointer, which the contract forbids.
    ///
    /// # Errors
    /// [`Error::Symbol`] when the library does not export it.
    pub fn error_string(&self, prefix: &str, code: c_int) -> Result<Option<String>> {
        type Text = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the contract fixes this prototype for every library.
        let text = unsafe { self.function::<Text>(&format!("{prefix}_error_string")) }?;
        // SAFETY: any code may be asked for.
        Ok(unsafe { owned(text(code)) })
    }

    /// `<prefix>_build_info()`: the JSON baked into the library.
    ///
    /// # Errors
    /// [`Error::Symbol`] when the library does not export it.
    pub fn build_info(&self, prefix: &str) -> Result<Option<String>> {
        type Info = unsafe extern "C" fn() -> *const c_char;
        // SAFETY: the contract fixes this prototype for every library.
        let info = unsafe { self.function::<Info>(&format!("{prefix}_build_info")) }?;
        // SAFETY: it takes nothing.
        Ok(unsafe { owned(info()) })
    }
}

/// # Safety
/// `text` is null or a null-terminated string that lives long enough to be copied.
pub(crate) unsafe fn owned(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest.
    Some(
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_says_so() {
        let error = Library::open("/nowhere/libscoring.so").unwrap_err();
        assert!(matches!(error, Error::Load { .. }));
        assert!(
            error
                .to_string()
                .starts_with("/nowhere/libscoring.so: the library does not load")
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_missing_symbol_is_named() {
        let library = Library::open("libc.so.6").unwrap();
        let error = library.abi_version("zz").unwrap_err();
        assert_eq!(
            error.to_string(),
            "libc.so.6: the library does not export `zz_abi_version`"
        );
    }
}
