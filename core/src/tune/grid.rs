//! Coordinate descent on a grid.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::positions::{Amount, Method, Parameter, Parameters};

/// A parameter and the values that are tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The parameter.
    pub parameter: Parameter,
    /// In the order of their size at the longest extension; the method's own is among them.
    pub values: Vec<Amount>,
    /// Index of the method's own value.
    pub own: usize,
}

/// The points to try: all combinations of the values of the axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid(pub Vec<Axis>);

/// A point of the grid that was scored.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredPoint {
    /// The index of its value on each axis.
    point: Vec<usize>,
    /// What differs from the method's own values.
    pub parameters: Parameters,
    /// The score, which the search makes large.
    pub score: f64,
}

impl Grid {
    /// The grid of a method ([`Tunable::grid`](crate::positions::Tunable::grid)), or what is `chosen` in its place, for
    /// reading at these extension factors.
    ///
    /// # Errors
    /// If there is nothing to try, a parameter is chosen twice, or the method cannot read with every combination.
    pub fn new(method: Method, config: &Config, factors: &[f64], chosen: &[(Parameter, Vec<Amount>)]) -> Result<Self> {
        let longest = factors.iter().copied().fold(1.0, f64::max);
        let axes = if chosen.is_empty() {
            let with_grid = method.info().parameters.iter().filter(|tunable| !tunable.grid.is_empty());
            let axis = |own, (parameter, grid): (_, &[Amount])| Axis::new(parameter, own, grid, longest);
            let known = with_grid.map(|tunable| (tunable.parameter, tunable.grid));
            known.filter_map(|tunable| Some(axis(method.own_value(config, tunable.0)?, tunable))).collect()
        } else {
            let axis = |(parameter, values): &(Parameter, Vec<Amount>)| match method.own_value(config, *parameter) {
                Some(own) => Ok(Axis::new(*parameter, own, values, longest)),
                None => Err(Error::Parameter(format!(
                    "{} cannot be tuned for {} on this model; tune another parameter",
                    parameter.name(),
                    method.name()
                ))),
            };
            Parameters::new(chosen.iter().map(|(parameter, values)| (*parameter, values[0])))?;
            chosen.iter().map(axis).collect::<Result<_>>()?
        };
        let grid = Self(axes);
        for point in grid.points() {
            for &factor in factors {
                method.positions_with(config, factor, &grid.parameters(&point)?)?;
            }
        }
        Ok(grid)
    }

    /// All points of the grid; the last axis changes fastest.
    fn points(&self) -> Vec<Vec<usize>> {
        self.0.iter().fold(vec![vec![]], |points, axis| {
            let longer = |point: Vec<usize>| (0..axis.values.len()).map(move |place| [&point[..], &[place]].concat());
            points.into_iter().flat_map(longer).collect()
        })
    }

    fn parameters(&self, point: &[usize]) -> Result<Parameters> {
        let changed = self.0.iter().zip(point).filter(|(axis, place)| axis.own != **place);
        Parameters::new(changed.map(|(axis, &place)| (axis.parameter, axis.values[place])))
    }

    /// Number of steps on the grid from the method's own values.
    fn distance(&self, point: &[usize]) -> usize {
        self.0.iter().zip(point).map(|(axis, place)| axis.own.abs_diff(*place)).sum()
    }

    /// The candidate with the highest score. Of equal scores, the one with the fewest steps from the method's own
    /// values, summed over all parameters; of equally many steps, the first.
    pub fn best<'a>(&self, candidates: &'a [ScoredPoint]) -> Option<&'a ScoredPoint> {
        let is_better = |a: &ScoredPoint, b: &ScoredPoint| {
            a.score > b.score || a.score == b.score && self.distance(&a.point) < self.distance(&b.point)
        };
        candidates.iter().reduce(|best, candidate| if is_better(candidate, best) { candidate } else { best })
    }

    /// Coordinate descent: it starts from the method's own values and varies each axis in turn, with the best values of
    /// the others, until a round changes nothing. No change of one parameter alone then scores better than the best
    /// point. Returns all scored points in that order; no point is scored twice.
    ///
    /// # Errors
    /// The first error of `score`.
    pub fn descend<E: From<Error>>(
        &self,
        mut score: impl FnMut(&Parameters) -> std::result::Result<f64, E>,
    ) -> std::result::Result<Vec<ScoredPoint>, E> {
        let mut scored: Vec<ScoredPoint> = Vec::new();
        let mut best: Vec<usize> = self.0.iter().map(|axis| axis.own).collect();
        loop {
            let before = best.clone();
            for (index, axis) in self.0.iter().enumerate() {
                for place in 0..axis.values.len() {
                    let mut point = best.clone();
                    point[index] = place;
                    if scored.iter().all(|candidate| candidate.point != point) {
                        let parameters = self.parameters(&point)?;
                        scored.push(ScoredPoint { score: score(&parameters)?, point, parameters });
                    }
                }
                best = self.best(&scored).map_or(best, |candidate| candidate.point.clone());
            }
            if best == before {
                return Ok(scored);
            }
        }
    }
}

impl Axis {
    fn new(parameter: Parameter, own: Amount, values: &[Amount], longest: f64) -> Self {
        let mut distinct: Vec<Amount> = Vec::new();
        for &value in values.iter().chain([&own]) {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        distinct.sort_by(|a, b| a.at(longest).total_cmp(&b.at(longest)));
        let own = distinct.iter().position(|value| *value == own).unwrap_or_default();
        Self { parameter, values: distinct, own }
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, ScoredPoint};
    use crate::config::{Config, RopeScaling, YarnParameters};
    use crate::error::Error;
    use crate::positions::{Amount, Method, Parameter, Parameters};

    fn config() -> Config {
        Config::from_json(include_str!("../../../tests/fixtures/rope/config.json")).unwrap()
    }

    fn grid(chosen: &[(Parameter, &[f64])]) -> Result<Grid, Error> {
        let numbers = |values: &[f64]| values.iter().copied().map(Amount::Number).collect();
        let chosen: Vec<_> = chosen.iter().map(|&(parameter, values)| (parameter, numbers(values))).collect();
        Grid::new(Method::Yarn, &config(), &[2.0, 4.0], &chosen)
    }

    /// The points that were scored, and the best one.
    fn tuned(grid: &Grid, score: impl Fn(f64, f64) -> f64) -> (Vec<ScoredPoint>, Parameters) {
        let number = |parameters: &Parameters, parameter, own| parameters.get(parameter).unwrap_or(own).at(4.0);
        let scored = grid.descend(|parameters| {
            let fast = number(parameters, Parameter::BetaFast, Amount::Number(32.0));
            Ok::<_, Error>(score(fast, number(parameters, Parameter::BetaSlow, Amount::Number(1.0))))
        });
        let scored = scored.unwrap();
        let best = grid.best(&scored).unwrap().parameters.clone();
        (scored, best)
    }

    #[test]
    fn the_best_point_is_found_and_no_point_is_scored_twice() {
        let grid = grid(&[(Parameter::BetaFast, &[8.0, 16.0, 64.0]), (Parameter::BetaSlow, &[0.5, 2.0, 4.0])]);
        let grid = grid.unwrap();
        assert_eq!(grid.0[0].values, [8.0, 16.0, 32.0, 64.0].map(Amount::Number), "the own value is among them");
        // Its best beta_fast is 16 until beta_slow is 2: a second round is needed.
        let score =
            |fast: f64, slow: f64| -(fast.log2() - 4.0 + slow.log2()).powi(2) - 3.0 * (slow.log2() - 1.0).powi(2);
        let (scored, best) = tuned(&grid, score);
        assert_eq!(best.to_string(), "beta_fast=8,beta_slow=2");
        assert!(scored[0..4].iter().any(|candidate| candidate.parameters.is_empty()), "the method's own values too");
        let points: std::collections::BTreeSet<_> = scored.iter().map(|candidate| &candidate.point).collect();
        assert_eq!(points.len(), scored.len());
    }

    #[test]
    fn of_equal_scores_the_nearest_to_the_own_values_counts() {
        let grid = grid(&[(Parameter::BetaFast, &[8.0, 16.0, 64.0]), (Parameter::BetaSlow, &[0.5, 2.0])]).unwrap();
        assert_eq!(tuned(&grid, |_, _| 0.5).1, Parameters::default());
        let (_, best) = tuned(&grid, |fast, _| if fast < 32.0 { 0.9 } else { 0.5 });
        assert_eq!(best.to_string(), "beta_fast=16", "8 is a step further");
    }

    #[test]
    fn of_a_model_trained_with_a_scaling_the_temperature_alone_is_tuned() {
        let mut trained = config();
        trained.rope.scaling = RopeScaling::Yarn(YarnParameters::new(8.0));
        trained.rope.rope_scaling_trained = true;
        let grid = Grid::new(Method::Yarn, &trained, &[2.0, 8.0], &[]).unwrap();
        let tuned: Vec<&str> = grid.0.iter().map(|axis| axis.parameter.name()).collect();
        assert_eq!(tuned, ["temperature_coefficient"]);
    }

    #[test]
    fn every_method_can_be_tuned_and_what_cannot_be_read_is_refused() {
        for method in Method::ALL.into_iter().filter(|&method| method.positions(&config(), 2.0).is_ok()) {
            let grid = Grid::new(method, &config(), &[1.0, 2.0, 8.0], &[]).unwrap();
            assert!(grid.points().len() > 1, "{}", method.name());
        }
        let refused = |chosen: &[(Parameter, &[f64])], words: &str| {
            let error = grid(chosen).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&[(Parameter::BetaFast, &[0.5])], "beta_fast above it");
        refused(&[(Parameter::LowFreqFactor, &[0.5])], "it has no low_freq_factor; choose from beta_fast");
        refused(&[(Parameter::BetaFast, &[8.0]), (Parameter::BetaFast, &[16.0])], "given twice");
        refused(&[(Parameter::AttentionFactor, &[1.1])], "cannot be tuned for yarn");
    }
}
