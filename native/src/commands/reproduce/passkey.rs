//! Wang et al. (2024): pass keys at growing lengths, with and without temperatures.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;
use serde::Serialize;

use super::chart::{self, Axes, Series};
use super::comparison::Comparison;
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{DASH, by_length, picture, table};
use super::measured::Ask;
use super::perplexities::{self, PerplexityRow};
use super::report::{Section, SectionText};
use super::score::{self, Score, ScoreRow};
use super::verdict::Verdict;
use crate::commands::fit_scale::Kind;
use drope_core::train::recipe::PositionEmbedding;

const DEPTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Questions a depth.
const TRIALS: usize = 20;

const SYSTEMS: [(&str, &str, Method); 5] = [
    ("RoPE", "passkey-rope", Method::Rope),
    ("RoPE with YaRN", "passkey-rope", Method::Yarn),
    ("NoPE", "passkey-nope", Method::Nope),
    ("NoPE, UniformScale", "passkey-nope-uniform", Method::Nope),
    ("NoPE, HeadScale", "passkey-nope-head", Method::Nope),
];

/// What the paper says is better, than what, and at which length here.
const CLAIMS: [(&str, &str, usize); 3] =
    [("NoPE", "RoPE", 2), ("NoPE, UniformScale", "NoPE", 8), ("NoPE, HeadScale", "NoPE, UniformScale", 8)];

#[derive(Serialize)]
struct PasskeyRow {
    /// All depths of a length together.
    passkeys: ScoreRow,
    /// One a depth, at the longest length.
    by_depth: Vec<Option<Score>>,
    perplexity: Vec<PerplexityRow>,
}

#[derive(Serialize)]
struct Claim {
    better: &'static str,
    comparison: Comparison,
    holds: Verdict,
}

pub fn compare_temperatures(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let claims: Vec<Claim> = CLAIMS.into_iter().filter_map(|claim| judge(&rows, claim)).collect();
    let line = |row: &PasskeyRow| -> Vec<String> {
        let cell = |&s: &usize| {
            let loss = perplexities::at(&row.perplexity, s);
            let loss = loss.map_or(DASH.to_owned(), |row| format!("{:.1}", row.perplexity));
            format!("{}; {loss}", score::text(row.passkeys.at(s)))
        };
        std::iter::once(row.passkeys.label()).chain(EXTENSIONS.iter().map(cell)).collect()
    };
    let by_depth = |row: &PasskeyRow| -> Vec<String> {
        let scores = row.by_depth.iter().map(|score| score::text(score.as_ref()));
        std::iter::once(row.passkeys.label()).chain(scores).collect()
    };
    let depths = DEPTHS.iter().map(|depth| format!("depth {depth}"));
    let header: Vec<String> = std::iter::once(format!("at {}×", longest())).chain(depths).collect();
    let text = SectionText {
        paper: "NoPE reads some 20 % beyond its training length, RoPE 10 %; scaling the logits by 1.2 carries NoPE to more than \
            twice, and a temperature for each head further still, with pass keys found that plain NoPE misses."
            .into(),
        body: format!(
            "Models trained on pass keys no longer than C (recipes/reproduction/passkey.toml); {} questions a cell, {} depths, \
             Wang's repeated filler; numbers divisible by 8 are kept from training.\n\n{}{}{}",
            score::questions(rows.iter().flat_map(|row| &row.passkeys.scores)),
            DEPTHS.len(),
            table(
                &by_length("pass key; perplexity of held-out documents", &EXTENSIONS),
                &rows.iter().map(line).collect::<Vec<_>>()
            ),
            table(&header, &rows.iter().map(by_depth).collect::<Vec<_>>()),
            picture("passkey.svg", "Perplexity of held-out documents.")
        ),
        verdict: format!("\n\n- {}", claims.iter().map(sentence).collect::<Vec<_>>().join("\n- ")),
        charts: vec![("passkey.svg".into(), perplexity_chart(&rows)?)],
    };
    Section::new(&rows, &claims, text)
}

fn longest() -> usize {
    EXTENSIONS.into_iter().max().unwrap_or(1)
}

fn rows(context: &ReportContext) -> Result<Vec<PasskeyRow>> {
    if !context.args.render {
        let recipe = "reproduction/passkey.toml";
        context.pretrained("passkey-rope", recipe, PositionEmbedding::Rope)?;
        let nope = context.pretrained("passkey-nope", recipe, PositionEmbedding::Nope)?;
        context.with_temperature("passkey-nope-uniform", &nope, Kind::Uniform)?;
        context.with_temperature("passkey-nope-head", &nope, Kind::Head)?;
    }
    let mut rows = Vec::new();
    for (name, model, method) in SYSTEMS {
        let ask = Ask::new(method, Task::Passkey, &EXTENSIONS, context.trials(TRIALS, TRIALS));
        let cells = context.niah("passkey.json", model, &Ask { depths: DEPTHS.to_vec(), ..ask })?;
        let losses = context.perplexity(model, method, None, &EXTENSIONS)?;
        let at = |s: usize| cells.iter().filter(move |cell| cell.extension == s).collect::<Vec<&RetrievalCell>>();
        let whole = EXTENSIONS.into_iter().filter_map(|s| Score::pooled(&at(s))).collect();
        let long = at(longest());
        let at_depth = |depth: f64| long.iter().find(|cell| cell.depth == Some(depth)).map(|cell| Score::exact(cell));
        rows.push(PasskeyRow {
            passkeys: ScoreRow { scores: whole, ..ScoreRow::exact(name, &cells) },
            by_depth: DEPTHS.map(at_depth).to_vec(),
            perplexity: losses.iter().map(|cell| PerplexityRow::new(name, cell, None)).collect(),
        });
    }
    Ok(rows)
}

fn judge(rows: &[PasskeyRow], (better, worse, extension): (&'static str, &str, usize)) -> Option<Claim> {
    let score = |name: &str| rows.iter().find(|row| row.passkeys.system == name)?.passkeys.at(extension).copied();
    let (ours, other) = (score(better)?, score(worse)?);
    let holds = Verdict::is_higher(Some(&ours), Some(&other));
    Some(Claim { better, comparison: Comparison::new(&ours, &[(worse, &other)]), holds })
}

fn sentence(claim: &Claim) -> String {
    let order = match claim.holds {
        Verdict::Holds => "is the paper's order",
        Verdict::DoesNotHold => "is not the paper's order",
        Verdict::NotShown | Verdict::NotMeasured => "the first is better, as in the paper, does not show",
    };
    format!("{} That {order}.", claim.comparison.sentence(claim.better))
}

fn perplexity_chart(rows: &[PasskeyRow]) -> Result<String> {
    let line = |row: &PasskeyRow| Series {
        name: row.passkeys.system.clone(),
        points: row.perplexity.iter().map(|cell| (cell.extension as f64, cell.perplexity)).collect(),
    };
    let axes = Axes { x: "s, multiples of the training context", y: "perplexity", is_log: [true, true] };
    chart::lines(&axes, &rows.iter().map(line).collect::<Vec<_>>())
}
