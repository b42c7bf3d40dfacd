//! Chat templates of well-known models, as packages of registries carry them, against `apply_chat_template` of transformers.
//! The templates are their makers' and are not in this repository: tests/chat_fixture.py keeps hashes of what transformers
//! makes of them.

use std::fs;

use chrono::NaiveDate;
use drope_core::chat::{ChatTemplate, conversation};
use drope_tests::templates;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A template and what transformers makes of a conversation.
#[derive(Deserialize)]
struct Expected {
    /// The package's folder and the file's name.
    template: String,
    system: Option<String>,
    text: String,
    /// SHA-256 of the text in hexadecimal; `None` if the template refuses the conversation.
    rendered: Option<String>,
}

#[test]
fn templates_of_well_known_models_are_rendered_as_transformers_renders_them() {
    let fixture = include_str!("../fixtures/chat-templates.json");
    let expected: Vec<Expected> = serde_json::from_str(fixture).expect("a fixture");
    for family in ["Llama-3.1", "Llama-3.2", "Qwen2.5", "qwen3", "Mistral", "gemma3", "phi3", "Phi-3.5"] {
        assert!(expected.iter().any(|case| case.template.contains(family)), "no template of {family}");
    }
    // As in tests/chat_fixture.py.
    let now = NaiveDate::from_ymd_opt(2026, 11, 3).and_then(|day| day.and_hms_opt(14, 5, 9)).expect("a date");
    let mut wrong = Vec::new();
    for Expected { template, system, text, rendered } in &expected {
        let source = fs::read_to_string(templates().join(template)).expect("a template");
        let found = ChatTemplate { source, bos_token: Some("<s>".into()), eos_token: Some("</s>".into()) };
        let found = found.render(&conversation(system.as_deref(), text), now);
        let hash = |text: &String| Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if found.as_ref().ok().map(hash) != *rendered {
            wrong.push(format!("{template}, {system:?}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
}
