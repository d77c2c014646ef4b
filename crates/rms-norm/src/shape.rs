//! Lengths of buffers against the sizes of a call, before anything reaches the library.

/// Elements from the first to past the last of rows of `columns` elements.
pub(crate) fn extent(columns: usize, counts: [usize; 3], strides: [usize; 3]) -> usize {
    let [rows, channels, samples] = std::array::from_fn(|d| (counts[d], strides[d]));
    launch::lengths::extent(columns, &[rows, channels, samples])
}

/// As [`extent`], of a tensor that repeats along rows of `n`: 0 columns stand for n, 0 of another size
/// for 1.
pub(crate) fn repeated_extent(sizes: [usize; 4], strides: [usize; 3], n: usize) -> usize {
    let [columns, counts @ ..] = sizes;
    let columns = if columns == 0 { n } else { columns };
    extent(columns, counts.map(|count| count.max(1)), strides)
}

/// Strides of packed rows.
pub(crate) fn packed(columns: usize, counts: [usize; 3]) -> [usize; 3] {
    let channel = columns.saturating_mul(counts[0]);
    [columns, channel, channel.saturating_mul(counts[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::lengths::at_least;

    #[test]
    fn the_last_row_needs_no_gap_behind_it() {
        assert_eq!(extent(10, [3, 2, 1], [12, 40, 99]), 10 + 24 + 40);
        assert_eq!(extent(10, [3, 2, 2], packed(10, [3, 2, 2])), 10 * 3 * 2 * 2);
        assert_eq!(extent(10, [3, 0, 1], [12, 40, 99]), 0);
    }

    #[test]
    fn sizes_of_0_of_what_repeats_are_the_row_and_one_of_each() {
        assert_eq!(repeated_extent([0; 4], [0; 3], 10), 10);
        assert_eq!(repeated_extent([4, 3, 0, 2], [0; 3], 10), 4 * 3 * 2);
        assert_eq!(repeated_extent([4, 3, 2, 1], [5, 20, 0], 10), 4 + 10 + 20);
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
