//! Memory that a kernel needs beside its arguments.

use crate::call::driver_error;
use crate::{Error, Result};
use cudarc::driver::{CudaSlice, CudaStream};
use std::sync::Arc;

/// A workspace of one stream: allocated once, zeroed once, then kept from call to call.
///
/// The kernels leave it as the next call needs it, so it is never zeroed again. Two streams need
/// two of them.
pub struct Workspace {
    memory: CudaSlice<u8>,
}

impl Workspace {
    /// Allocates and zeroes `bytes` on the stream (at least one byte, so that the address is a
    /// real one). Do this before a graph capture, not during it.
    ///
    /// # Errors
    /// [`Error::Cuda`] when the memory cannot be had.
    pub fn new(stream: &Arc<CudaStream>, bytes: usize) -> Result<Workspace> {
        Ok(Workspace {
            memory: stream.alloc_zeros(bytes.max(1)).map_err(driver_error)?,
        })
    }

    /// Makes room for `bytes`, replacing the memory by a larger zeroed one where it is short.
    ///
    /// # Errors
    /// [`Error::Cuda`] when the memory cannot be had.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.len() {
            *self = Workspace::new(&self.memory.stream().clone(), bytes)?;
        }
        Ok(())
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Never true: a workspace has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The stream it belongs to.
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.memory.stream()
    }

    pub(crate) fn memory_mut(&mut self) -> &mut CudaSlice<u8> {
        &mut self.memory
    }

    pub(crate) fn check(&self, stream: &Arc<CudaStream>, bytes: usize) -> Result<()> {
        if self.stream() != stream {
            return Err(Error::invalid(
                "workspace",
                "of another stream",
                "of this call's stream",
            ));
        }
        if self.len() < bytes {
            return Err(Error::ShapeMismatch {
                argument: "workspace",
                was: format!("{} bytes", self.len()),
                must_be: format!("at least {bytes}"),
            });
        }
        Ok(())
    }
}
