//! Recalibration in the tab: core's own update, on the CPU, from the page's nano-rope; checkpoints in the browser's store.

use burn::tensor::Device;
use drope_core::config::{AttentionType, Config};
use drope_core::language::Values;
use drope_core::loaded_model::{CONFIG_FILE, LoadedModel, TOKENIZER_FILE};
use drope_core::model::{Model, NumberTypes, SafetensorsFiles};
use drope_core::niah::Task;
use drope_core::positions::{Method, Parameters};
use drope_core::tokenizer::Tokenizer;
use drope_core::train::recipe::{DropSettings, Dropped, Recipe};
use drope_core::train::{DocumentSource, GuardState, Memory, SyntheticDocuments, Trainer, batch_gradients};
use drope_protocol::{
    ChatFormat, DEPTHS, DroppedPositions, LENGTHS, Length, Question, QuestionKind, Reading, Recalibration,
    RecalibrationScore, RecalibrationSettings, RecalibrationState, Reply, StoredModel,
};

use super::models::ModelFiles;
use super::run::{Interruption, Run};
use super::store::{self, StoredFolder};
use super::{now, questions, reply};

/// The model that loses its positions.
const BASE: &str = "nano-rope";
/// Recipes as JSON, made of those in recipes/ by build.rs.
const DROPE: &str = include_str!(concat!(env!("OUT_DIR"), "/nano-drope.json"));
const PARTIAL_DROPE: &str = include_str!(concat!(env!("OUT_DIR"), "/nano-p-drope.json"));

/// Updates between checkpoints.
const SAVE_EVERY: usize = 50;
/// Updates between questions.
const SCORE_EVERY: usize = 250;
/// Questions a length and depth. Their seeds are those of the reader's own measurements, of which the committed results use none.
const TRIALS: usize = 4;
const SEED: u64 = 900_000;

/// What a run needs beside the weights.
struct Job {
    recipe: Recipe,
    config: Config,
    tokenizer: Tokenizer,
    base: ModelFiles,
}

impl Job {
    async fn new(settings: &RecalibrationSettings, run: &Run) -> Result<Self, Interruption> {
        let recipe = recipe(settings)?;
        let base = ModelFiles::load(BASE, &|received, total| run.loading(BASE, received, total)).await?;
        let config = recipe.recalibrated(&base.config()?)?;
        let tokenizer = Tokenizer::from_json(&base.tokenizer)?;
        recipe.check_words(&tokenizer)?;
        Ok(Self { recipe, config, tokenizer, base })
    }

    fn documents(&self) -> SyntheticDocuments {
        self.recipe.documents(&self.tokenizer, self.tokenizer.bos())
    }

    fn trainer(&self, model: Model) -> Result<Trainer, Interruption> {
        let positions = Method::of(&self.config).positions(&self.config, 1.0)?;
        Ok(Trainer::new(model, positions, self.recipe.hyperparameters()))
    }

    /// The weights of the base in the model without positions.
    fn dropped(&self) -> Result<Model, Interruption> {
        let weights = SafetensorsFiles::from_bytes(&self.base.weights)?;
        Ok(Model::load_with_new_norms(&self.config, &weights, &device())?)
    }
}

/// Training computes on the CPU: the optimizer's state is read at once, which no GPU in a tab can do.
fn device() -> Device {
    Device::flex().autodiff()
}

fn recipe(settings: &RecalibrationSettings) -> Result<Recipe, Interruption> {
    let RecalibrationSettings { dropped, steps, peak, max_copies, query_norm } = *settings;
    let (text, drop) = match dropped {
        DroppedPositions::All => {
            let attention_type = query_norm.then_some(AttentionType::QNormNope);
            (
                DROPE,
                DropSettings {
                    positions: Dropped::All,
                    cut: None,
                    layers: None,
                    attention_type,
                    scalable_softmax: None,
                },
            )
        }
        DroppedPositions::Low(cut) => (
            PARTIAL_DROPE,
            DropSettings { positions: Dropped::Low, cut, layers: None, attention_type: None, scalable_softmax: None },
        ),
    };
    let mut recipe: Recipe = serde_json::from_str(text).map_err(|error| format!("The recipe is damaged: {error}."))?;
    let scalable_softmax = recipe.drop.as_ref().and_then(|drop| drop.scalable_softmax);
    recipe.drop = Some(DropSettings { scalable_softmax, ..drop });
    recipe.steps = steps;
    recipe.schedule.peak = peak;
    recipe.documents.max_copies = max_copies;
    recipe.check()?;
    Ok(recipe)
}

/// The loss of a batch with and without positions, and how long an update takes.
pub async fn try_drop(request: &Recalibration, run: &Run) -> Result<(), Interruption> {
    let job = Job::new(&request.settings, run).await?;
    // The last batch has the length and the mixture of the whole recipe.
    let batch = job.documents().batch(job.recipe.seed, job.recipe.steps - 1)?;
    let mut plain = batch.clone();
    plain.multiplicity.clear();
    let with_positions = job.base.instantiate(NumberTypes::default(), &device())?;
    let positions = Method::of(&with_positions.config).positions(&with_positions.config, 1.0)?;
    let before =
        batch_gradients(&with_positions.model, &[device()], &plain, &positions, Memory::default()).token_losses;
    let trainer = job.trainer(job.dropped()?)?;
    let after =
        batch_gradients(trainer.model(), &[device()], &plain, trainer.positions(), Memory::default()).token_losses;
    let [before, after] = [mean(before).await?, mean(after).await?];
    run.yield_to_messages().await;
    run.check()?;
    let start = now();
    trainer.step(&batch).await?;
    reply(&Reply::Dropped { run: run.number, before, after, seconds: (now() - start) / 1000.0 });
    Ok(())
}

async fn mean(losses: Vec<burn::tensor::Tensor<1>>) -> Result<f32, Interruption> {
    let data = burn::tensor::Tensor::cat(losses, 0)
        .mean()
        .into_data_async()
        .await
        .map_err(|error| format!("The device failed ({error})."))?;
    Ok(data.iter::<f32>().next().unwrap_or(f32::NAN))
}

/// Trains to the end, from the beginning or from the last checkpoint of that name.
pub async fn recalibrate(request: &Recalibration, run: &Run) -> Result<(), Interruption> {
    let job = Job::new(&request.settings, run).await?;
    let (mut checkpoint, mut trainer) = Checkpoint::begin(request, &job).await?;
    let documents = job.documents();
    if checkpoint.state.step == 0 {
        checkpoint.state.scores = scores(&job, trainer.model(), 0, run).await?;
    } else if is_to_be_asked(&checkpoint.state) {
        checkpoint.ask(&job, trainer.model(), run).await?;
    }
    while checkpoint.state.has_updates_left() {
        let start = now();
        let batch = documents.batch(job.recipe.seed, checkpoint.state.step)?;
        let report;
        (trainer, report) = trainer.step(&batch).await?;
        let state = &mut checkpoint.state;
        state.step += 1;
        let loss = report.token_losses.iter().sum::<f32>() / report.token_losses.len().max(1) as f32;
        state.losses.push(loss);
        let step = state.step;
        reply(&Reply::Updated { run: run.number, step, loss, seconds: (now() - start) / 1000.0 });
        let is_stopped = run.yield_to_messages().await == drope_core::generate::Flow::Stop;
        let is_asked = is_to_be_asked(&checkpoint.state);
        if is_stopped || is_asked || step.is_multiple_of(SAVE_EVERY) {
            checkpoint.save(&job, &trainer).await?;
            store::tell().await;
        }
        run.check()?;
        // What was trained is kept by now, since the reader may stop the questions; they are asked when the run goes on.
        if is_asked {
            checkpoint.ask(&job, trainer.model(), run).await?;
        }
    }
    Ok(())
}

/// Whether the questions behind the last update are still to be asked.
fn is_to_be_asked(state: &RecalibrationState) -> bool {
    let is_due = !state.has_updates_left() || state.step.is_multiple_of(SCORE_EVERY);
    is_due && state.scores.iter().all(|score| score.step != state.step)
}

/// Asks the model in its present state the questions of all lengths.
async fn scores(job: &Job, model: &Model, step: usize, run: &Run) -> Result<Vec<RecalibrationScore>, Interruption> {
    // A copy of the weights is asked, so that no graph for gradients is recorded.
    let bytes = model.to_safetensors().await?;
    let weights = SafetensorsFiles::from_bytes(&bytes)?;
    let model = LoadedModel::new(
        job.config.clone(),
        job.tokenizer.clone(),
        &weights,
        String::new(),
        NumberTypes::default(),
        &Device::flex(),
    )?;
    let reading = Reading { model: None, method: Method::of(&job.config), parameters: Parameters::default() };
    let mut scores = Vec::new();
    let kind = QuestionKind::standard(Task::MultiKey, Values::Numbers);
    for (extension, percent) in LENGTHS.into_iter().flat_map(|extension| DEPTHS.map(|percent| (extension, percent))) {
        let mut correct = 0;
        for trial in 0..TRIALS as u64 {
            let question =
                Question { kind, length: Length::Contexts(extension), seed: SEED + 101 * u64::from(percent) + trial };
            let depth = Some(f64::from(percent) / 100.0);
            correct += usize::from(questions::is_exact(&model, &reading, None, question, depth, run).await?);
        }
        let score = RecalibrationScore { step, extension, depth: Some(percent), correct, trials: TRIALS };
        reply(&Reply::Scored { run: run.number, score });
        scores.push(score);
    }
    Ok(scores)
}

/// A run in the store. Its weights are written in turns under two names, so that the last complete ones stay until new
/// ones are.
struct Checkpoint {
    folder: StoredFolder,
    name: String,
    state: RecalibrationState,
    /// Which of the two names the last weights have, and their size in bytes.
    turn: usize,
    bytes: usize,
}

const WEIGHTS: [&str; 2] = ["model-0.safetensors", "model-1.safetensors"];
const OPTIMIZERS: [&str; 2] = ["optimizer-0.bin", "optimizer-1.bin"];

impl Checkpoint {
    async fn begin(request: &Recalibration, job: &Job) -> Result<(Self, Trainer), Interruption> {
        let Recalibration { name, settings, .. } = request;
        let found = match StoredFolder::open(name).await {
            Ok(folder) => folder.note().await.map(|note| (folder, note)),
            Err(_) => None,
        };
        let unfinished = found.and_then(|(folder, note)| {
            let state = note.recalibration.filter(|state| state.settings == *settings && state.is_unfinished())?;
            let turn = WEIGHTS.iter().position(|file| note.weights[..] == [*file])?;
            Some((folder, state, turn))
        });
        let Some((mut folder, state, turn)) = unfinished else {
            let folder = StoredFolder::create(name).await?;
            folder.write(CONFIG_FILE, job.config.to_json().as_bytes()).await?;
            folder.write(TOKENIZER_FILE, &job.base.tokenizer).await?;
            let state = RecalibrationState { settings: settings.clone(), step: 0, losses: vec![], scores: vec![] };
            let checkpoint = Self { folder, name: name.clone(), state, turn: 0, bytes: 0 };
            return Ok((checkpoint, job.trainer(job.dropped()?)?));
        };
        folder.lock().await?;
        let bytes = folder.read(WEIGHTS[turn]).await?;
        let (model, _) = Model::load(&job.config, &SafetensorsFiles::from_bytes(&bytes)?, &device())?;
        let optimizer = folder.read(OPTIMIZERS[turn]).await?;
        let trainer = job.trainer(model)?.resumed(state.step, optimizer, GuardState::default())?;
        Ok((Self { folder, name: name.clone(), state, turn, bytes: bytes.len() }, trainer))
    }

    async fn save(&mut self, job: &Job, trainer: &Trainer) -> Result<(), Interruption> {
        let last = self.turn;
        self.turn = 1 - last;
        let weights = trainer.model().to_safetensors().await?;
        self.folder.write(WEIGHTS[self.turn], &weights).await?;
        self.folder.write(OPTIMIZERS[self.turn], &trainer.optimizer().to_bytes()?).await?;
        self.bytes = weights.len();
        self.write_note(job).await?;
        self.folder.delete(WEIGHTS[last]).await;
        self.folder.delete(OPTIMIZERS[last]).await;
        Ok(())
    }

    /// Asks the questions that are due, and keeps what is answered.
    async fn ask(&mut self, job: &Job, model: &Model, run: &Run) -> Result<(), Interruption> {
        self.state.scores.extend(scores(job, model, self.state.step, run).await?);
        self.write_note(job).await?;
        store::tell().await;
        Ok(())
    }

    /// Writes what is known of the run beside the weights that were written last.
    async fn write_note(&self, job: &Job) -> Result<(), Interruption> {
        let note = StoredModel {
            name: self.name.clone(),
            weights: vec![WEIGHTS[self.turn].to_owned()],
            bytes: self.bytes as f64,
            context: job.config.max_position_embeddings,
            parameters: job.config.num_parameters() as f64,
            method: Method::of(&job.config),
            chat: ChatFormat::None,
            recalibration: Some(self.state.clone()),
        };
        self.folder.write_note(&note).await
    }
}
