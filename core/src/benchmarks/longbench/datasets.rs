//! The English datasets of LongBench: prompts, lengths of answers and metrics.

use super::metrics::Metric;

/// A dataset.
pub struct Dataset {
    /// Name of its file.
    pub name: &'static str,
    /// Prompt, in which `{context}` and `{input}` stand for fields of a row.
    pub(super) prompt: &'static str,
    /// Tokens that an answer may have.
    pub max_answer_tokens: usize,
    pub(super) metric: Metric,
    /// Whether the prompt may be a message in a chat template. It may not if it has examples or code, which the answer
    /// continues.
    pub takes_chat: bool,
    /// Whether only the first line of an answer counts.
    pub(super) takes_first_line: bool,
}

impl Dataset {
    const USUAL: Self = Self {
        name: "",
        prompt: "",
        max_answer_tokens: 32,
        metric: Metric::QaF1,
        takes_chat: true,
        takes_first_line: false,
    };
    const EXAMPLES: Self = Self { takes_chat: false, takes_first_line: true, ..Self::USUAL };
    const CODE: Self = Self { takes_chat: false, max_answer_tokens: 64, metric: Metric::CodeSimilarity, ..Self::USUAL };
}

/// The datasets, in the order of the paper's table. Two of the original prompts have "asconcisely", which is corrected
/// here.
pub const DATASETS: [Dataset; 16] = [
    Dataset {
        name: "narrativeqa",
        prompt: "You are given a story, which can be either a novel or a movie script, and a question. Answer the question as concisely as you can, using a single phrase if possible. Do not provide any explanation.\n\nStory: {context}\n\nNow, answer the question based on the story as concisely as you can, using a single phrase if possible. Do not provide any explanation.\n\nQuestion: {input}\n\nAnswer:",
        max_answer_tokens: 128,
        ..Dataset::USUAL
    },
    Dataset {
        name: "qasper",
        prompt: "You are given a scientific article and a question. Answer the question as concisely as you can, using a single phrase or sentence if possible. If the question cannot be answered based on the information in the article, write \"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". Do not provide any explanation.\n\nArticle: {context}\n\n Answer the question based on the above article as concisely as you can, using a single phrase or sentence if possible. If the question cannot be answered based on the information in the article, write \"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". Do not provide any explanation.\n\nQuestion: {input}\n\nAnswer:",
        max_answer_tokens: 128,
        ..Dataset::USUAL
    },
    Dataset {
        name: "multifieldqa_en",
        prompt: "Read the following text and answer briefly.\n\n{context}\n\nNow, answer the following question based on the above text, only give me the answer and do not output any other words.\n\nQuestion: {input}\nAnswer:",
        max_answer_tokens: 64,
        ..Dataset::USUAL
    },
    Dataset {
        name: "hotpotqa",
        prompt: "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer and do not output any other words.\n\nQuestion: {input}\nAnswer:",
        ..Dataset::USUAL
    },
    Dataset {
        name: "2wikimqa",
        prompt: "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer and do not output any other words.\n\nQuestion: {input}\nAnswer:",
        ..Dataset::USUAL
    },
    Dataset {
        name: "musique",
        prompt: "Answer the question based on the given passages. Only give me the answer and do not output any other words.\n\nThe following are given passages.\n{context}\n\nAnswer the question based on the given passages. Only give me the answer and do not output any other words.\n\nQuestion: {input}\nAnswer:",
        ..Dataset::USUAL
    },
    Dataset {
        name: "gov_report",
        prompt: "You are given a report by a government agency. Write a one-page summary of the report.\n\nReport:\n{context}\n\nNow, write a one-page summary of the report.\n\nSummary:",
        max_answer_tokens: 512,
        metric: Metric::RougeL,
        ..Dataset::USUAL
    },
    Dataset {
        name: "qmsum",
        prompt: "You are given a meeting transcript and a query containing a question or instruction. Answer the query in one or more sentences.\n\nTranscript:\n{context}\n\nNow, answer the query based on the above meeting transcript in one or more sentences.\n\nQuery: {input}\nAnswer:",
        max_answer_tokens: 512,
        metric: Metric::RougeL,
        ..Dataset::USUAL
    },
    Dataset {
        name: "multi_news",
        prompt: "You are given several news passages. Write a one-page summary of all news. \n\nNews:\n{context}\n\nNow, write a one-page summary of all the news.\n\nSummary:",
        max_answer_tokens: 512,
        metric: Metric::RougeL,
        ..Dataset::USUAL
    },
    Dataset {
        name: "trec",
        prompt: "Please determine the type of the question below. Here are some examples of questions.\n\n{context}\n{input}",
        max_answer_tokens: 64,
        metric: Metric::Classification,
        ..Dataset::EXAMPLES
    },
    Dataset {
        name: "triviaqa",
        prompt: "Answer the question based on the given passage. Only give me the answer and do not output any other words. The following are some examples.\n\n{context}\n\n{input}",
        ..Dataset::EXAMPLES
    },
    Dataset {
        name: "samsum",
        prompt: "Summarize the dialogue into a few short sentences. The following are some examples.\n\n{context}\n\n{input}",
        max_answer_tokens: 128,
        metric: Metric::RougeL,
        ..Dataset::EXAMPLES
    },
    Dataset {
        name: "passage_count",
        prompt: "There are some paragraphs below sourced from Wikipedia. Some of them may be duplicates. Please carefully read these paragraphs and determine how many unique paragraphs there are after removing duplicates. In other words, how many non-repeating paragraphs are there in total?\n\n{context}\n\nPlease enter the final count of unique paragraphs after removing duplicates. The output format should only contain the number, such as 1, 2, 3, and so on.\n\nThe final answer is: ",
        metric: Metric::Count,
        ..Dataset::USUAL
    },
    Dataset {
        name: "passage_retrieval_en",
        prompt: "Here are 30 paragraphs from Wikipedia, along with an abstract. Please determine which paragraph the abstract is from.\n\n{context}\n\nThe following is an abstract.\n\n{input}\n\nPlease enter the number of the paragraph that the abstract is from. The answer format must be like \"Paragraph 1\", \"Paragraph 2\", etc.\n\nThe answer is: ",
        metric: Metric::Retrieval,
        ..Dataset::USUAL
    },
    Dataset {
        name: "lcc",
        prompt: "Please complete the code given below. \n{context}Next line of code:\n",
        ..Dataset::CODE
    },
    Dataset {
        name: "repobench-p",
        prompt: "Please complete the code given below. \n{context}{input}Next line of code:\n",
        ..Dataset::CODE
    },
];
