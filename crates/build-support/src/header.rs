//! The functions that a C header declares, found without a compiler.

use crate::digest::{Language, without_comments};

/// The names of the functions whose prototypes stand in `text` and begin with `prefix` and an
/// underscore, sorted. Types, macros and function pointers are not functions.
pub fn functions(text: &str, prefix: &str) -> Vec<String> {
    let code = without_directives(&without_comments(text, Language::Cpp));
    let mut found: Vec<String> = statements(&code)
        .filter_map(|s| declared_function(s, prefix))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `text` without the lines that begin with `#` and those they continue on.
fn without_directives(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut continues = false;
    for line in text.lines() {
        if !continues && !line.trim_start().starts_with('#') {
            out.push_str(line);
            out.push('\n');
        } else {
            continues = line.trim_end().ends_with('\\');
        }
    }
    out
}

/// Pieces between semicolons and braces. A declaration inside `extern "C" { }` is one of them; the
/// members of a struct are pieces too, and hold no prototype.
fn statements(code: &str) -> impl Iterator<Item = &str> {
    code.split(['{', '}', ';']).map(str::trim)
}

fn declared_function(statement: &str, prefix: &str) -> Option<String> {
    if statement.starts_with("typedef") {
        return None;
    }
    let before = statement[..statement.find('(')?].trim_end();
    let begin = before
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |at| at + 1);
    let (returns, name) = before.split_at(begin);
    let ours = name
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with('_'));
    (ours && !returns.trim().is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_are_found_and_nothing_else() {
        let header = r#"
            /* cx_in_comment(void); */
            #define CX_LIST(X) \
              X(1, a) cx_in_macro(int);
            typedef struct cx_params { uint32_t struct_size; int (*cx_member)(int); } cx_params;
            typedef int (*cx_callback)(void);
            #ifdef __cplusplus
            extern "C" {
            #endif
            uint32_t cx_abi_version(void); // cx_late(void);
            const char *cx_error_string(int code);
            int
            cx_run(const cx_params *params,
                   void *stream);
            int other_function(void);
            int cxx_not_ours(void);
            #ifdef __cplusplus
            }
            #endif
        "#;
        assert_eq!(
            functions(header, "cx"),
            ["cx_abi_version", "cx_error_string", "cx_run"]
        );
    }
}
