//! LongRoPE2's evolutionary search for the factors of LongRoPE (Shang et al. 2025, arXiv 2502.20082). This module runs
//! no model: the caller measures candidates and keeps the state.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::positions::{partial_drop_cutoff, rope_frequencies};

/// The search space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// Extension factor s.
    pub factor: f64,
    /// Pairs of a head.
    pub pairs: usize,
    /// The first pair that does not rotate once within the training context: where the search begins.
    pub critical: usize,
    /// Bounds of the factors from the critical pair on, as multiples of s.
    #[serde(default)]
    pub bounds: Bounds,
}

/// Multiples of s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// At most 1; no factor is below 1, whatever this is.
    pub lowest: f64,
    /// At least 1.
    pub highest: f64,
}

impl Default for Bounds {
    /// From s to 2s.
    fn default() -> Self {
        Self { lowest: 1.0, highest: 2.0 }
    }
}

/// Factors that frequencies are divided by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// From this pair on, factors are searched within the bounds and never decrease. Below it they are NTK's, which
    /// increase up to the factor of this pair.
    pub critical: usize,
    /// One factor for each pair.
    pub factors: Vec<f64>,
    /// Perplexity of the needles' answers, which the search makes small; `None` if it is not known yet.
    #[serde(rename = "score")]
    pub perplexity: Option<f64>,
}

/// Candidates of a generation, best first once they are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Population {
    /// Generations done.
    pub generation: usize,
    /// Candidates.
    pub candidates: Vec<Candidate>,
}

impl Space {
    /// The space of a model's heads.
    pub fn new(factor: f64, rope_theta: f64, rotary_dim: usize, context: usize, bounds: Bounds) -> Self {
        let slowest = partial_drop_cutoff(context);
        let frequencies = rope_frequencies(rope_theta, rotary_dim);
        let critical = frequencies.iter().position(|&omega| omega < slowest).unwrap_or(frequencies.len() - 1);
        Self { factor, pairs: frequencies.len(), critical, bounds }
    }

    /// The bounds of the factors that are free.
    fn range(&self) -> RangeInclusive<f64> {
        (self.bounds.lowest * self.factor).max(1.0)..=self.bounds.highest * self.factor
    }

    /// A candidate with a critical pair, and with the factors `free` for it and all pairs after it, limited to the
    /// space.
    fn candidate(&self, critical: usize, free: &[f64]) -> Candidate {
        let mut factors = vec![1.0; self.pairs];
        let (mut least, most) = self.range().into_inner();
        for (factor, &wanted) in factors[critical..].iter_mut().zip(free) {
            *factor = wanted.clamp(least, most);
            least = *factor;
        }
        // NTK: a larger base stretches pair m by the critical factor to the power of m / critical.
        for m in 0..critical {
            factors[m] = factors[critical].powf(m as f64 / critical as f64);
        }
        // Rounded to millionths, factors do not change when they are written as text and read again.
        let factors = factors.into_iter().map(|factor| (factor * 1e6).round() / 1e6).collect();
        Candidate { critical, factors, perplexity: None }
    }

    /// The first generation: every factor from the critical pair on at s, and mutants of that.
    pub fn first(&self, size: usize, seed: u64) -> Population {
        let mut rng = generator(seed, 0);
        let flat = vec![self.factor; self.pairs];
        let mut candidates = vec![self.candidate(self.critical, &flat)];
        while candidates.len() < size {
            candidates.push(self.mutated(&mut rng, &candidates[0]));
        }
        Population { generation: 0, candidates }
    }

    /// The next generation of a measured one: its best quarter, and their mutants and crossings.
    pub fn next(&self, population: &Population, seed: u64) -> Population {
        let mut rng = generator(seed, population.generation + 1);
        let mut parents = population.candidates.clone();
        parents.sort_by(|a, b| a.perplexity.unwrap_or(f64::INFINITY).total_cmp(&b.perplexity.unwrap_or(f64::INFINITY)));
        let size = parents.len();
        parents.truncate(size.div_ceil(4));
        let mut candidates = parents.clone();
        while candidates.len() < size {
            let [one, other] = [0, 1].map(|_| rng.random_range(0..parents.len()));
            let is_mutant = rng.random_bool(0.5);
            candidates.push(match is_mutant {
                true => self.mutated(&mut rng, &parents[one]),
                false => self.crossed(&mut rng, &parents[one], &parents[other]),
            });
        }
        Population { generation: population.generation + 1, candidates }
    }

    fn mutated(&self, rng: &mut ChaCha8Rng, parent: &Candidate) -> Candidate {
        let critical = match rng.random_range(0..4) {
            0 => parent.critical.saturating_sub(1).max(1).min(self.pairs - 1),
            1 => (parent.critical + 1).min(self.pairs - 1),
            _ => parent.critical,
        };
        let free: Vec<f64> = parent.factors[critical..]
            .iter()
            .map(|factor| if rng.random_bool(0.3) { rng.random_range(self.range()) } else { *factor })
            .collect();
        self.candidate(critical, &free)
    }

    fn crossed(&self, rng: &mut ChaCha8Rng, a: &Candidate, b: &Candidate) -> Candidate {
        let critical = if rng.random_bool(0.5) { a.critical } else { b.critical };
        let pairs = a.factors.iter().zip(&b.factors).skip(critical);
        let free: Vec<f64> = pairs.map(|(a, b)| if rng.random_bool(0.5) { *a } else { *b }).collect();
        self.candidate(critical, &free)
    }
}

fn generator(seed: u64, generation: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(generation as u64);
    rng
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Candidate, Population, Space};

    /// The population after a search for factors of `optimum` beyond the critical pair.
    fn searched(seed: u64, generations: usize, bounds: Bounds, optimum: f64) -> Population {
        let space = Space::new(4.0, 10_000.0, 32, 256, bounds);
        // Seven of sixteen pairs rotate at least once in 256 tokens.
        assert_eq!((space.pairs, space.critical), (16, 7));
        let measure = |candidate: &mut Candidate| {
            candidate.perplexity = Some(candidate.factors[7..].iter().map(|factor| (factor - optimum).powi(2)).sum());
        };
        let range = 4.0 * bounds.lowest..=4.0 * bounds.highest;
        let mut population = space.first(64, seed);
        for generation in 0.. {
            for candidate in &population.candidates {
                let (below, free) = candidate.factors.split_at(candidate.critical);
                assert!(free.iter().all(|factor| range.contains(factor)) && free.is_sorted(), "{candidate:?}");
                assert!(below.is_sorted() && below[0] == 1.0 && below.last() < free.first(), "{candidate:?}");
            }
            population.candidates.iter_mut().for_each(measure);
            if generation == generations {
                return population;
            }
            population = space.next(&population, seed);
        }
        unreachable!("the loop has no other end")
    }

    fn best(population: &Population) -> f64 {
        population.candidates.iter().filter_map(|candidate| candidate.perplexity).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn generations_stay_in_the_space_and_get_better() {
        let searched = |seed, generations| searched(seed, generations, Bounds::default(), 6.0);
        let (first, last) = (searched(3, 0), searched(3, 40));
        assert!(best(&last) < 0.1 * best(&first), "{} after {}", best(&last), best(&first));
        assert_eq!(searched(3, 5), searched(3, 5));
        assert_ne!(searched(3, 5), searched(4, 5));
    }

    #[test]
    fn wider_bounds_hold_what_the_usual_ones_do_not() {
        for (optimum, bounds) in
            [(2.5, Bounds { lowest: 0.5, highest: 1.0 }), (12.0, Bounds { lowest: 1.0, highest: 4.0 })]
        {
            let [usual, freed] = [Bounds::default(), bounds].map(|bounds| best(&searched(3, 60, bounds, optimum)));
            assert!(freed < 0.5 * usual, "{optimum}: {freed} against {usual}");
        }
    }
}
