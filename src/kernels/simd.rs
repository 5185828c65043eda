//! Loops over slices of floats in the widest vectors that the machine has, chosen when the program runs.

use pulp::{Arch, Simd, WithSimd};

/// Columns of what [`multiply_add`] writes come in multiples of this.
pub(crate) const LANES: usize = 16;

/// Rounded up to whole vectors.
pub(crate) fn padded(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

/// Runs loops compiled for this machine. What is called within must be inlined.
#[inline(always)]
pub(crate) fn dispatch<R>(work: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(work)
}

/// `e^x` to about two units in the last place; 0 below -87, infinite above 88.72, NaN for every NaN.
///
/// Split as `2^n e^r` with `|r| <= ln 2 / 2`; `e^r` by a polynomial (its Taylor series to the seventh
/// power), `2^n` by its bits. No branch and no call, so that loops become vectors.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LOW: f32 = -87.0;
    const HIGH: f32 = 88.7228;
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to a whole number in the low bits
    let within = if x < LOW { LOW } else { x };
    let within = if within > HIGH { HIGH } else { within };
    let shifted = within.mul_add(std::f32::consts::LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], within));
    let mut p = 1.0 / 5040.0;
    for c in [
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = r.mul_add(p, c);
    }
    let y = f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23));
    // above the range the sum is infinite; for a NaN, whose payload would leak into the bits of `y`, it is NaN
    let y = if x <= HIGH { y } else { x + f32::INFINITY };
    if x < LOW { 0.0 } else { y }
}

/// Sum in a fixed order of additions that fills vectors.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    fold(values, 0.0, |a, x| a + x).iter().sum()
}

/// The largest value; NaNs are passed over.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    fold(values, f32::NEG_INFINITY, |a, x| if x > a { x } else { a })
        .into_iter()
        .fold(f32::NEG_INFINITY, f32::max)
}

#[inline(always)]
fn fold(values: &[f32], zero: f32, join: impl Fn(f32, f32) -> f32) -> [f32; 2 * LANES] {
    let mut lanes = [zero; 2 * LANES];
    let (whole, rest) = values.as_chunks::<{ 2 * LANES }>();
    for chunk in whole {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = join(*lane, x);
    }
    lanes
}

/// The sum of products.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; 2 * LANES];
    let ((a, a_rest), (b, b_rest)) = (
        a.as_chunks::<{ 2 * LANES }>(),
        b.as_chunks::<{ 2 * LANES }>(),
    );
    for (a, b) in a.iter().zip(b) {
        for i in 0..2 * LANES {
            lanes[i] = a[i].mul_add(b[i], lanes[i]);
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane = a.mul_add(*b, *lane);
    }
    lanes.iter().sum()
}

/// The sum of squares, in double precision over pieces.
pub(crate) fn squares(values: &[f32]) -> f64 {
    dispatch(
        #[inline(always)]
        || {
            let mut total = 0.0;
            for piece in values.chunks(1 << 12) {
                total += f64::from(dot(piece, piece));
            }
            total
        },
    )
}

/// True when no value is infinite or NaN.
pub(crate) fn all_finite(values: &[f32]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let bad = dispatch(
        #[inline(always)]
        || {
            let mut bad = 0;
            for x in values {
                bad |= u32::from(x.to_bits() & EXPONENT == EXPONENT);
            }
            bad
        },
    );
    bad == 0
}

/// A matrix read with any steps: entry `(row, column)` stands at `row * steps[0] + column * steps[1]`.
#[derive(Clone, Copy)]
pub(crate) struct Steps<'a>(pub(crate) &'a [f32], pub(crate) [usize; 2]);

/// `c += a b` for small matrices, which a general product spends its time preparing for.
///
/// # Shapes
/// - c: `[rows, columns]`, its rows `c_step` apart; a: `[rows, inner]`; b: `[inner, columns]`, its rows
///   `b_step` apart; `columns` is a multiple of [`LANES`]
pub(crate) fn multiply_add(
    c: &mut [f32],
    c_step: usize,
    a: Steps<'_>,
    b: &[f32],
    b_step: usize,
    [rows, inner, columns]: [usize; 3],
) {
    debug_assert!(columns.is_multiple_of(LANES));
    if rows > 0 && inner > 0 {
        Arch::new().dispatch(MultiplyAdd {
            c,
            c_step,
            a,
            b,
            b_step,
            shape: [rows, inner, columns],
        });
    }
}

struct MultiplyAdd<'a> {
    c: &'a mut [f32],
    c_step: usize,
    a: Steps<'a>,
    b: &'a [f32],
    b_step: usize,
    shape: [usize; 3],
}

impl WithSimd for MultiplyAdd<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let [_, _, columns] = self.shape;
        let mut column = 0;
        while column + 2 * S::F32_LANES <= columns {
            self.columns::<S, 2>(simd, column);
            column += 2 * S::F32_LANES;
        }
        if column < columns {
            self.columns::<S, 1>(simd, column);
        }
    }
}

impl MultiplyAdd<'_> {
    #[inline(always)]
    fn columns<S: Simd, const V: usize>(&mut self, simd: S, column: usize) {
        let rows = self.shape[0];
        let mut row = 0;
        while row + 4 <= rows {
            self.block::<S, 4, V>(simd, row, column);
            row += 4;
        }
        match rows - row {
            3 => self.block::<S, 3, V>(simd, row, column),
            2 => self.block::<S, 2, V>(simd, row, column),
            1 => self.block::<S, 1, V>(simd, row, column),
            _ => {}
        }
    }

    /// `R` rows and `V` vectors of columns, held in registers over all of the inner dimension.
    #[inline(always)]
    fn block<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let (Steps(a, [a_row, a_column]), width) = (self.a, V * S::F32_LANES);
        let a = &a[row * a_row..];
        let mut total = [[simd.splat_f32s(0.0); V]; R];
        for k in 0..self.shape[1] {
            let (b, _) = S::as_simd_f32s(&self.b[k * self.b_step + column..][..width]);
            let a = &a[k * a_column..];
            for r in 0..R {
                let x = simd.splat_f32s(a[r * a_row]);
                for v in 0..V {
                    total[r][v] = simd.mul_add_f32s(x, b[v], total[r][v]);
                }
            }
        }
        for (r, total) in total.iter().enumerate() {
            let (c, _) =
                S::as_mut_simd_f32s(&mut self.c[(row + r) * self.c_step + column..][..width]);
            for v in 0..V {
                c[v] = simd.add_f32s(c[v], total[v]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exp_is_close_everywhere_and_keeps_what_is_not_a_number() {
        for i in -90_000..=90_000i32 {
            let x = i as f32 * 1e-3;
            let (found, expected) = (
                dispatch(
                    #[inline(always)]
                    || exp(x),
                ),
                f64::from(x).exp(),
            );
            let expected = if x < -87.0 { 0.0 } else { expected as f32 };
            assert!(
                (found - expected).abs() <= 3e-7 * expected || found == expected,
                "{x}: {found} is not {expected}"
            );
        }
        assert_eq!(
            [exp(f32::NEG_INFINITY), exp(f32::INFINITY), exp(0.0)],
            [0.0, f32::INFINITY, 1.0]
        );
    }

    /// `exp` of every value in place, in vectors.
    fn exp_all(values: &mut [f32]) {
        dispatch(
            #[inline(always)]
            || {
                for x in values {
                    *x = exp(*x);
                }
            },
        );
    }

    #[test]
    fn exp_of_every_nan_is_nan_in_every_lane() {
        // all payloads that differ in the bits that `exp` shifts into the exponent, of both signs, quiet and
        // signalling, and some with high bits too; 3 more than whole vectors
        let payloads =
            (1..1u32 << 10).chain((10..22).flat_map(|bit| [1 << bit, (1 << bit) | 0x1ff]));
        let nans: Vec<f32> = payloads
            .flat_map(|payload| {
                [0x7fc0_0000, 0xffc0_0000, 0x7f80_0000, 0xff80_0000].map(|bits| bits | payload)
            })
            .map(f32::from_bits)
            .collect();
        assert!(nans.iter().all(|x| x.is_nan()));
        for nan in nans {
            let mut values = [nan; 2 * LANES + 3];
            exp_all(&mut values);
            assert!(values.iter().all(|y| y.is_nan()), "{:#x}", nan.to_bits());
        }
        for lane in 0..2 * LANES + 3 {
            let mut values = [1.0; 2 * LANES + 3];
            values[lane] = f32::from_bits(0x7fc0_0101);
            exp_all(&mut values);
            for (i, y) in values.iter().enumerate() {
                assert_eq!(y.is_nan(), i == lane, "lane {lane} of {i}");
            }
            values = [f32::NEG_INFINITY; 2 * LANES + 3];
            values[lane] = f32::INFINITY;
            exp_all(&mut values);
            for (i, y) in values.iter().enumerate() {
                assert_eq!(*y, if i == lane { f32::INFINITY } else { 0.0 });
            }
        }
    }

    proptest! {
        #[test]
        fn small_products_equal_the_sum_of_products(
            rows in 1usize..9, inner in 0usize..7, vectors in 1usize..4, transposed: bool,
            numbers in proptest::collection::vec(-2f32..2.0, 600),
        ) {
            let columns = vectors * LANES;
            let steps = if transposed { [1, rows] } else { [inner, 1] };
            let (a, b) = (&numbers[..rows * inner], &numbers[200..200 + inner * columns]);
            let mut c = vec![1.0; rows * columns];
            multiply_add(&mut c, columns, Steps(a, steps), b, columns, [rows, inner, columns]);
            for row in 0..rows {
                for column in 0..columns {
                    let expected: f32 =
                        (0..inner).map(|k| a[row * steps[0] + k * steps[1]] * b[k * columns + column]).sum();
                    prop_assert!((c[row * columns + column] - 1.0 - expected).abs() < 1e-5);
                }
            }
        }

        #[test]
        fn sums_and_largest_equal_those_of_the_standard_library(numbers in proptest::collection::vec(-2f32..2.0, 1..100)) {
            prop_assert!((sum(&numbers) - numbers.iter().sum::<f32>()).abs() < 1e-4);
            prop_assert_eq!(largest(&numbers), numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let squares: f32 = numbers.iter().map(|x| x * x).sum();
            prop_assert!((dot(&numbers, &numbers) - squares).abs() < 1e-4);
        }
    }
}
