//! The deliberate faults of a kernel's sources, found by reading them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use build_support::digest::{Language, normalise};

use crate::Error;

const MACRO: &str = "CK_MUTANT";

/// The names in `CK_MUTANT(name)` of these sources, sorted, each once.
///
/// Comments do not count, and neither does the definition of the macro itself.
pub fn mutants(sources: &[PathBuf]) -> Result<Vec<String>, Error> {
    let mut names = BTreeSet::new();
    for path in sources {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        names.extend(names_in(&text));
    }
    Ok(names.into_iter().collect())
}

fn names_in(text: &str) -> Vec<String> {
    let text = normalise(text, Language::Cpp);
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line
            .trim_start()
            .strip_prefix('#')
            .unwrap_or("")
            .trim_start()
            .splitn(2, ' ');
        if words.next() == Some("define")
            && words
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with("CK_MUTANT("))
        {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(MACRO) {
            let before = rest[..at].chars().next_back();
            rest = &rest[at + MACRO.len()..];
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let Some(inside) = rest.trim_start().strip_prefix('(') else {
                continue;
            };
            let name = inside.split(')').next().unwrap_or("").trim();
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_the_macro_is_used() {
        let text = "if (!CK_MUTANT(drop_fence)) __threadfence();\n\
                    const int g = CK_MUTANT( modulo )\n ? h % G : h / R;\n\
                    x = CK_MUTANT(a) + CK_MUTANT(b);";
        assert_eq!(names_in(text), ["drop_fence", "modulo", "a", "b"]);
    }

    #[test]
    fn comments_strings_of_other_names_and_the_definition_do_not_count() {
        let text = "// CK_MUTANT(in_a_comment)\n/* CK_MUTANT(also) */\n\
                    #define CK_MUTANT(name) false\n\
                    NOT_CK_MUTANT(other); CK_MUTANTS(third);\n";
        assert_eq!(names_in(text), Vec::<String>::new());
    }

    #[test]
    fn a_missing_source_is_an_error_that_names_it() {
        let error = mutants(&[PathBuf::from("no/such/kernel.cu")]).unwrap_err();
        assert!(error.to_string().contains("no/such/kernel.cu"), "{error}");
    }
}
