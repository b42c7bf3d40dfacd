//! Values of arguments: what they may be, and how help texts list them.

use drope_core::positions::Method;

/// A number of at least 0.
pub fn at_least_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{text} is not a number of at least 0"))
}

/// A number above 0.
pub fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text} is not a number above 0"))
}

/// A whole number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| format!("{text} is not a whole number of at least 1"))
}

/// A share, or a depth: a number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text} is not a number from 0 to 1"))
}

/// Tokens: a whole number, or one followed by k (times 1024).
pub fn tokens(text: &str) -> Result<usize, String> {
    let (number, unit) = text.strip_suffix(['k', 'K']).map_or((text, 1), |number| (number, 1024));
    let tokens = number.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    tokens.filter(|&tokens| tokens > 0).ok_or_else(|| format!("{text} is no number of tokens, such as 512 or 16k"))
}

/// Tokens of training: a whole number, or one followed by k or m (thousands, millions).
pub fn training_tokens(text: &str) -> Result<usize, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let tokens = number.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    tokens.filter(|&tokens| tokens > 0).ok_or_else(|| format!("{text} is no number of tokens, such as 250k or 1m"))
}

/// Names of all methods, for help texts.
pub fn method_names() -> String {
    Method::ALL.map(Method::name).join(", ")
}
