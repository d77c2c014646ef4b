//! Lengths of buffers against the sizes of a call, before anything reaches the library.

use crate::{Error, Result};

/// Elements from the first to past the last of rows of `columns` elements: counts and strides of the
/// dimensions. 0 without rows. Saturates, so that sizes beyond memory are too long for every buffer.
pub(crate) fn extent(columns: usize, counts: [usize; 3], strides: [usize; 3]) -> usize {
    if counts.contains(&0) {
        return 0;
    }
    (0..3).fold(columns, |sum, d| {
        sum.saturating_add((counts[d] - 1).saturating_mul(strides[d]))
    })
}

/// Strides of packed rows.
pub(crate) fn packed(columns: usize, counts: [usize; 3]) -> [usize; 3] {
    let channel = columns.saturating_mul(counts[0]);
    [columns, channel, channel.saturating_mul(counts[1])]
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
        assert_eq!(extent(10, [3, 2, 1], [12, 40, 99]), 10 + 24 + 40);
        assert_eq!(extent(10, [3, 2, 2], packed(10, [3, 2, 2])), 10 * 3 * 2 * 2);
        assert_eq!(extent(10, [3, 0, 1], [12, 40, 99]), 0);
    }

    #[test]
    fn sizes_beyond_memory_are_too_long_for_every_buffer() {
        let huge = extent(usize::MAX, [usize::MAX; 3], packed(usize::MAX, [2; 3]));
        assert_eq!(huge, usize::MAX);
        assert!(at_least("x", Some(1 << 40), huge).is_err());
    }

    #[test]
    fn a_short_buffer_is_named_with_what_it_was_and_must_be() {
        let error = at_least("gamma", Some(11), 12).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gamma: was 11 elements, must be at least 12"
        );
        assert_eq!(at_least("gamma", None, 12), Ok(()));
    }
}
