//! Variable tracking: a chain of assignments among repeated sentences, behind an example of the same kind.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::needles::{NOISE, places};
use super::{Sample, size, words};

const HOPS: usize = 4;

/// Tokens that the example may have.
pub(super) const EXAMPLE_TOKENS: usize = 500;

/// The task.
pub(super) struct Variables {
    /// Repeated sentences in the example.
    example_size: usize,
}

impl Variables {
    /// Finds the size of the example; `fits` says whether one is small enough.
    pub(super) fn new(seed: u64, fits: &dyn Fn(&Sample) -> bool) -> Self {
        const STEP: usize = 5;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let example_size = size::largest(STEP, |size| fits(&chain(size, 3, &mut rng)));
        Self { example_size: example_size.unwrap_or(STEP) }
    }

    pub(super) fn sample(&self, size: usize, rng: &mut ChaCha8Rng) -> Sample {
        let example = chain(self.example_size, 3, rng);
        let asked = chain(size, 5, rng);
        let answered = [&example.message, &example.answer_prefix, " ", &example.outputs.join(" "), "\n"].concat();
        Sample { message: format!("{answered}\n{}", asked.message), ..asked }
    }
}

/// One chain in so many repeated sentences; names of so many letters.
fn chain(size: usize, letters: usize, rng: &mut ChaCha8Rng) -> Sample {
    let mut names: Vec<String> = Vec::new();
    while names.len() <= HOPS {
        let name = words::letters(b'A', letters, rng);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value = rng.random_range(10_000..99_999u32);
    let first = format!("VAR {} = {value}", names[0]);
    // RULER's lines of hops end with a space.
    let hops = names.windows(2).map(|pair| format!("VAR {} = VAR {} ", pair[1], pair[0]));
    let mut lines = vec![NOISE.to_owned(); size];
    let chain: Vec<String> = std::iter::once(first).chain(hops).collect();
    for (at, (line, place)) in chain.iter().zip(places(size, chain.len(), rng)).enumerate() {
        lines.insert(place + at, line.clone());
    }
    let context = lines.join("\n");
    Sample {
        message: format!(
            "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\nQuestion: Find all variables that are assigned the value {value} in the text above."
        ),
        answer_prefix: format!(
            " Answer: According to the chain(s) of variable assignment in the text above, {} variables are assigned the value {value}, they are: ",
            names.len()
        ),
        outputs: names,
    }
}
