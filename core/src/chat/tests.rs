use serde::Deserialize;

use super::{ChatTemplate, conversation};
use crate::error::Error;

/// What transformers makes of a template (tests/chat_fixture.py).
#[derive(Deserialize)]
struct Expected {
    name: String,
    tokenizer_config: serde_json::Value,
    system: Option<String>,
    text: String,
    /// `None` where the template refuses.
    rendered: Option<String>,
}

fn expected() -> Vec<Expected> {
    serde_json::from_str(include_str!("../../../tests/fixtures/chat.json")).unwrap()
}

/// As in tests/chat_fixture.py.
fn now() -> chrono::NaiveDateTime {
    chrono::NaiveDate::from_ymd_opt(2026, 11, 3).and_then(|day| day.and_hms_opt(14, 5, 9)).unwrap()
}

fn template(source: &str) -> ChatTemplate {
    ChatTemplate { source: source.to_owned(), ..ChatTemplate::default() }
}

#[test]
fn conversations_are_written_as_transformers_writes_them() {
    let all = expected();
    assert!(all.len() >= 10, "{}", all.len());
    for Expected { name, tokenizer_config, system, text, rendered } in all {
        let template = ChatTemplate::from_files(Some(&tokenizer_config.to_string()), None).unwrap().unwrap();
        let found = template.render(&conversation(system.as_deref(), &text), now());
        match rendered {
            Some(rendered) => assert_eq!(found.unwrap(), rendered, "{name}"),
            None => assert!(matches!(found, Err(Error::Chat(_))), "{name}: {found:?}"),
        }
    }
}

#[test]
fn what_stands_around_a_message_is_found() {
    let template =
        template("{% for message in messages %}<{{ message.role }}>{{ message.content | trim }}{% endfor %}<answer>");
    assert_eq!(template.affixes(None).unwrap(), ["<user>", "<answer>"]);
    assert_eq!(template.affixes(Some("Be brief.")).unwrap(), ["<system>Be brief.<user>", "<answer>"]);
}

#[test]
fn messages_that_are_written_once_have_a_date_that_does_not_change() {
    let dated =
        template("{{ strftime_now('%d %b %Y') }} {% for message in messages %}{{ message.content }}{% endfor %}");
    assert_eq!(dated.affixes(None).unwrap()[0], "26 Jul 2024 ");
}

#[test]
fn a_broken_an_endless_and_a_silent_template_are_refused() {
    let said = |source: &str| template(source).affixes(None).unwrap_err().to_string();
    assert!(said("{% for %}").contains("the template fails in line 1"), "{}", said("{% for %}"));
    assert!(said("{{ raise_exception('only tools') }}").contains("only tools"));
    assert!(said("{{ strftime_now('%Q') }}").contains("not a format of dates"));
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    assert!(said(endless).contains("the template fails"), "{}", said(endless));
    assert!(said("hello").contains("does not repeat"), "{}", said("hello"));
}

#[test]
fn templates_are_found_in_each_of_their_places() {
    let named = r#"{"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}],
        "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": null}"#;
    let found = ChatTemplate::from_files(Some(named), None).unwrap().unwrap();
    assert_eq!((&*found.source, found.bos_token.as_deref(), &found.eos_token), ("d", Some("<s>"), &None));
    assert_eq!(ChatTemplate::from_files(Some(named), Some("own")).unwrap().unwrap().source, "own");
    assert_eq!(ChatTemplate::from_files(Some(&found.to_json()), None).unwrap().unwrap(), found);
    assert_eq!(ChatTemplate::from_files(Some("{}"), None).unwrap(), None);
    assert!(matches!(ChatTemplate::from_files(Some("{"), None), Err(Error::Chat(_))));
}
