//! The typed layer: cudarc slices and views, shapes checked before the launch.
//!
//! ```no_run
//! use launch::cudarc::driver::CudaContext;
//! use mamba2_scan::gpu::{Decay, StateUpdate, Step, state_update};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! launch::probe()?;
//! let stream = CudaContext::new(0)?.new_stream()?;
//! // One sequence, two heads of 64 rows, 128 elements a row, one group.
//! let sizes @ [_, heads, groups, rows, n] = [1, 2, 1, 64, 128];
//! let mut state = stream.alloc_zeros::<f32>(heads * rows * n)?;
//! let x = stream.clone_htod(&vec![1.0f32; heads * rows])?;
//! let dt = stream.clone_htod(&vec![0.1f32; heads])?;
//! let a = stream.clone_htod(&vec![-1.0f32; heads])?;
//! let b = stream.clone_htod(&vec![1.0f32; groups * n])?;
//! let c = stream.clone_htod(&vec![1.0f32; groups * n])?;
//! let mut y = stream.alloc_zeros::<f32>(heads * rows)?;
//! let step = StateUpdate {
//!     softplus: true,
//!     ..StateUpdate::packed(
//!         sizes,
//!         x.as_view(),
//!         Step::F32(dt.as_view()),
//!         Decay::A(a.as_view()),
//!         [b.as_view(), c.as_view()],
//!     )
//! };
//! state_update(&stream, &step, &mut state.as_view_mut(), &mut y.as_view_mut(), None)?;
//! println!("{:?}", stream.clone_dtoh(&y)?);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "composed")]
pub mod composed;
mod state_update;
mod temporal_scan;

use cudarc::driver::DeviceSlice;

pub use crate::oracle::reference::Precision;
pub use crate::oracle::temporal_scan::Readout;
pub use state_update::{Clamp, Decay, Slots, StateUpdate, Step, state_update};
pub use temporal_scan::{
    Gradients, Outputs, TemporalScan, Upstream, scan_backward, scan_backward_fast,
    scan_backward_workspace_bytes, temporal_scan, temporal_scan_fast,
};

/// The length of a buffer that may be left out.
fn length<T>(slice: Option<&impl DeviceSlice<T>>) -> Option<usize> {
    slice.map(DeviceSlice::len)
}

/// What does not fit is beyond every limit of the library, which then names it.
fn int64(x: usize) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}
