//! Lengths of buffers against the sizes of a call, before anything reaches the library.

use crate::{Error, Result};

/// Elements from the first of the first row to the last of the last; 0 without rows. Saturates, so that sizes beyond
/// memory are too long for every buffer.
pub(crate) fn rows(count: usize, stride: usize, extent: usize) -> usize {
    // A stride of 0 is what the library takes it for: packed.
    let stride = if stride == 0 { extent } else { stride };
    match count {
        0 => 0,
        _ => extent.saturating_add((count - 1).saturating_mul(stride)),
    }
}

/// The product of sizes; saturates.
pub(crate) fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}

/// The buffer must hold at least this many elements. `None`: it is left out.
pub(crate) fn at_least(argument: &'static str, length: Option<usize>, needed: usize) -> Result<()> {
    match length {
        Some(length) if length < needed => Err(Error::too_short(argument, length, needed)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_needs_no_gap_behind_it() {
        assert_eq!(rows(3, 12, 10), 34);
        assert_eq!(rows(0, 12, 10), 0);
    }

    #[test]
    fn sizes_beyond_memory_are_too_long_for_every_buffer() {
        let huge = rows(usize::MAX, usize::MAX, product(&[usize::MAX, 2]));
        assert_eq!(huge, usize::MAX);
        assert!(at_least("x", Some(1 << 40), huge).is_err());
    }

    #[test]
    fn a_short_buffer_is_named_with_what_it_was_and_must_be() {
        let error = at_least("x", Some(11), 12).unwrap_err();
        assert_eq!(error.to_string(), "x: was 11 elements, must be at least 12");
        assert_eq!(at_least("x", None, 12), Ok(()));
    }
}
