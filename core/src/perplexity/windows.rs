//! A text longer than the window, read in parts.

use std::ops::Range;

use crate::error::{Error, Result};

/// A part of a text that is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens that are read.
    pub read: Range<usize>,
    /// Tokens whose losses count: those that no window before has counted.
    pub counted: Range<usize>,
}

/// Windows of at most `window` tokens, each `stride` further, until every token but the first is counted once. The last is as long
/// as is left, as in transformers' guide to the perplexity of models of fixed length.
///
/// A counted token has at least `window − stride` tokens before it, or all that there are.
///
/// # Errors
/// If the stride is 0 or not shorter than the window: the first token of a window is never predicted.
pub fn windows(tokens: usize, window: usize, stride: usize) -> Result<Vec<Window>> {
    if stride == 0 {
        return Err(Error::Zero("the stride"));
    }
    if stride >= window {
        return Err(Error::Stride { stride, window });
    }
    let mut windows: Vec<Window> = Vec::new();
    let mut counted = 1;
    while counted < tokens {
        let start = windows.len() * stride;
        let end = (start + window).min(tokens);
        windows.push(Window { read: start..end, counted: counted..end });
        counted = end;
    }
    Ok(windows)
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn windows_count_every_token_once_with_enough_before_it() {
        for (tokens, window, stride) in [(100, 10, 3), (100, 10, 9), (7, 10, 5), (10, 10, 1), (11, 10, 4), (2, 2, 1)] {
            let windows = windows(tokens, window, stride).unwrap();
            let counted: Vec<usize> = windows.iter().flat_map(|window| window.counted.clone()).collect();
            assert!(counted.into_iter().eq(1..tokens), "{tokens} {window} {stride}");
            for part in windows {
                assert!(part.read.len() <= window && part.read.end == part.counted.end);
                let before = part.counted.start - part.read.start;
                assert!(before >= 1 && (part.read.start == 0 || before >= window - stride));
            }
        }
        assert!(windows(10, 4, 0).is_err() && windows(10, 4, 4).is_err() && windows(10, 1, 1).is_err());
    }
}
