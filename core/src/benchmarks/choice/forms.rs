//! Reads questions in their published formats into the contexts and continuations that lm-evaluation-harness makes of
//! them.

use serde_json::Value;

use super::Question;
use crate::error::{Error, Result};
use crate::names::named;

named! {
    /// Form of a file of questions, one JSON object a line.
    Form: "form of questions" {
        /// HellaSwag.
        HellaSwag = "hellaswag",
        /// ARC, easy and challenge.
        Arc = "arc",
        /// OpenBookQA.
        OpenBookQa = "openbookqa",
        /// PIQA, with its labels beside the questions.
        Piqa = "piqa",
        /// WinoGrande, whose choices differ in what is before a common end.
        WinoGrande = "winogrande",
        /// BoolQ.
        BoolQ = "boolq",
        /// Any other question: `query`, `choices`, and `gold`, the index of the right choice from 0.
        Plain = "plain",
    }
}

impl Question {
    /// Reads a line.
    ///
    /// # Errors
    /// If it is not JSON, a field is missing, or none of its choices is right.
    pub fn from_json(form: Form, line: &str) -> Result<Self> {
        let fail =
            |reason: &str| Error::Benchmark(format!("this is not a question of the form {} ({reason})", form.name()));
        let row: Value = serde_json::from_str(line).map_err(|error| fail(&error.to_string()))?;
        let question = read(form, &Fields { row: &row, fail: &fail })?;
        if question.choices.len() < 2 || question.gold >= question.choices.len() {
            return Err(fail("none of its choices is the right one"));
        }
        Ok(question)
    }
}

/// The fields of a line and how to say that it is wrong.
struct Fields<'a> {
    row: &'a Value,
    fail: &'a dyn Fn(&str) -> Error,
}

impl<'a> Fields<'a> {
    fn at(&self, name: &str) -> Result<&'a Value> {
        self.row.get(name).ok_or_else(|| (self.fail)(&format!("it has no field {name}")))
    }

    fn text(&self, name: &str) -> Result<&'a str> {
        self.at(name)?.as_str().ok_or_else(|| (self.fail)(&format!("{name} is not a text")))
    }

    fn texts(&self, name: &str) -> Result<Vec<&'a str>> {
        let list = self.at(name)?.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        list.ok_or_else(|| (self.fail)(&format!("{name} is not a list of texts")))
    }

    /// A number, which may be written as a string or as a boolean (`true` is 1).
    fn number(&self, name: &str) -> Result<usize> {
        let number = match self.at(name)? {
            Value::Bool(is_true) => Some(usize::from(*is_true)),
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64().map(|number| number as usize),
        };
        number.ok_or_else(|| (self.fail)(&format!("{name} is not a number")))
    }

    fn has(&self, name: &str) -> bool {
        self.row.get(name).is_some()
    }
}

fn read(form: Form, row: &Fields) -> Result<Question> {
    match form {
        Form::HellaSwag => {
            let (first, second) = (row.text("ctx_a")?, capitalized(row.text("ctx_b")?));
            let query = cleaned(&format!("{}: {first} {second}", row.text("activity_label")?));
            let endings: Vec<String> = row.texts("endings")?.into_iter().map(cleaned).collect();
            Ok(after(&query, &endings, row.number("label")?))
        }
        Form::Arc | Form::OpenBookQa => {
            // As published the question holds its choices; as on the Hub they are beside it.
            let nested = row.row.get("question").filter(|question| question.is_object());
            let inner = Fields { row: nested.unwrap_or(row.row), fail: row.fail };
            let stem = match nested {
                Some(_) => inner.text("stem")?,
                None if inner.has("question_stem") => inner.text("question_stem")?,
                None => inner.text("question")?,
            };
            let (texts, labels) = labelled(&inner)?;
            let key = row.text("answerKey")?.trim();
            let gold = labels.iter().position(|label| *label == key).unwrap_or(usize::MAX);
            let query = if form == Form::Arc { format!("Question: {stem}\nAnswer:") } else { stem.to_owned() };
            Ok(after(&query, &texts, gold))
        }
        Form::Piqa => {
            let query = format!("Question: {}\nAnswer:", row.text("goal")?);
            let choices = ["sol1", "sol2"].map(|name| row.text(name).map(str::to_owned));
            Ok(after(&query, &choices.into_iter().collect::<Result<Vec<_>>>()?, row.number("label")?))
        }
        Form::BoolQ => {
            let query = format!("{}\nQuestion: {}?\nAnswer:", row.text("passage")?, row.text("question")?);
            let gold = row.number(if row.has("label") { "label" } else { "answer" })?;
            Ok(Question { letters: None, ..after(&query, &["no".to_owned(), "yes".to_owned()], gold) })
        }
        Form::WinoGrande => {
            let (before, behind) = row.text("sentence")?.split_once('_').ok_or_else(|| (row.fail)("it has no gap"))?;
            let choice = |name: &str| Ok([format!("{before}{}", row.text(name)?), format!(" {}", behind.trim())]);
            let choices = ["option1", "option2"].into_iter().map(choice).collect::<Result<Vec<_>>>()?;
            Ok(Question { choices, letters: None, gold: row.number("answer")?.wrapping_sub(1) })
        }
        Form::Plain => {
            let choices: Vec<String> = row.texts("choices")?.into_iter().map(str::to_owned).collect();
            Ok(after(row.text("query")?, &choices, row.number("gold")?))
        }
    }
}

/// Texts and labels of the choices: the file has either a list of objects with both, or a list of each.
fn labelled<'a>(row: &Fields<'a>) -> Result<(Vec<String>, Vec<&'a str>)> {
    let choices = row.at("choices")?;
    if let Some(list) = choices.as_array() {
        let of = |name: &'static str| list.iter().map(move |one| one.get(name).and_then(Value::as_str));
        let texts: Option<Vec<String>> = of("text").map(|text| text.map(str::to_owned)).collect();
        let labels: Option<Vec<&str>> = of("label").collect();
        return texts.zip(labels).ok_or_else(|| (row.fail)("a choice has no text or no label"));
    }
    let inner = Fields { row: choices, fail: row.fail };
    Ok((inner.texts("text")?.into_iter().map(str::to_owned).collect(), inner.texts("label")?))
}

/// A question whose choices follow the query and a space.
fn after(query: &str, choices: &[String], gold: usize) -> Question {
    Question {
        choices: choices.iter().map(|choice| [query.to_owned(), format!(" {choice}")]).collect(),
        letters: Some(choices.iter().map(|choice| choice.chars().count()).collect()),
        gold,
    }
}

/// Python's `capitalize`.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + &letters.as_str().to_lowercase()
}

/// A text of HellaSwag without WikiHow's markup, such as `[title]`.
fn cleaned(text: &str) -> String {
    let mut text = text.trim().replace(" [title]", ". ");
    let mut from = 0;
    while let Some(open) = text[from..].find('[').map(|at| from + at) {
        match text[open..].find([']', '\n']).map(|at| open + at) {
            Some(close) if text[close..].starts_with(']') => text.replace_range(open..=close, ""),
            _ => from = open + 1,
        }
        from = from.min(text.len());
    }
    text.replace("  ", " ")
}

#[cfg(test)]
mod tests {
    use super::Form;
    use crate::benchmarks::choice::Question;

    fn read(form: Form, line: &str) -> Question {
        Question::from_json(form, line).unwrap()
    }

    #[test]
    fn questions_are_asked_as_the_harness_asks_them() {
        let question = read(
            Form::HellaSwag,
            r#"{"activity_label": "Roof shingle removal", "ctx_a": "A man is [step] here.", "ctx_b": "he SITS",
                "endings": ["is [title] up.", "is  ripping.", "c", "d"], "label": "3"}"#,
        );
        assert_eq!(
            question.choices[0],
            ["Roof shingle removal: A man is here. He sits", " is. up."].map(str::to_owned)
        );
        assert_eq!((question.choices[1][1].as_str(), question.gold), (" is ripping.", 3));
        assert_eq!(question.letters.as_deref(), Some(&[7, 11, 1, 1][..]));

        for line in [
            r#"{"question": {"stem": "Why?", "choices": [{"text": "No", "label": "A"}, {"text": "Yes é", "label": "B"}]}, "answerKey": "B"}"#,
            r#"{"question": "Why?", "choices": {"text": ["No", "Yes é"], "label": ["A", "B"]}, "answerKey": "B"}"#,
        ] {
            let question = read(Form::Arc, line);
            assert_eq!(question.choices[1], ["Question: Why?\nAnswer:".to_owned(), " Yes é".to_owned()]);
            assert_eq!((question.gold, question.letters), (1, Some(vec![2, 5])));
        }
        let line =
            r#"{"question_stem": "The sky", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": " A"}"#;
        assert_eq!(read(Form::OpenBookQa, line).choices[0], ["The sky".to_owned(), " a".to_owned()]);
        let piqa = read(Form::Piqa, r#"{"goal": "Open", "sol1": "push", "sol2": "pull", "label": 1}"#);
        assert_eq!((piqa.choices[1][0].as_str(), piqa.gold), ("Question: Open\nAnswer:", 1));
        for gold in [r#""answer": true"#, r#""label": 1"#] {
            let boolq = read(Form::BoolQ, &format!(r#"{{"passage": "P.", "question": "is it", {gold}}}"#));
            assert_eq!(boolq.choices[1], ["P.\nQuestion: is it?\nAnswer:".to_owned(), " yes".to_owned()]);
            assert_eq!((boolq.gold, boolq.letters), (1, None));
        }
        let line = r#"{"sentence": "The cup beat the mat because _ was hard.", "option1": "cup", "option2": "mat", "answer": "1"}"#;
        let gap = read(Form::WinoGrande, line);
        assert_eq!(gap.choices[1], ["The cup beat the mat because mat".to_owned(), " was hard.".to_owned()]);
        assert_eq!(gap.gold, 0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |form, line: &str| Question::from_json(form, line).unwrap_err().to_string();
        assert!(said(Form::Piqa, "{}").contains("no field goal"));
        assert!(
            said(Form::Plain, r#"{"query": "q", "choices": ["a", "b"], "gold": 2}"#).contains("none of its choices")
        );
        assert!(said(Form::WinoGrande, r#"{"sentence": "no gap"}"#).contains("no gap"));
        assert!(said(Form::Arc, "nonsense").contains("form arc"));
    }
}
