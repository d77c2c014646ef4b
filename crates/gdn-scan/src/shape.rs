//! Lengths of buffers against the sizes of a call, before anything reaches the library.

use crate::{Error, Result};

/// Elements from the first of the first row to the last of the last; 0 without rows. Saturates, so that sizes beyond memory
/// are too long for every buffer.
pub(crate) fn extent(rows: usize, stride: usize, row: usize) -> usize {
    match rows.checked_sub(1) {
        None => 0,
        Some(before) => before.saturating_mul(stride).saturating_add(row),
    }
}

/// The product, saturated.
pub(crate) fn product<const N: usize>(factors: [usize; N]) -> usize {
    factors.into_iter().fold(1, usize::saturating_mul)
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
        assert_eq!(extent(3, 12, 10), 2 * 12 + 10);
        assert_eq!(extent(0, 12, 10), 0);
    }

    #[test]
    fn sizes_beyond_memory_are_too_long_for_every_buffer() {
        assert_eq!(extent(usize::MAX, usize::MAX, 1), usize::MAX);
        assert_eq!(product([usize::MAX, 2, 3]), usize::MAX);
        assert!(at_least("q", Some(1 << 40), usize::MAX).is_err());
    }

    #[test]
    fn a_short_buffer_is_named_with_what_it_was_and_must_be() {
        let error = at_least("beta", Some(11), 12).unwrap_err();
        assert_eq!(
            error.to_string(),
            "beta: was 11 elements, must be at least 12"
        );
        assert_eq!(at_least("beta", None, 12), Ok(()));
        assert_eq!(at_least("beta", Some(12), 12), Ok(()));
    }
}
