//! What can go wrong in the library. Each message is one sentence that says what is wrong and what to do.

/// Errors of the library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `config.json` is not JSON, lacks a field, or a field has a value that no model can have.
    #[error("config.json: {0}")]
    Config(String),
    /// The architecture is not one that this library can run.
    #[error(
        "config.json: model_type {name:?} is not supported; use {choices}, or one of these whose positions were dropped (llama_drope)"
    )]
    UnknownModelType {
        /// The type.
        name: String,
        /// Those that are read.
        choices: String,
    },
    /// The kind of RoPE scaling is not known.
    #[error("config.json: rope_type {0:?} is not supported; use default, linear, dynamic, yarn, llama3 or longrope")]
    UnknownRopeType(String),
    /// A shard is not `n/of` with 1 ≤ n ≤ of.
    #[error("{0:?} is not a shard; write 3/16 for the third of sixteen")]
    Shard(String),
    /// A shard of a cell is missing or occurs more than once.
    #[error("{cell}: found the shards {found}; merge needs each of them once, all of the same number of questions")]
    Shards {
        /// Model, method, task, values and length.
        cell: String,
        /// The shards that were found.
        found: String,
    },
    /// A results file is not a list, or a result cannot be written as JSON.
    #[error("the results cannot be written ({0}); choose another file")]
    Results(String),
    /// A result that no measurement gives.
    #[error("the results file is damaged ({0}); measure that cell again")]
    DamagedResults(String),
    /// A text or a question of a cell is missing or occurs more than once.
    #[error("{cell}: found the numbers {found}; merge needs each of them once")]
    Samples {
        /// Model, method and length.
        cell: String,
        /// The numbers of the texts or questions that were found.
        found: String,
    },
    /// Windows that would skip tokens.
    #[error(
        "a stride of {stride} does not fit a window of {window} tokens; it must be at least 1 and shorter than the window"
    )]
    Stride {
        /// Tokens from window to window.
        stride: usize,
        /// Tokens of a window.
        window: usize,
    },
    /// The safetensors header or its offsets cannot be read.
    #[error("the safetensors file is damaged ({0}); copy or download it again")]
    Safetensors(String),
    /// The optimizer's state in a checkpoint cannot be read, or is of another model.
    #[error("the optimizer's state is damaged ({0}); begin the run again")]
    OptimizerState(String),
    /// A GGUF file is damaged, or has content that is not supported.
    #[error("the GGUF file cannot be used: {0}")]
    Gguf(String),
    /// A GGUF cannot hold the model.
    #[error(
        "a GGUF cannot hold this model: {0}; write a folder for transformers instead, whose name does not end in .gguf"
    )]
    NoGguf(String),
    /// A tensor that the config calls for is not in the file.
    #[error("the weights lack the tensor {0}; check that config.json belongs to this safetensors file")]
    MissingTensor(String),
    /// A tensor that the config does not call for, but that changes what the model computes.
    #[error("the weights hold the tensor {0}, which config.json does not call for; check that they belong together")]
    SurplusTensor(String),
    /// A tensor has another shape than the config says.
    #[error(
        "the tensor {name} has shape {found:?} where config.json asks for {expected:?}; check that they belong together"
    )]
    Shape {
        /// Name in the file.
        name: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape that follows from the config.
        expected: Vec<usize>,
    },
    /// A tensor is stored in a type that is not a float of 16 or 32 bits.
    #[error("the tensor {name} is stored as {dtype}; convert it to F32, F16 or BF16")]
    Dtype {
        /// Name in the file.
        name: String,
        /// Type in the file.
        dtype: String,
    },
    /// A weight is NaN or infinite.
    #[error("the tensor {0} holds NaN or infinite values; this checkpoint is broken, use an earlier one")]
    NotFinite(String),
    /// Training cannot go on.
    #[error(
        "training diverged: the gradients of {0} updates in a row were not finite or far longer than before; start again in another folder with a lower schedule.peak"
    )]
    Diverged(usize),
    /// A weight is larger than the numbers of a type.
    #[error("the tensor {tensor} has numbers that are too large for {number_type}; use bf16 or f32")]
    TooLarge {
        /// Name of the tensor.
        tensor: String,
        /// The type.
        number_type: &'static str,
    },
    /// The model computes numbers that are NaN or infinite, though its weights are finite.
    #[error(
        "the model computes {0} that are NaN or infinite; check the temperature, the scaling and the precision of its weights"
    )]
    ComputedNotFinite(&'static str),
    /// An answer as long as the cropped text leaves no room for the prompt.
    #[error(
        "cropping keeps {context} tokens, prompt and answer together, and {max_new_tokens} new ones leave no room for a prompt; ask for fewer new tokens"
    )]
    CropLength {
        /// Tokens that are kept.
        context: usize,
        /// Most tokens to generate.
        max_new_tokens: usize,
    },
    /// A chat template that cannot be read, or that refuses a conversation.
    #[error("chat template: {0}; write the prompt without a template")]
    Chat(String),
    /// `tokenizer.json` cannot be read or trained.
    #[error("tokenizer.json: {0}")]
    Tokenizer(String),
    /// The tokenizer makes ids that the embedding does not have.
    #[error(
        "the tokenizer has {tokenizer} tokens but the model's vocabulary ends at {model}; use the tokenizer that belongs to the model"
    )]
    Vocabulary {
        /// Size of the tokenizer's vocabulary.
        tokenizer: usize,
        /// `vocab_size` of the model.
        model: usize,
    },
    /// A token id is outside the vocabulary.
    #[error("token id {id} is outside the vocabulary of {vocab_size}; use the tokenizer that belongs to the model")]
    TokenId {
        /// The id.
        id: u32,
        /// `vocab_size` of the model.
        vocab_size: usize,
    },
    /// A question whose settings do not fit its task.
    #[error("{0}")]
    Question(String),
    /// A split that has fewer keys than a question needs.
    #[error(
        "the split has too few keys, since the question needs {wanted} different ones; use fewer keys, unrelated distractors or a smaller extension"
    )]
    TooFewKeys {
        /// Keys that are needed.
        wanted: usize,
    },
    /// A prompt has no tokens, or a context has no room for one.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// The prompt and what is to be generated do not fit in the context.
    #[error(
        "the prompt needs {needed} tokens but the context holds {context}; shorten it or choose a larger extension"
    )]
    TooLong {
        /// Tokens that are needed.
        needed: usize,
        /// Tokens that there is room for.
        context: usize,
    },
    /// A method needs something that this model does not have.
    #[error("method {method} cannot read this model: {reason}")]
    Method {
        /// Name of the method.
        method: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// Tokens of documents in files that cannot be used.
    #[error("the index of tokens is damaged ({0}); copy it again, or write it again with `core data prepare`")]
    TokenShard(String),
    /// A recipe with a value that no run can have, or for another model.
    #[error("{0}")]
    Recipe(String),
    /// A parameter that a method does not have, or a value that it cannot have.
    #[error("{0}")]
    Parameter(String),
    /// A name that is not in a list.
    #[error("unknown {what} {name:?}; choose one of {choices}")]
    UnknownName {
        /// What kind of name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        choices: String,
    },
    /// A model that was loaded for inference only.
    #[error("a model that was loaded for inference only cannot be saved")]
    Packed,
    /// A question of a benchmark that cannot be made, or a file that is not of its form.
    #[error("{0}")]
    Benchmark(String),
    /// A tokenizer with which no document of the length can be drawn.
    #[error(
        "no document of exactly {length} tokens can be made for step {step}; change the recipe's [documents] and [curriculum], or use another tokenizer"
    )]
    NoDocument {
        /// Tokens of the documents of the step.
        length: usize,
        /// The update.
        step: usize,
    },
    /// A file could not be written.
    #[error("the file cannot be written ({0}); check free space and permissions")]
    Write(String),
    /// A tensor could not be read back from the device.
    #[error("the device failed while computing: {0}")]
    Device(String),
}

/// Result of the library.
pub type Result<T> = std::result::Result<T, Error>;
