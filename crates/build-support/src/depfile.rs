//! Reads the dependency files that compilers write for make.

use std::path::PathBuf;

/// The prerequisites that a make rule lists, in its order.
pub(crate) fn parse(text: &str) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut in_target = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek().copied()) {
            ('\\', Some('\n')) => {
                chars.next();
                finish(&mut name, &mut names, in_target);
            }
            ('\\', Some(escaped @ (' ' | '#' | '\\' | ':'))) => {
                name.push(escaped);
                chars.next();
            }
            ('$', Some('$')) => {
                name.push('$');
                chars.next();
            }
            (':', next) if in_target && next.is_none_or(char::is_whitespace) => {
                name.clear();
                in_target = false;
            }
            ('\n', _) => {
                finish(&mut name, &mut names, in_target);
                // A further rule may follow, with a target of its own.
                in_target = true;
            }
            (c, _) if c.is_whitespace() => finish(&mut name, &mut names, in_target),
            (c, _) => name.push(c),
        }
    }
    finish(&mut name, &mut names, in_target);
    names
}

fn finish(name: &mut String, names: &mut Vec<PathBuf>, in_target: bool) {
    if !name.is_empty() && !in_target {
        names.push(PathBuf::from(&*name));
    }
    name.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_lines_blanks_and_dollars_are_read() {
        let text = "out/a.o : cuda/a.cu \\\n    /usr/include/x.h \\\n    a\\ b/c\\#d.h e$$f.h\n";
        let expected = ["cuda/a.cu", "/usr/include/x.h", "a b/c#d.h", "e$f.h"];
        assert_eq!(parse(text), expected.map(PathBuf::from));
    }

    #[test]
    fn the_target_is_not_a_dependency() {
        assert_eq!(parse("a.o: a.cu\nb.h:\n"), [PathBuf::from("a.cu")]);
        assert_eq!(parse(""), [""; 0].map(PathBuf::from));
    }
}
