//! Lengths of buffers against the sizes of a call, before anything reaches a library.

use crate::{Error, Result};

/// Elements from the first to past the last of a tensor of rows of `row` adjacent elements. Each of
/// the other dimensions has a count and a stride, from the innermost out; a stride of 0 is what the
/// libraries take it for, packed. 0 where a count is 0. Saturates, so that sizes beyond memory are
/// too long for every buffer.
pub fn extent(row: usize, dimensions: &[(usize, usize)]) -> usize {
    if dimensions.iter().any(|&(count, _)| count == 0) {
        return 0;
    }
    let mut packed = row;
    let mut end = row;
    for &(count, stride) in dimensions {
        let stride = if stride == 0 { packed } else { stride };
        end = end.saturating_add((count - 1).saturating_mul(stride));
        packed = stride.saturating_mul(count);
    }
    end
}

/// The product of sizes; saturates.
pub fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}

/// The buffer must hold at least this many elements. `None`: it is left out.
///
/// # Errors
/// [`Error::ShapeMismatch`], which names the argument, where it is shorter.
pub fn at_least(argument: &'static str, length: Option<usize>, needed: usize) -> Result<()> {
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
        assert_eq!(extent(10, &[(3, 12)]), 2 * 12 + 10);
        assert_eq!(extent(10, &[(4, 11), (3, 50)]), 2 * 50 + 3 * 11 + 10);
        assert_eq!(extent(10, &[(3, 12), (2, 40), (1, 99)]), 10 + 24 + 40);
    }

    #[test]
    fn nothing_needs_no_elements() {
        assert_eq!(extent(10, &[(0, 12)]), 0);
        assert_eq!(extent(10, &[(3, 12), (0, 40), (1, 99)]), 0);
    }

    #[test]
    fn a_stride_of_0_is_packed_behind_the_strides_inside_it() {
        assert_eq!(extent(10, &[(3, 0)]), 30);
        assert_eq!(extent(10, &[(4, 0), (3, 0)]), 120);
        assert_eq!(extent(10, &[(4, 11), (3, 0)]), 2 * 44 + 3 * 11 + 10);
        assert_eq!(extent(10, &[(3, 0), (2, 0), (2, 0)]), 10 * 3 * 2 * 2);
    }

    #[test]
    fn sizes_beyond_memory_are_too_long_for_every_buffer() {
        let huge = usize::MAX;
        assert_eq!(extent(1, &[(huge, huge)]), huge);
        assert_eq!(extent(huge, &[(huge, 0), (2, 0), (2, 0)]), huge);
        assert_eq!(extent(product(&[huge, 2]), &[(huge, huge)]), huge);
        assert!(at_least("x", Some(1 << 40), huge).is_err());
    }

    #[test]
    fn a_short_buffer_is_named_with_what_it_was_and_must_be() {
        let error = at_least("bias", Some(11), 12).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bias: was 11 elements, must be at least 12"
        );
        assert_eq!(at_least("bias", None, 12), Ok(()));
        assert_eq!(at_least("bias", Some(12), 12), Ok(()));
    }
}
