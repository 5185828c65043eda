//! A tree of seeds, the only source of randomness in the program.
//!
//! A [`Seed`] is a value. `seed.child("agent", 3)` names a branch: different paths give unrelated
//! streams, the same path always the same one, on any machine, with any number of threads.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A node of the tree of seeds. As text it is 64 hexadecimal digits; what it hangs from cannot be told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seed([u8; 32]);

impl From<Seed> for String {
    fn from(seed: Seed) -> Self {
        seed.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for Seed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("found `{text}`, expected 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut seed = [0; 32];
        for (i, byte) in seed.iter_mut().enumerate() {
            let digits = &text[2 * i..2 * i + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self(seed))
    }
}

impl Seed {
    /// The root of a tree.
    pub fn new(number: u64) -> Self {
        Self(Sha256::digest(number.to_le_bytes()).into())
    }

    /// The branch of this node with this label and index.
    #[must_use]
    pub fn child(&self, label: &str, index: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update((label.len() as u64).to_le_bytes());
        hash.update(label);
        hash.update(index.to_le_bytes());
        Self(hash.finalize().into())
    }

    /// A generator that starts at this node.
    pub fn rng(&self) -> Rng {
        Rng(Xoshiro256PlusPlus::from_seed(self.0))
    }
}

/// A stream of random numbers that belongs to one [`Seed`].
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Uniform in `[0, 1)`, 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..n`, without bias: the high half of a product with `n`, whose low half tells the few
    /// draws that would favour some values (Lemire, arXiv 1805.10941).
    ///
    /// # Panics
    /// When `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "below(0) has no value to return");
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform integer, both ends included.
    ///
    /// # Panics
    /// When `low > high`.
    #[inline]
    pub fn int(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "int({low}, {high}) is an empty range");
        let span = high.abs_diff(low);
        let step = if span == u64::MAX {
            self.0.next_u64()
        } else {
            self.below(span + 1)
        };
        low.wrapping_add_unsigned(step)
    }

    /// One of the items, all equally likely.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Puts the items in a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// A number from the normal distribution of mean 0 and variance 1 (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_give_unrelated_streams() {
        let root = Seed::new(1);
        let first = |s: Seed| s.rng().below(u64::MAX);
        assert_eq!(first(root.child("agent", 3)), first(root.child("agent", 3)));
        assert_ne!(first(root.child("agent", 3)), first(root.child("agent", 4)));
        assert_ne!(first(root.child("agent", 3)), first(root.child("round", 3)));
        assert_ne!(
            first(root.child("a", 1).child("b", 2)),
            first(root.child("b", 2).child("a", 1))
        );
        assert_ne!(first(Seed::new(1)), first(Seed::new(2)));
    }

    #[test]
    fn int_reaches_both_ends_evenly() {
        let mut rng = Seed::new(7).rng();
        let mut counts = [0u32; 5];
        for _ in 0..5000 {
            counts[(rng.int(-2, 2) + 2) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&c| (850..1150).contains(&c)),
            "{counts:?}"
        );
        assert_eq!(rng.int(4, 4), 4);
        rng.int(i64::MIN, i64::MAX);
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut rng = Seed::new(9).rng();
        let draws: Vec<f64> = (0..20_000).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }
}
