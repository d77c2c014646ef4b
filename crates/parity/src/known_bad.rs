//! The cases of `known_bad/known_bad.cu`: libraries that the harness must fail.

use crate::{Buffer, Case, Check, Instance, Library, Random, Result};
use std::ffi::{c_int, c_void};

/// A wrong library function and the check that has to notice.
#[derive(Debug, Clone, Copy)]
pub struct KnownBad {
    /// The exported function.
    pub entry: &'static str,
    /// The check that must fail first.
    pub caught_by: Check,
    /// Whether the case makes a call that must be refused.
    pub refusal: bool,
    /// Whether only a GPU can tell: a simulated launch does not fail.
    pub gpu_only: bool,
}

const fn bad(entry: &'static str, caught_by: Check) -> KnownBad {
    KnownBad {
        entry,
        caught_by,
        refusal: false,
        gpu_only: false,
    }
}

/// Every one of them.
pub const KNOWN_BAD: &[KnownBad] = &[
    bad("kb_noop", Check::Direct),
    bad("kb_stale", Check::Direct),
    bad("kb_default_stream", Check::Capture),
    bad("kb_mutates_input", Check::Direct),
    bad("kb_past_end", Check::Direct),
    bad("kb_before_begin", Check::Direct),
    bad("kb_short_tail", Check::Direct),
    bad("kb_reads_output", Check::SameAddresses),
    bad("kb_assumes_alignment", Check::Offsets),
    bad("kb_two_nodes", Check::Capture),
    bad("kb_once_per_pointer", Check::SameAddresses),
    KnownBad {
        gpu_only: true,
        ..bad("kb_swallows_errors", Check::FailedLaunch)
    },
    KnownBad {
        refusal: true,
        ..bad("kb_refuses_late", Check::Refusal)
    },
    KnownBad {
        refusal: true,
        ..bad("kb_wrong_code", Check::Refusal)
    },
];

/// The control, which must pass.
pub const GOOD: &str = "kb_good";

/// `CK_STATUS(CK_NULL_POINTER, 1)`: what a null `x` is refused with.
const NULL_X: c_int = 1001;

/// Not a whole number of blocks, nor of vectors.
const COUNT: usize = 1003;

type Entry = unsafe extern "C" fn(*const c_void, *mut c_void, i64, *mut c_void) -> c_int;

/// The case that calls `entry`.
pub fn case(entry: &'static str, refusal: bool) -> Case {
    let call = move |library: &Library, x: *mut c_void, y: *mut c_void, stream| -> Result<c_int> {
        // SAFETY: every entry of known_bad.cu has this prototype.
        let function = unsafe { library.function::<Entry>(entry) }?;
        // SAFETY: the runner passes live buffers of COUNT elements, or x is null to be refused.
        Ok(unsafe { function(x, y, COUNT as i64, stream) })
    };
    Case::exact(entry, entry, move |variation| {
        if refusal {
            let buffers = vec![Buffer::output_unwritten::<f32>("y", COUNT)];
            return Instance::new(buffers, move |library, pointers, stream| {
                call(library, std::ptr::null_mut(), pointers[0], stream)
            })
            .refused(NULL_X);
        }
        let x = Random::named(variation.seed, "x").normals(COUNT, 1.0);
        let y: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
        let buffers = vec![Buffer::input("x", &x), Buffer::output("y", &y)];
        Instance::new(buffers, move |library, pointers, stream| {
            call(library, pointers[0], pointers[1], stream)
        })
    })
}
