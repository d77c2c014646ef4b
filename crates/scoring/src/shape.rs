//! Lengths of buffers against the sizes of a call, before anything reaches the library.

use crate::{Error, Result};

/// The sizes of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) questions: usize,
    pub(crate) max_k: usize,
    pub(crate) dim: usize,
    pub(crate) top_k: usize,
    pub(crate) query_stride: usize,
    pub(crate) candidate_stride: usize,
    /// For candidates in blocks.
    pub(crate) question_stride: Option<usize>,
    /// Stored candidate rows.
    pub(crate) rows: usize,
    /// Entries of the per-candidate arrays.
    pub(crate) positions: usize,
}

/// Elements from the first of the first row to the last of the last; 0 without rows. Saturates, so
/// that sizes beyond memory are too long for every buffer.
fn extent(counts_and_strides: &[(usize, usize)], dim: usize) -> usize {
    if counts_and_strides.iter().any(|&(count, _)| count == 0) {
        return 0;
    }
    counts_and_strides
        .iter()
        .fold(dim, |sum, &(count, stride)| {
            sum.saturating_add((count - 1).saturating_mul(stride))
        })
}

impl Sizes {
    pub(crate) fn query_elements(&self) -> usize {
        extent(&[(self.questions, self.query_stride)], self.dim)
    }

    pub(crate) fn candidate_elements(&self) -> usize {
        match self.question_stride {
            Some(stride) => extent(
                &[
                    (self.questions, stride),
                    (self.max_k, self.candidate_stride),
                ],
                self.dim,
            ),
            None => extent(&[(self.rows, self.candidate_stride)], self.dim),
        }
    }

    pub(crate) fn top_elements(&self) -> usize {
        self.questions.saturating_mul(self.top_k)
    }
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

    const SIZES: Sizes = Sizes {
        questions: 3,
        max_k: 4,
        dim: 10,
        top_k: 2,
        query_stride: 12,
        candidate_stride: 11,
        question_stride: Some(50),
        rows: 12,
        positions: 12,
    };

    #[test]
    fn the_last_row_needs_no_gap_behind_it() {
        assert_eq!(SIZES.query_elements(), 2 * 12 + 10);
        assert_eq!(SIZES.candidate_elements(), 2 * 50 + 3 * 11 + 10);
        let flat = Sizes {
            question_stride: None,
            ..SIZES
        };
        assert_eq!(flat.candidate_elements(), 11 * 11 + 10);
        assert_eq!(SIZES.top_elements(), 6);
    }

    #[test]
    fn nothing_needs_no_elements() {
        let none = Sizes {
            questions: 0,
            rows: 0,
            ..SIZES
        };
        assert_eq!((none.query_elements(), none.candidate_elements()), (0, 0));
    }

    #[test]
    fn sizes_beyond_memory_are_too_long_for_every_buffer() {
        let huge = Sizes {
            questions: usize::MAX,
            query_stride: usize::MAX,
            ..SIZES
        };
        assert_eq!(huge.query_elements(), usize::MAX);
        assert!(at_least("queries", Some(1 << 40), huge.query_elements()).is_err());
    }

    #[test]
    fn a_short_buffer_is_named_with_what_it_was_and_must_be() {
        let error = at_least("bias", Some(11), SIZES.positions).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bias: was 11 elements, must be at least 12"
        );
        assert_eq!(at_least("bias", None, SIZES.positions), Ok(()));
        assert_eq!(at_least("bias", Some(12), SIZES.positions), Ok(()));
    }
}
