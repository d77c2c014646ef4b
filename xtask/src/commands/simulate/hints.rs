//! Which case noticed a mutant last time. Only an order of trying: a case that no longer notices it
//! costs the rest of the suite's time, and a wrong file nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use serde_json::Value;

use crate::suite::Target;

/// By mutant, the id of a case.
pub type Hints = BTreeMap<String, String>;

fn path(target: &Target) -> PathBuf {
    target.dir.join("mutants.json")
}

/// What was written down; nothing where nothing legible is.
pub fn read(target: &Target) -> Hints {
    fs::read_to_string(path(target))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Writes down what killed each of a run's mutants: `mutants` are the run's entries of the document.
pub fn write(target: &Target, mutants: &[Value]) -> anyhow::Result<()> {
    let mut hints = read(target);
    hints.retain(|mutant, _| mutants.iter().any(|entry| entry["mutant"] == **mutant));
    for entry in mutants {
        if let (Some(mutant), Some(by)) = (entry["mutant"].as_str(), entry["by"].as_str()) {
            hints.insert(mutant.to_owned(), case_of(by).to_owned());
        }
    }
    let path = path(target);
    let text = serde_json::to_string_pretty(&hints)? + "\n";
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A failure begins with the case's id: `ID on path ..`, or `ID: does not end`.
fn case_of(failure: &str) -> &str {
    failure.split([' ', ':']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_is_what_a_failure_begins_with() {
        assert_eq!(case_of("dim-5 on path block, direct: x"), "dim-5");
        assert_eq!(case_of("dim-5: does not end"), "dim-5");
    }
}
