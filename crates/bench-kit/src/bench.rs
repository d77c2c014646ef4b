//! What a kernel crate says of one case: inputs, calls, bytes moved, what comes out.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::Arc;

use parity::{Buffer, Class, Library};
use serde::{Deserialize, Serialize};

/// Rotating inputs of a cold row cover more than this: four times the L2 cache of an H200.
pub const COLD_BYTES: usize = 256 << 20;

/// Where the inputs are when a call starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One input set: in the cache if it fits there.
    Hot,
    /// Input sets rotate beyond the cache.
    Cold,
}

impl Mode {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Cold => "cold",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A class as it stands in results.
pub fn class_name(class: Class) -> &'static str {
    match class {
        Class::Exact => "exact",
        Class::Fast => "fast",
        Class::Tolerance => "tolerance",
    }
}

/// Whether expectations are wanted: they cost an oracle's time, and only a few sets are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Outputs need their sizes only.
    Skip,
    /// Outputs hold what must come out.
    Run,
}

/// What one call must move and compute at the least, for floors and GB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of inputs, each counted once.
    pub read: u64,
    /// Bytes of outputs and updated state.
    pub written: u64,
    /// f32 multiply-adds outside tensor cores; 0 where bytes bound the time anyway.
    pub fmas: u64,
}

/// Queues one call: pointers in the order of the set's buffers, then the variant's own workspace
/// (null where it has none), and the stream. Returns the function's status.
pub type Call = Box<dyn Fn(&[*mut c_void], *mut c_void) -> c_int>;

/// A variant that is ready to be called.
pub struct Prepared {
    /// Workspace of its own, zeroed once.
    pub workspace_bytes: usize,
    /// Queues one call.
    pub call: Call,
}

/// How calls reach the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Captured once, replayed.
    Replayed,
    /// Queued one by one: what a caller without graphs sees.
    Direct,
}

/// Finds the function that a variant calls, once, so that calls do not look names up, and asks how
/// much workspace it wants.
pub type Prepare = Arc<dyn Fn(&Library) -> parity::Result<Prepared> + Send + Sync>;

/// One way to compute a case.
#[derive(Clone)]
pub struct Variant {
    /// As it stands in results.
    pub name: String,
    /// Replayed or direct.
    pub launch: Launch,
    /// A replaced design, not a way into this kernel.
    pub baseline: bool,
    /// Where its bytes may differ from the oracle's: the largest absolute difference.
    pub within: Option<f64>,
    /// Makes the call.
    pub prepare: Prepare,
}

impl Variant {
    /// This crate's kernel, replayed, compared as the set says.
    pub fn kernel(
        prepare: impl Fn(&Library) -> parity::Result<Prepared> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: "kernel".into(),
            launch: Launch::Replayed,
            baseline: false,
            within: None,
            prepare: Arc::new(prepare),
        }
    }

    /// Another way into the same kernel, e.g. a second entry.
    pub fn also(
        name: &str,
        prepare: impl Fn(&Library) -> parity::Result<Prepared> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            ..Self::kernel(prepare)
        }
    }

    /// A design that the kernel replaces; its results may differ by `within`.
    pub fn baseline(
        name: &str,
        within: f64,
        prepare: impl Fn(&Library) -> parity::Result<Prepared> + Send + Sync + 'static,
    ) -> Self {
        Self {
            baseline: true,
            within: Some(within),
            ..Self::also(name, prepare)
        }
    }

    /// The same calls without a graph.
    pub fn direct(&self, name: &str) -> Self {
        Self {
            name: name.into(),
            launch: Launch::Direct,
            ..self.clone()
        }
    }
}

/// Makes the buffers of a seed, in the order in which calls take their pointers: equal seeds, equal
/// contents. Inputs and in-out buffers rotate in cold rows; outputs and workspace are one for all
/// sets.
pub type Build = Arc<dyn Fn(u64, Oracle) -> Vec<Buffer> + Send + Sync>;

/// One case: a row for each of its modes.
#[derive(Clone)]
pub struct Bench {
    /// The case's id in the results.
    pub id: String,
    /// The entry point that the kernel variant calls.
    pub entry: &'static str,
    /// What that entry promises.
    pub class: Class,
    /// Which rows.
    pub modes: Vec<Mode>,
    /// What a call moves.
    pub work: Work,
    /// Cold: rotating inputs cover more than this; usually [`COLD_BYTES`].
    pub cold_bytes: usize,
    /// Makes an input set.
    pub build: Build,
    /// This crate's kernel.
    pub kernel: Variant,
    /// Second entries, direct launches, replaced designs.
    pub others: Vec<Variant>,
    /// Why a time under the floor is right; without it such a time is refused.
    pub under_floor: Option<&'static str>,
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench")
            .field("id", &self.id)
            .field("modes", &self.modes)
            .finish_non_exhaustive()
    }
}
