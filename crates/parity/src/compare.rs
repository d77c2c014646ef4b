//! The comparer: NaNs by class, everything else by bytes or within a derived bound.

use crate::element::Element;
use serde::Serialize;
use std::ops::Range;

/// How an output is compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Compare {
    /// Equal bytes; a NaN equals any NaN.
    Bytes,
    /// Within `bound[i]` of `reference[i]`. A reference that is not finite must be met exactly: a
    /// NaN by a NaN, an infinity by the same infinity.
    Bound {
        /// The f64 oracle's value of each element.
        reference: Vec<f64>,
        /// The derived bound of each element.
        bound: Vec<f64>,
    },
}

/// The worst that was seen, over any number of comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Worst {
    /// Elements compared.
    pub elements: u64,
    /// The greatest distance from the oracle in units in the last place (exact comparisons).
    pub ulp: u64,
    /// The greatest absolute error.
    pub abs: f64,
    /// The greatest error as a fraction of its bound (bounded comparisons).
    pub of_bound: f64,
}

impl Worst {
    /// Takes in another comparison.
    pub fn merge(&mut self, other: &Worst) {
        self.elements += other.elements;
        self.ulp = self.ulp.max(other.ulp);
        self.abs = self.abs.max(other.abs);
        self.of_bound = self.of_bound.max(other.of_bound);
    }
}

/// The outcome of comparing one buffer.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// Elements that are wrong.
    pub wrong: u64,
    /// The first wrong element, in words.
    pub first: Option<String>,
    /// Statistics over all elements.
    pub worst: Worst,
}

/// What a buffer is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Against<'a> {
    Bytes(&'a [u8]),
    Bound {
        reference: &'a [f64],
        bound: &'a [f64],
    },
}

/// Compares `got` element by element, leaving out the ranges in `skip`.
pub(crate) fn compare(
    element: Element,
    got: &[u8],
    against: Against<'_>,
    skip: &[Range<usize>],
) -> Comparison {
    let mut result = Comparison::default();
    let size = element.size();
    // The common case, equal bytes, costs one memcmp; statistics are then all zero.
    if let Against::Bytes(want) = against
        && skip.is_empty()
        && got == want
    {
        result.worst.elements = (got.len() / size) as u64;
        return result;
    }
    for (index, got) in got.chunks_exact(size).enumerate() {
        if skip.iter().any(|range| range.contains(&index)) {
            continue;
        }
        result.worst.elements += 1;
        let wrong = match against {
            Against::Bytes(want) => exact(
                element,
                got,
                &want[index * size..][..size],
                &mut result.worst,
            ),
            Against::Bound { reference, bound } => bounded(
                element.value(got),
                reference[index],
                bound[index],
                &mut result.worst,
            ),
        };
        if let Some(wrong) = wrong {
            result.wrong += 1;
            result
                .first
                .get_or_insert_with(|| format!("element {index} {wrong}"));
        }
    }
    result
}

fn exact(element: Element, got: &[u8], want: &[u8], worst: &mut Worst) -> Option<String> {
    if got == want {
        return None;
    }
    let (was, must_be) = (element.value(got), element.value(want));
    if element.is_float() && (was.is_nan() || must_be.is_nan()) {
        // A NaN's payload and sign are not part of the promise, its being a NaN is.
        return (was.is_nan() != must_be.is_nan())
            .then(|| format!("was {was:e} ({}), must be {must_be:e}", hex(got)));
    }
    let ulp = (element.ordinal(got) - element.ordinal(want)).unsigned_abs();
    // +0 for -0 is 0 units away and still other bytes.
    worst.ulp = worst.ulp.max(u64::try_from(ulp).unwrap_or(u64::MAX).max(1));
    if was.is_finite() && must_be.is_finite() {
        worst.abs = worst.abs.max((was - must_be).abs());
    }
    Some(if element.is_float() {
        format!(
            "was {was:e} ({}), must be {must_be:e} ({}): {ulp} ulp apart",
            hex(got),
            hex(want)
        )
    } else {
        format!("was {was}, must be {must_be}")
    })
}

fn bounded(was: f64, reference: f64, bound: f64, worst: &mut Worst) -> Option<String> {
    if !reference.is_finite() || !was.is_finite() {
        let same = if reference.is_nan() {
            was.is_nan()
        } else {
            was == reference
        };
        // A finite reference beside an infinite bound promises nothing about the value.
        let unbound = reference.is_finite() && bound.is_infinite();
        return if same || unbound {
            None
        } else {
            Some(format!("was {was:e}, must be {reference:e}"))
        };
    }
    let error = (was - reference).abs();
    worst.abs = worst.abs.max(error);
    let fraction = if error == 0.0 { 0.0 } else { error / bound };
    worst.of_bound = worst.of_bound.max(fraction);
    // Written so that a NaN would be wrong, not right.
    let within = error <= bound;
    (!within)
        .then(|| format!("was {was:e}, must be {reference:e} within {bound:e}, {error:e} away"))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes
        .iter()
        .rev()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::bytes_of;
    use proptest::prelude::*;

    fn bytes(got: &[f32], want: &[f32]) -> Comparison {
        compare(
            Element::F32,
            &bytes_of(got),
            Against::Bytes(&bytes_of(want)),
            &[],
        )
    }

    fn bound(got: f32, reference: f64, bound: f64) -> Comparison {
        let against = Against::Bound {
            reference: &[reference],
            bound: &[bound],
        };
        compare(Element::F32, &bytes_of(&[got]), against, &[])
    }

    #[test]
    fn a_nan_matches_any_nan_and_nothing_else() {
        let other_nan = f32::from_bits(0xffc0_1234);
        assert_eq!(bytes(&[other_nan], &[f32::NAN]).wrong, 0);
        assert_eq!(bytes(&[f32::NAN], &[1.0]).wrong, 1);
        assert_eq!(bytes(&[1.0], &[f32::NAN]).wrong, 1);
        assert_eq!(bytes(&[f32::INFINITY], &[f32::NAN]).wrong, 1);
        assert_eq!(bound(f32::NAN, 1.0, 1e30).wrong, 1);
        assert_eq!(bound(1.0, f64::NAN, 1e30).wrong, 1);
        assert_eq!(bound(f32::NAN, f64::NAN, 0.0).wrong, 0);
        assert_eq!(bound(f32::INFINITY, f64::INFINITY, 0.0).wrong, 0);
        assert_eq!(bound(f32::NEG_INFINITY, f64::INFINITY, 1e30).wrong, 1);
        assert_eq!(bound(f32::INFINITY, 1.0, 1e30).wrong, 1);
    }

    #[test]
    fn integers_never_match_by_class() {
        let nan_bits = [0x7fc0_0000u32];
        let other = [0x7fc0_0001u32];
        let against = bytes_of(&other);
        let result = compare(
            Element::U32,
            &bytes_of(&nan_bits),
            Against::Bytes(&against),
            &[],
        );
        assert_eq!(result.wrong, 1);
    }

    #[test]
    fn the_sign_of_zero_counts_and_is_not_zero_error() {
        let result = bytes(&[-0.0], &[0.0]);
        assert_eq!(result.wrong, 1);
        assert_eq!(result.worst.ulp, 1);
    }

    #[test]
    fn the_first_wrong_element_is_named_with_both_values() {
        let result = bytes(&[1.0, 2.0, 4.0], &[1.0, 2.0 + 2.0 * f32::EPSILON, 3.0]);
        assert_eq!(result.wrong, 2);
        let first = result.first.unwrap();
        assert!(
            first.starts_with("element 1 was 2e0 (0x40000000)"),
            "{first}"
        );
        assert!(first.ends_with("1 ulp apart"), "{first}");
        assert_eq!(result.worst.abs, 1.0);
    }

    #[test]
    fn skipped_elements_are_not_compared() {
        let want = bytes_of(&[1.0f32, 2.0, 3.0]);
        let got = bytes_of(&[1.0f32, 9.0, 3.0]);
        let skip = std::slice::from_ref(&(1..2));
        let result = compare(Element::F32, &got, Against::Bytes(&want), skip);
        assert_eq!((result.wrong, result.worst.elements), (0, 2));
    }

    proptest! {
        #[test]
        fn values_within_the_bound_pass_and_beyond_it_fail(
            reference in -1e6f64..1e6, bound_size in 1e-3f64..1e3, side in prop::bool::ANY,
        ) {
            let sign = if side { 1.0 } else { -1.0 };
            let at = |fraction: f64| {
                let value = bytes_of(&[reference + sign * fraction * bound_size]);
                let against = Against::Bound { reference: &[reference], bound: &[bound_size] };
                compare(Element::F64, &value, against, &[])
            };
            prop_assert_eq!(at(0.9).wrong, 0);
            prop_assert_eq!(at(1.1).wrong, 1);
            prop_assert!((at(0.9).worst.of_bound - 0.9).abs() < 1e-3);
        }
    }
}
