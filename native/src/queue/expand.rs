//! Variables of a plan and the texts that use them.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Name of the variable whose value is `--out`.
const OUT: &str = "out";

/// Names and values, in the order of the file.
pub struct Variables(Vec<(String, Vec<String>)>);

/// A value for each of some variables.
pub struct Assignment(Vec<(String, String)>);

impl Variables {
    /// # Errors
    /// If a variable is not a list of numbers or texts.
    pub fn read(table: &toml::Table) -> Result<Self> {
        let variable = |(name, values): (&String, &toml::Value)| {
            ensure!(name != OUT, "{{{OUT}}} stands for --out; give the variable another name");
            Ok((name.clone(), texts(values).with_context(|| format!("variable {name}"))?))
        };
        Ok(Self(table.iter().map(variable).collect::<Result<_>>()?))
    }

    /// Every combination of the variables `names`, restricted to the values in `only`; the first variable of the file varies
    /// slowest.
    pub fn assignments(&self, names: &[&str], only: &toml::Table) -> Result<Vec<Assignment>> {
        for name in names.iter().copied().chain(only.keys().map(String::as_str)) {
            ensure!(self.0.iter().any(|(known, _)| known == name), "there is no variable {name}");
            ensure!(names.contains(&name), "only restricts {name}, which the name of the job does not use");
        }
        let mut all = vec![Vec::new()];
        for (name, values) in self.0.iter().filter(|(name, _)| names.contains(&&**name)) {
            let wanted = only.get(name).map(texts).transpose().context("only")?;
            if let Some(wrong) = wanted.iter().flatten().find(|value| !values.contains(value)) {
                bail!("only has the value {wrong} for {name}, which the variable does not have");
            }
            let values = values.iter().filter(|value| wanted.as_ref().is_none_or(|wanted| wanted.contains(value)));
            let values: Vec<&String> = values.collect();
            let with = |before: &Vec<(String, String)>, value: &String| {
                before.iter().cloned().chain([(name.clone(), value.clone())]).collect()
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
        }
        Ok(all.into_iter().map(Assignment).collect())
    }
}

impl Assignment {
    /// Index of the first variable's value in its list; the length of the list if the variable is not used.
    pub fn first(&self, variables: &Variables) -> usize {
        let value_of = |name: &String| self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let Some((name, values)) = variables.0.first() else { return 0 };
        value_of(name).and_then(|value| values.iter().position(|known| known == value)).unwrap_or(values.len())
    }

    /// Whether each of the variables in `wanted` has one of the values there.
    pub fn has(&self, wanted: &toml::Table) -> Result<bool> {
        for (name, values) in wanted {
            let values = texts(values).with_context(|| format!("variable {name}"))?;
            if !self.0.iter().any(|(known, value)| known == name && values.contains(value)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `text` with values in place of the variables' names in braces.
    pub fn fill(&self, text: &str, out: Option<&Path>) -> Result<String> {
        let mut filled = String::new();
        for part in parts(text)? {
            match part {
                Part::Plain(text) => filled.push_str(text),
                Part::Variable(OUT) if out.is_some() => {
                    let out = out.unwrap_or(Path::new(""));
                    let out = out.to_str().with_context(|| {
                        format!("{} has a name that is not UTF-8 text; choose another --out", out.display())
                    })?;
                    filled.push_str(out);
                }
                Part::Variable(name) => match self.0.iter().find(|(known, _)| known == name) {
                    Some((_, value)) => filled.push_str(value),
                    None => bail!("{text:?} uses {{{name}}}, which the name of the job does not use"),
                },
            }
        }
        Ok(filled)
    }
}

/// Names of the variables that a text uses.
pub fn placeholders(text: &str) -> Result<Vec<&str>> {
    let name = |part| if let Part::Variable(name) = part { Some(name) } else { None };
    Ok(parts(text)?.into_iter().filter_map(name).collect())
}

enum Part<'a> {
    Plain(&'a str),
    Variable(&'a str),
}

fn parts(text: &str) -> Result<Vec<Part<'_>>> {
    let mut pieces = text.split('{');
    let mut parts = vec![Part::Plain(pieces.next().unwrap_or_default())];
    for piece in pieces {
        let (name, rest) = piece.split_once('}').with_context(|| format!("{text:?} has a {{ without a }}"))?;
        parts.extend([Part::Variable(name), Part::Plain(rest)]);
    }
    Ok(parts)
}

fn texts(values: &toml::Value) -> Result<Vec<String>> {
    let values = values.as_array().filter(|values| !values.is_empty()).context("it must be a list of values")?;
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) => Ok(value.to_string()),
        _ => bail!("{value} is neither a number nor a text"),
    };
    values.iter().map(text).collect()
}
