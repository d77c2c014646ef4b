//! Lengths of buffers against the sizes of a call, before anything reaches the library.

use launch::lengths::extent;

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

impl Sizes {
    pub(crate) fn query_elements(&self) -> usize {
        extent(self.dim, &[(self.questions, self.query_stride)])
    }

    pub(crate) fn candidate_elements(&self) -> usize {
        match self.question_stride {
            Some(stride) => extent(
                self.dim,
                &[
                    (self.max_k, self.candidate_stride),
                    (self.questions, stride),
                ],
            ),
            None => extent(self.dim, &[(self.rows, self.candidate_stride)]),
        }
    }

    pub(crate) fn top_elements(&self) -> usize {
        self.questions.saturating_mul(self.top_k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use launch::lengths::at_least;

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
