//! What a build script says about its output and its targets, read from its text.
//!
//! The reader splits the text into commands and words as a POSIX shell would, follows assignments, `for` loops over
//! known words and the default forms of `${...}`, and takes everything else (positional parameters, command
//! substitutions, pattern operators) for unknown. Unknown is not empty: a flag or a name that holds something unknown
//! is left out instead of being read wrongly. Nothing is run.

use std::collections::BTreeMap;

mod words;

use words::{Part, Word};

/// What a script's text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The file behind the last `-o`.
    pub output: Output,
    /// Architectures that `-gencode` flags pass to the compiler, sorted.
    pub gencode: Vec<u64>,
    /// Architectures assigned to a variable named after one, sorted.
    pub assigned: Vec<u64>,
    /// Architectures named as `sm_90` or `compute_90` anywhere else, sorted.
    pub literal: Vec<u64>,
}

impl Facts {
    /// The architectures that the script builds for: what the compiler is told counts before what is assigned, and
    /// that before what is only named.
    pub fn reached(&self) -> &[u64] {
        [&self.gencode, &self.assigned]
            .into_iter()
            .find(|archs| !archs.is_empty())
            .unwrap_or(&self.literal)
    }
}

/// What a script writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Output {
    /// No `-o` was found.
    #[default]
    None,
    /// A file of that name.
    Named(String),
    /// A file whose name, written so, is known only at run time.
    Unknown(String),
}

/// Reads a script's text.
pub(super) fn read(text: &str) -> Facts {
    let mut reader = Reader::default();
    for command in words::commands(text) {
        reader.command(&command);
    }
    let mut facts = reader.facts;
    for archs in [&mut facts.gencode, &mut facts.assigned, &mut facts.literal] {
        archs.sort_unstable();
        archs.dedup();
    }
    facts
}

/// A word's possible values; `None` stands for one that is unknown.
type Values = Vec<Option<String>>;

/// Loops over loops could multiply without end.
const MOST_VALUES: usize = 64;

#[derive(Default)]
struct Reader {
    /// What each variable may hold; in a loop over known words, each of them.
    variables: BTreeMap<String, Values>,
    facts: Facts,
}

impl Reader {
    fn command(&mut self, words: &[Word]) {
        // `then nvcc ...` is the command `nvcc ...`.
        const BEFORE: [&str; 13] = [
            "then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec",
            "export", "local",
        ];
        let mut words = words;
        while let Some(word) = words.first()
            && (BEFORE.contains(&word.raw.as_str()) || is_declaration(words))
        {
            words = &words[1..];
        }
        if words.first().is_some_and(|word| word.raw == "for") {
            return self.for_loop(words);
        }
        let name = words.iter().find(|word| assignment(&word.raw).is_none());
        // What these print or test is not what a compiler is told.
        const SILENT: [&str; 8] = ["echo", "printf", "set", "shopt", "[", "[[", "test", "trap"];
        let silent = name.is_some_and(|name| SILENT.contains(&name.raw.as_str()));
        for word in words {
            if let Some((name, append)) = assignment(&word.raw) {
                self.assign(name.to_owned(), append, word);
            } else if name.is_some_and(|first| first.raw == word.raw) {
                break;
            }
        }
        self.defaults(words);
        if !silent {
            self.arguments(words);
        }
    }

    /// `for name in words`: the variable holds each word in turn.
    fn for_loop(&mut self, words: &[Word]) {
        let Some(name) = words.get(1) else { return };
        let mut values = Values::new();
        for word in words.iter().skip(3) {
            for value in self.expand(word) {
                match value {
                    // An unquoted expansion splits at blanks.
                    Some(text) => {
                        values.extend(text.split_whitespace().map(|text| Some(text.to_owned())));
                    }
                    None => values.push(None),
                }
            }
        }
        self.note_assigned(&name.raw, &values);
        self.variables.insert(name.raw.clone(), bounded(values));
    }

    fn assign(&mut self, name: String, append: bool, word: &Word) {
        let value = word.after_assignment();
        let mut values = self.expand(&value);
        if append {
            let before = self
                .variables
                .get(&name)
                .cloned()
                .unwrap_or_else(|| vec![None]);
            values = combine(&before, &values);
        }
        self.note_assigned(&name, &values);
        self.variables.insert(name, bounded(values));
    }

    /// `: "${arch:=89}"` assigns where nothing is assigned yet.
    fn defaults(&mut self, words: &[Word]) {
        for part in words.iter().flat_map(|word| &word.parts) {
            let Part::Parameter {
                name,
                operator,
                operand,
            } = part
            else {
                continue;
            };
            let known = self
                .variables
                .get(name)
                .is_some_and(|values| values.iter().all(Option::is_some));
            if matches!(operator.as_str(), ":=" | "=") && !known {
                let values = self.expand(operand);
                self.note_assigned(name, &values);
                self.variables.insert(name.clone(), bounded(values));
            }
        }
    }

    /// A number in a variable that is named after an architecture is one.
    fn note_assigned(&mut self, name: &str, values: &Values) {
        let lower = name.to_ascii_lowercase();
        if !matches!(
            lower.as_str(),
            "arch" | "archs" | "cuda_arch" | "cuda_compute_cap" | "sm"
        ) {
            return;
        }
        for text in values.iter().flatten() {
            let numbers = text.split([' ', ',', ';']).filter_map(arch_number);
            self.facts.assigned.extend(numbers);
        }
    }

    fn arguments(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            let next = words.get(index + 1);
            for flag in ["-gencode", "--generate-code"] {
                if word.raw == flag {
                    if let Some(next) = next {
                        self.gencode(next);
                    }
                } else if word
                    .raw
                    .strip_prefix(flag)
                    .is_some_and(|rest| rest.starts_with('='))
                {
                    self.gencode(word);
                }
            }
            if matches!(word.raw.as_str(), "-o" | "--output-file")
                && let Some(name) = next
            {
                self.output(name);
            }
            for text in self.expand(word).iter().flatten() {
                self.facts.literal.extend(targets(text));
            }
        }
    }

    fn gencode(&mut self, word: &Word) {
        for text in self.expand(word).iter().flatten() {
            // What `code=` names is what the library holds; `arch=` alone stands for both.
            let code = text
                .split_once("code=")
                .filter(|(before, _)| !before.ends_with("generate-"));
            let targets = targets(code.map_or(text.as_str(), |(_, code)| code));
            self.facts.gencode.extend(targets);
        }
    }

    fn output(&mut self, word: &Word) {
        // The directory may be unknown; the name behind the last slash may not.
        let base = word.after_last_slash();
        self.facts.output = match self.expand(&base).last() {
            Some(Some(name)) if !name.is_empty() => {
                Output::Named(name.rsplit('/').next().unwrap_or(name).to_owned())
            }
            _ => Output::Unknown(word.raw.clone()),
        };
    }

    /// Every value that a word may have.
    fn expand(&self, word: &Word) -> Values {
        word.parts
            .iter()
            .fold(vec![Some(String::new())], |values, part| {
                let further = match part {
                    Part::Text(text) => vec![Some(text.clone())],
                    Part::Unknown => vec![None],
                    Part::Parameter {
                        name,
                        operator,
                        operand,
                    } => self.parameter(name, operator, operand),
                };
                bounded(combine(&values, &further))
            })
    }

    fn parameter(&self, name: &str, operator: &str, operand: &Word) -> Values {
        let assigned = self.variables.get(name);
        let is_set = |values: &Values| {
            values
                .iter()
                .all(|value| value.as_ref().is_some_and(|text| !text.is_empty()))
        };
        match operator {
            "" => assigned.cloned().unwrap_or_else(|| vec![None]),
            // The script's own defaults are what a plain run uses.
            ":-" | "-" | ":=" | "=" => match assigned {
                Some(values) if is_set(values) => values.clone(),
                _ => self.expand(operand),
            },
            ":?" | "?" => assigned.cloned().unwrap_or_else(|| vec![None]),
            _ => vec![None],
        }
    }
}

/// Every text of `first` followed by every text of `second`.
fn combine(first: &Values, second: &Values) -> Values {
    let pairs = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| (a, b)));
    pairs
        .map(|(a, b)| Some(format!("{}{}", a.as_ref()?, b.as_ref()?)))
        .collect()
}

fn bounded(mut values: Values) -> Values {
    values.truncate(MOST_VALUES);
    values
}

/// `readonly`, `declare -x` and the like before an assignment.
fn is_declaration(words: &[Word]) -> bool {
    let is = |index: usize, names: &[&str]| {
        words
            .get(index)
            .is_some_and(|word| names.contains(&word.raw.as_str()))
    };
    is(0, &["readonly", "declare", "typeset"])
        || words.first().is_some_and(|word| word.raw.starts_with('-'))
            && words
                .get(1)
                .is_some_and(|word| assignment(&word.raw).is_some())
}

/// The variable that a word assigns, and whether it appends.
fn assignment(raw: &str) -> Option<(&str, bool)> {
    let (name, _) = raw.split_once('=')?;
    let (name, append) = name
        .strip_suffix('+')
        .map_or((name, false), |name| (name, true));
    let mut characters = name.chars();
    let first = characters.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, append))
}

/// `90`, `90a`, `sm_90` or `compute_90` as a number.
fn arch_number(text: &str) -> Option<u64> {
    let text = text
        .strip_prefix("sm_")
        .or(text.strip_prefix("compute_"))
        .unwrap_or(text);
    text.strip_suffix(['a', 'f']).unwrap_or(text).parse().ok()
}

/// Every `sm_<n>` and `compute_<n>` in a text.
fn targets(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("sm_") || word.starts_with("compute_"))
        .filter_map(arch_number)
        .collect()
}

#[cfg(test)]
mod tests;
