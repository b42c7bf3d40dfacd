//! How much the benchmark asks (`?benchmark`).

/// Tokens that every question fits into.
const LEAST_TOKENS: u64 = 128;
const MOST_ROUNDS: usize = 50;

/// What each program is asked.
#[derive(Clone, Copy)]
pub struct BenchmarkSize {
    /// Tokens of the prompts.
    pub prompts: [usize; 2],
    /// Rounds that count, with each prompt.
    pub rounds: usize,
}

impl BenchmarkSize {
    /// As an address says, such as `?benchmark=256,512&rounds=3`, or prompts of a page and of a chapter, five times.
    pub fn new(prompts: Option<[u64; 2]>, rounds: Option<usize>) -> Self {
        let prompts = prompts.unwrap_or([1024, 4096]).map(|tokens| tokens.clamp(LEAST_TOKENS, 1 << 16) as usize);
        Self { prompts, rounds: rounds.unwrap_or(5).clamp(1, MOST_ROUNDS) }
    }
}
