//! Random search: equally many candidates for every method, however many parameters it has, so that methods are tuned alike.
//! Bergstra and Bengio (2012) show that it finds as good parameters as a grid of the same size.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::positions::{Amount, Method, Parameter, Parameters, SearchInterval};

/// Combinations in a row that the method cannot read with before the search gives up.
const MOST_MISSES: usize = 1000;

/// Share of a range at each of its ends where the best candidate says that the range may be too narrow.
const END: f64 = 0.1;

/// Candidates that are drawn once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomSearch {
    /// Seed.
    pub seed: u64,
    /// Candidates, the method's own values among them.
    pub candidates: usize,
    /// What was drawn.
    pub ranges: Vec<SearchRange>,
}

/// A parameter and the range that its values were drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRange {
    /// The parameter.
    pub parameter: Parameter,
    /// Its smallest value.
    pub lowest: Amount,
    /// Its largest.
    pub highest: Amount,
    /// Whether it was drawn evenly in the logarithm.
    pub is_logarithmic: bool,
}

impl RandomSearch {
    /// A search over all parameters of a method that have a [range](crate::positions::Tunable::range) and may be chosen for the model.
    ///
    /// # Errors
    /// If there is nothing to draw.
    pub fn new(method: Method, config: &Config, candidates: usize, seed: u64) -> Result<Self> {
        let tunable =
            method.info().parameters.iter().filter(|tunable| method.own_value(config, tunable.parameter).is_some());
        let ranges: Vec<SearchRange> =
            tunable.filter_map(|tunable| Some(SearchRange::new(tunable.parameter, tunable.range?))).collect();
        if ranges.is_empty() {
            return Err(Error::Parameter(format!("{} has no parameter to draw on this model", method.name())));
        }
        Ok(Self { seed, candidates, ranges })
    }

    /// The candidates: the method's own values first.
    ///
    /// # Errors
    /// If the method can read with hardly any combination at these extension factors.
    pub fn draw(&self, method: Method, config: &Config, factors: &[f64]) -> Result<Vec<Parameters>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut drawn = vec![Parameters::default()];
        let mut misses = 0;
        while drawn.len() < self.candidates {
            let values = self.ranges.iter().map(|range| (range.parameter, range.draw(&mut rng)));
            let candidate = Parameters::new(values)?;
            match factors.iter().try_for_each(|&factor| method.positions_with(config, factor, &candidate).map(|_| ())) {
                Ok(()) => {
                    drawn.push(candidate);
                    misses = 0;
                }
                Err(error) if misses == MOST_MISSES => return Err(error),
                Err(_) => misses += 1,
            }
        }
        Ok(drawn)
    }

    /// Parameters whose value lies within a tenth of an end of its range.
    pub fn at_ends(&self, parameters: &Parameters) -> Vec<Parameter> {
        let is_at_end =
            |range: &&SearchRange| parameters.get(range.parameter).is_some_and(|value| range.is_at_end(value));
        self.ranges.iter().filter(is_at_end).map(|range| range.parameter).collect()
    }
}

impl SearchRange {
    fn new(parameter: Parameter, range: SearchInterval) -> Self {
        let (lowest, highest, is_logarithmic) = match range {
            SearchInterval::LogUniform(lowest, highest) => (Amount::Number(lowest), Amount::Number(highest), true),
            SearchInterval::LogUniformTimesS(lowest, highest) => {
                (Amount::TimesS(lowest), Amount::TimesS(highest), true)
            }
            SearchInterval::Uniform(lowest, highest) => (Amount::Number(lowest), Amount::Number(highest), false),
        };
        Self { parameter, lowest, highest, is_logarithmic }
    }

    /// The number of an amount on the range's scale.
    fn at(&self, amount: Amount) -> f64 {
        let (Amount::Number(number) | Amount::TimesS(number)) = amount;
        if self.is_logarithmic { number.ln() } else { number }
    }

    fn draw(&self, rng: &mut impl Rng) -> Amount {
        let drawn = rng.random_range(self.at(self.lowest)..=self.at(self.highest));
        let number = if self.is_logarithmic { drawn.exp() } else { drawn };
        // Three digits, as a person would write it.
        let unit = 10f64.powi(2 - number.abs().max(1e-3).log10().floor() as i32);
        let rounded = (number * unit).round() / unit;
        match self.lowest {
            Amount::Number(_) => Amount::Number(rounded),
            Amount::TimesS(_) => Amount::TimesS(rounded),
        }
    }

    fn is_at_end(&self, value: Amount) -> bool {
        let [lowest, highest, at] = [self.lowest, self.highest, value].map(|amount| self.at(amount));
        let share = (at - lowest) / (highest - lowest);
        !(END..=1.0 - END).contains(&share)
    }
}

#[cfg(test)]
mod tests {
    use super::RandomSearch;
    use crate::config::Config;
    use crate::positions::{Amount, Method, Parameter, Parameters};

    fn config() -> Config {
        Config::from_json(include_str!("../../../tests/fixtures/rope/config.json")).unwrap()
    }

    #[test]
    fn every_method_has_as_many_candidates_that_it_can_read_with() {
        let factors = [2.0, 8.0, 64.0];
        for method in
            [Method::Drope, Method::PDrope, Method::Rope, Method::Ntk, Method::DynamicNtk, Method::Yarn, Method::Llama3]
        {
            let search = RandomSearch::new(method, &config(), 24, 1).unwrap();
            let drawn = search.draw(method, &config(), &factors).unwrap();
            assert_eq!((drawn.len(), &drawn[0]), (24, &Parameters::default()), "{}", method.name());
            assert_eq!(drawn, search.draw(method, &config(), &factors).unwrap(), "drawn once");
            for candidate in &drawn[1..] {
                assert_eq!(candidate.iter().count(), search.ranges.len());
                for factor in factors {
                    method.positions_with(&config(), factor, candidate).unwrap();
                }
            }
        }
        let other = RandomSearch::new(Method::Yarn, &config(), 24, 2).unwrap();
        let first = RandomSearch { seed: 1, ..other.clone() };
        assert_ne!(
            other.draw(Method::Yarn, &config(), &[2.0]).unwrap(),
            first.draw(Method::Yarn, &config(), &[2.0]).unwrap()
        );
    }

    #[test]
    fn values_are_spread_over_the_whole_range() {
        let search = RandomSearch::new(Method::Ntk, &config(), 400, 3).unwrap();
        let drawn = search.draw(Method::Ntk, &config(), &[2.0]).unwrap();
        // From 0.5 to 16, half of the logarithm is below √8.
        let multiples: Vec<f64> = drawn[1..]
            .iter()
            .map(|candidate| match candidate.get(Parameter::Alpha).unwrap() {
                Amount::TimesS(multiple) => multiple,
                Amount::Number(number) => panic!("{number} does not follow the length"),
            })
            .collect();
        assert!(multiples.iter().all(|multiple| (0.5..=16.0).contains(multiple)));
        let below =
            multiples.iter().filter(|multiple| **multiple < 8f64.sqrt()).count() as f64 / multiples.len() as f64;
        assert!((below - 0.5).abs() < 0.1, "{below}");
        let at_ends = drawn.iter().filter(|candidate| search.at_ends(candidate).contains(&Parameter::Alpha)).count();
        assert!((at_ends as f64 / 400.0 - 0.2).abs() < 0.07, "{at_ends}");
    }
}
