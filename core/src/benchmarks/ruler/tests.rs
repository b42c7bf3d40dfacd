//! Questions as RULER writes them.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Documents, Questions, Sample, Task, Texts, score};

/// Counts each word as one token.
fn words(sample: &Sample) -> usize {
    sample.message.split_whitespace().count() + sample.answer_prefix.split_whitespace().count()
}

fn texts() -> Texts {
    let essay = "A first sentence is here. A second one follows it! Does a third? Yes, and it ends.";
    let paragraph = |article: usize, number: usize| {
        format!(
            r#"{{"context": "Paragraph {number} of {article}.", "qas": [
                {{"question": "Which of {article}?", "answers": [{{"text": "{number}"}}, {{"text": "the {number}th"}}]}},
                {{"question": "None?", "is_impossible": true, "answers": []}}]}}"#
        )
    };
    let article = |article: usize| {
        let paragraphs: Vec<String> = (0..4).map(|number| paragraph(article, number)).collect();
        format!(r#"{{"paragraphs": [{}]}}"#, paragraphs.join(","))
    };
    let articles: Vec<String> = (0..9).map(article).collect();
    let squad = format!(r#"{{"data": [{}]}}"#, articles.join(","));
    let hotpotqa =
        r#"[{"question": "Who?", "answer": "Ada", "context": [["One", ["It was ", "Ada."]], ["Two", ["No."]]]}]"#;
    Texts {
        essays: Some(essay.into()),
        squad: Some(Documents::from_squad(&squad).unwrap()),
        hotpotqa: Some(Documents::from_hotpotqa(hotpotqa).unwrap()),
    }
}

#[test]
fn a_paragraph_of_distant_questions_is_one_document() {
    let question = |number: usize| {
        let own = format!(r#"["Own {number}", ["Of question {number}."]]"#);
        let shared = if number.is_multiple_of(400) { r#", ["Shared", ["The same."]]"# } else { "" };
        format!(r#"{{"question": "Who?", "answer": "Ada", "context": [{own}{shared}]}}"#)
    };
    let questions: Vec<String> = (0..=400).map(question).collect();
    let documents = Documents::from_hotpotqa(&format!("[{}]", questions.join(","))).unwrap();
    let sample = documents.sample(0, 402, &mut ChaCha8Rng::seed_from_u64(1));
    assert_eq!(sample.message.matches("The same.").count(), 1);
}

#[test]
fn questions_of_every_task_fit_and_hold_their_answers() {
    let texts = texts();
    for task in Task::ALL {
        for length in [1000, 5000] {
            let questions = Questions::new(task, length, 7, &texts, &words).unwrap();
            let sample = questions.sample(3);
            assert_eq!(sample, questions.sample(3), "a question is its number's");
            let name = task.name();
            let room = if task == Task::FrequentWords { 0 } else { task.max_answer_tokens() };
            let used = words(&sample) + room;
            assert!(used <= length, "{name}: {used} of {length}");
            // Questions use all but about one step of the length, except where there are too few documents.
            assert!(used * 10 >= length * 7 || name.starts_with("qa"), "{name}: {used} of {length}");
            if !name.starts_with("qa") {
                assert_ne!(sample, questions.sample(4));
            }
            let held = sample.outputs.iter().filter(|output| sample.message.contains(output.as_str())).count();
            assert!(held == sample.outputs.len() || name == "qa_1" && held > 0, "{name}: {sample:?}");
            assert_eq!(
                sample.outputs.len(),
                match task {
                    Task::Multivalue | Task::Multiquery => 4,
                    Task::VariableTracking => 5,
                    Task::CommonWords => 10,
                    Task::FrequentWords => 3,
                    Task::Squad => 2,
                    _ => 1,
                }
            );
            assert!(sample.answer_prefix.starts_with(' '));
        }
    }
}

#[test]
fn questions_about_one_haystack_ask_for_its_other_needles() {
    let texts = texts();
    for (task, asked) in
        [(Task::Multikey1, 4), (Task::Multikey2, 9), (Task::Multikey3, 9), (Task::Single1, 1), (Task::Multivalue, 1)]
    {
        let questions = Questions::new(task, 1500, 7, &texts, &words).unwrap();
        assert_eq!(questions.most_about_one().min(9), asked, "{}", task.name());
        let samples = questions.samples(2, 9);
        assert_eq!((samples.len(), &samples[0]), (asked, &questions.sample(2)), "{}", task.name());
        let haystack = |sample: &Sample| sample.message.rsplit_once('\n').unwrap().0.to_owned();
        for (at, sample) in samples.iter().enumerate() {
            assert_eq!(haystack(sample), haystack(&samples[0]), "{}", task.name());
            assert!(samples[..at].iter().all(|other| other.answer_prefix != sample.answer_prefix), "asked once");
            if asked > 1 {
                let key = sample.answer_prefix.split_once(" for ").unwrap().1.split_once(" mentioned").unwrap().0;
                let told = format!(" for {key} is: {}.", sample.outputs[0]);
                assert_eq!(sample.message.matches(&told).count(), 1, "{told}");
            }
        }
    }
}

fn one(task: Task) -> Sample {
    let texts = texts();
    Questions::new(task, 700, 1, &texts, &words).unwrap().sample(0)
}

#[test]
fn needles_are_told_in_rulers_words() {
    let sample = one(Task::Single1);
    let (head, rest) = sample.message.split_once('\n').unwrap();
    assert_eq!(
        head,
        "A special magic number is hidden within the following text. Make sure to memorize it. I will quiz you about the number afterwards."
    );
    let (context, question) = rest.rsplit_once('\n').unwrap();
    let needles: Vec<&str> = context.lines().filter(|line| line.starts_with("One of")).collect();
    let value = &sample.outputs[0];
    let key = needles[0].strip_prefix("One of the special magic numbers for ").unwrap();
    let key = key.strip_suffix(&format!(" is: {value}.")).unwrap();
    assert_eq!(needles.len(), 1);
    assert!(value.len() == 7 && key.contains('-'));
    assert_eq!(question, format!("What is the special magic number for {key} mentioned in the provided text?"));
    assert_eq!(sample.answer_prefix, format!(" The special magic number for {key} mentioned in the provided text is"));
    let noise = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";
    assert!(context.lines().filter(|line| !line.starts_with("One of")).all(|line| line == noise));

    let several = one(Task::Multiquery);
    assert!(several.message.starts_with("Some special magic numbers are hidden within the following text."));
    let question = several.message.lines().last().unwrap();
    let keys = question.strip_prefix("What are all the special magic numbers for ").unwrap();
    let keys = keys.strip_suffix(" mentioned in the provided text?").unwrap().replace(", and ", ", ");
    for (key, value) in keys.split(", ").zip(&several.outputs) {
        assert!(several.message.contains(&format!("One of the special magic numbers for {key} is: {value}.")), "{key}");
    }
    let uuids = one(Task::Multikey3);
    assert!(uuids.message.matches(" is: ").count() > 10, "nothing but needles");
    assert!(uuids.outputs[0].len() == 36 && uuids.outputs[0].as_bytes()[14] == b'4', "{:?}", uuids.outputs);
}

#[test]
fn a_chain_of_variables_can_be_followed_and_has_an_example() {
    let sample = one(Task::VariableTracking);
    let parts: Vec<&str> = sample.message.split("Memorize and track the chain(s)").collect();
    assert_eq!(parts.len(), 3, "an example and the question");
    assert!(parts[1].contains("are assigned the value ") && parts[1].ends_with("\n\n"), "{:?}", parts[1]);
    let value = parts[2].rsplit_once("assigned the value ").unwrap().1.split_once(' ').unwrap().0;
    let mut of_value = vec![];
    for line in parts[2].lines().filter(|line| line.starts_with("VAR ")) {
        let (name, from) = line["VAR ".len()..].split_once(" = ").unwrap();
        if from == value || of_value.contains(&from.trim_start_matches("VAR ").trim()) {
            of_value.push(name);
        }
    }
    assert_eq!(of_value, sample.outputs, "in the order of the text");
    let end = format!(" 5 variables are assigned the value {value}, they are: ");
    assert!(sample.answer_prefix.ends_with(&end), "{:?}", sample.answer_prefix);
}

#[test]
fn the_words_asked_for_are_the_most_frequent() {
    let count = |text: &str, word: &str| text.split_whitespace().filter(|found| *found == word).count();
    let common = one(Task::CommonWords);
    let text = common.message.rsplit_once("Memorize the ones").unwrap().1;
    let (text, _) = text.split_once("\nQuestion").unwrap();
    assert!(common.outputs.iter().all(|word| word.contains(' ') || count(text, word) == 6), "{:?}", common.outputs);

    let frequent = one(Task::FrequentWords);
    let text = frequent.message.split_once("coded words. ").unwrap().1.split_once("\nQuestion").unwrap().0;
    let counts: Vec<usize> = frequent.outputs.iter().map(|word| count(text, word)).collect();
    assert!(count(text, "...") > counts[0] && counts.is_sorted_by(|a, b| a > b), "{counts:?}");
    let others =
        text.split_whitespace().filter(|word| *word != "..." && !frequent.outputs.contains(&(*word).to_owned()));
    assert!(others.map(|word| count(text, word)).max().unwrap() <= counts[2]);
}

#[test]
fn answers_score_as_in_rulers_string_match() {
    let outputs = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(score(Task::Multivalue, &outputs(&["1234567", "7654321"]), "They are 1234567."), 0.5);
    assert_eq!(score(Task::CommonWords, &outputs(&["Lemon"]), "1. LEMON"), 1.0);
    assert_eq!(score(Task::Squad, &outputs(&["Ada", "Ada Lovelace"]), " it was ada"), 1.0);
    assert_eq!(score(Task::Squad, &outputs(&["Ada"]), ""), 0.0);
    // A control character inside a number splits it.
    assert_eq!(score(Task::Single1, &outputs(&["12"]), "1\u{1}2"), 0.0);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let none = Texts::default();
    let said = |task, length, texts: &Texts| match Questions::new(task, length, 0, texts, &words) {
        Ok(_) => panic!("{} was asked", task.name()),
        Err(error) => error.to_string(),
    };
    assert!(said(Task::Single2, 1000, &none).contains("give a text as the haystack"));
    assert!(said(Task::HotpotQa, 1000, &none).contains("give a file of HotpotQA"));
    assert!(said(Task::Single1, 100, &none).contains("choose a greater length"));
    assert!(Documents::from_squad("[]").unwrap_err().to_string().contains("SQuAD's form"));
    assert!(Documents::from_hotpotqa("[]").unwrap_err().to_string().contains("no questions"));
    let without_text = r#"[{"question": "q", "answer": "a", "context": []}]"#;
    assert!(Documents::from_hotpotqa(without_text).unwrap_err().to_string().contains("no documents"));
}
