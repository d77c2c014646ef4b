//! Digests of source text that change with the tokens and with nothing else.
//!
//! Evidence of a GPU run names the digest of every source that was compiled. A note added to a
//! kernel must not stale that evidence, a changed token must, so the text is hashed with comments
//! removed and with blank space kept only where it separates two tokens that would read
//! differently without it. Preprocessor directives keep their line ends, and a blank inside one
//! stays a blank, because `#define F (x)` and `#define F(x)` are different macros.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// How a source file is read before it is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, C++ and CUDA: block comments do not nest, raw strings are `R"tag(...)tag"`.
    Cpp,
    /// Rust: block comments nest, raw strings are `r#"..."#`, a quote may begin a lifetime.
    Rust,
    /// Anything else: hashed byte for byte.
    Verbatim,
}

impl Language {
    /// The language that a file name's extension stands for.
    pub fn of(path: &Path) -> Language {
        match path.extension().and_then(|e| e.to_str()) {
            Some("cu" | "cuh" | "h" | "hpp" | "c" | "cc" | "cpp") => Language::Cpp,
            Some("rs") => Language::Rust,
            _ => Language::Verbatim,
        }
    }
}

/// The digest, as 64 hexadecimal digits, of `text` after [`normalise`].
pub fn normalised_sha256(text: &str, language: Language) -> String {
    sha256(normalise(text, language).as_bytes())
}

/// The digest of a file, read as the language its extension stands for.
pub fn file(path: &Path) -> io::Result<String> {
    let bytes = std::fs::read(path)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    Ok(match Language::of(path) {
        Language::Verbatim => sha256(&bytes),
        language => normalised_sha256(&String::from_utf8_lossy(&bytes), language),
    })
}

/// The SHA-256 of `bytes` as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// `text` without comments and with as little blank space as keeps its tokens apart.
pub fn normalise(text: &str, language: Language) -> String {
    if language == Language::Verbatim {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut blank = false; // blank space or a comment stands between `out` and what comes next
    let mut line_end = true; // nothing but blanks so far on this line
    let mut directive = false;
    for piece in pieces(text, language) {
        match piece.kind {
            Kind::Comment => blank = true,
            Kind::Blank => {
                blank = true;
                if piece.has_newline {
                    if directive {
                        out.push('\n');
                        blank = false;
                        directive = false;
                    }
                    line_end = true;
                }
            }
            Kind::Code | Kind::Literal => {
                if language == Language::Cpp && line_end && piece.text == "#" {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push('\n');
                    }
                    directive = true;
                } else if blank && separates(&out, piece.text, directive) {
                    out.push(' ');
                }
                out.push_str(piece.text);
                blank = false;
                line_end = false;
            }
        }
    }
    if directive {
        out.push('\n');
    }
    out
}

/// Whether dropping the blank between `before` and `after` could change how they are read.
fn separates(before: &str, after: &str, directive: bool) -> bool {
    let (Some(a), Some(b)) = (before.chars().next_back(), after.chars().next()) else {
        return false;
    };
    if a == '\n' {
        return false;
    }
    // A dot belongs to numbers and to operators; a quote may take a prefix or a suffix.
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '.' | '$');
    let operator = |c: char| c.is_ascii_punctuation() && !"()[]{},;_\"'".contains(c);
    directive || (word(a) && word(b)) || (operator(a) && operator(b))
}

/// `text` with every comment replaced by one blank, lines kept as they are.
pub(crate) fn without_comments(text: &str, language: Language) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, language) {
        match piece.kind {
            Kind::Comment => out.push(' '),
            _ => out.push_str(piece.text),
        }
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One character, or a whole word.
    Code,
    /// A string or character literal, quotes included.
    Literal,
    Blank,
    Comment,
}

struct Piece<'a> {
    kind: Kind,
    text: &'a str,
    /// A blank that ends a line; a line spliced with a backslash does not.
    has_newline: bool,
}

fn pieces(text: &str, language: Language) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (kind, mut end) = piece_at(text, at, language);
        // A malformed file may end inside a piece, or inside a character.
        while end < bytes.len() && !text.is_char_boundary(end) {
            end += 1;
        }
        let end = end.clamp(at + 1, bytes.len());
        let piece = &text[at..end];
        let has_newline = kind == Kind::Blank && piece.contains('\n') && !piece.starts_with('\\');
        found.push(Piece {
            kind,
            text: piece,
            has_newline,
        });
        at = end;
    }
    found
}

/// The kind of the piece that begins at byte `at`, and the byte behind it.
fn piece_at(text: &str, at: usize, language: Language) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let rust = language == Language::Rust;
    match rest[0] {
        b'/' if rest.starts_with(b"//") => (Kind::Comment, line_comment_end(bytes, at, rust)),
        b'/' if rest.starts_with(b"/*") => (Kind::Comment, block_comment_end(bytes, at, rust)),
        b'\\' if !rust && spliced_line(rest) > 0 => (Kind::Blank, at + spliced_line(rest)),
        c if c.is_ascii_whitespace() => {
            let blanks = rest.iter().take_while(|c| c.is_ascii_whitespace()).count();
            (Kind::Blank, at + blanks)
        }
        b'"' => (Kind::Literal, quoted_end(bytes, at)),
        b'\'' if rust => rust_quote(text, at),
        b'\'' => (Kind::Literal, quoted_end(bytes, at)),
        c if is_word(c) => {
            let end = at + rest.iter().take_while(|&&c| is_word(c)).count();
            word_piece(text, at, end, language)
        }
        _ => (Kind::Code, at + 1),
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

/// A word, or the raw string that the word begins, or a C++ number with its digit separators.
fn word_piece(text: &str, at: usize, end: usize, language: Language) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let word = &text[at..end];
    match language {
        Language::Rust if matches!(word, "r" | "br" | "cr") => {
            match rust_raw_string_end(text, end) {
                Some(end) => (Kind::Literal, end),
                None => (Kind::Code, end),
            }
        }
        Language::Cpp if matches!(word, "R" | "LR" | "uR" | "UR" | "u8R") => {
            match cpp_raw_string_end(text, end) {
                Some(end) => (Kind::Literal, end),
                None => (Kind::Code, end),
            }
        }
        Language::Cpp if bytes[at].is_ascii_digit() => {
            let mut end = end;
            while bytes.get(end) == Some(&b'\'') && bytes.get(end + 1).is_some_and(|&c| is_word(c))
            {
                end += 1;
                end += bytes[end..].iter().take_while(|&&c| is_word(c)).count();
            }
            (Kind::Code, end)
        }
        _ => (Kind::Code, end),
    }
}

/// The length of a backslash and line end at the start of `rest`, 0 if there is none.
fn spliced_line(rest: &[u8]) -> usize {
    match rest {
        [b'\\', b'\n', ..] => 2,
        [b'\\', b'\r', b'\n', ..] => 3,
        _ => 0,
    }
}

fn line_comment_end(bytes: &[u8], at: usize, rust: bool) -> usize {
    let mut end = at;
    while end < bytes.len() && bytes[end] != b'\n' {
        let splice = if rust { 0 } else { spliced_line(&bytes[end..]) };
        end += splice.max(1);
    }
    end
}

fn block_comment_end(bytes: &[u8], at: usize, nests: bool) -> usize {
    let mut end = at + 2;
    let mut depth = 1;
    while end < bytes.len() {
        if bytes[end..].starts_with(b"*/") {
            end += 2;
            depth -= 1;
            if depth == 0 {
                break;
            }
        } else if nests && bytes[end..].starts_with(b"/*") {
            end += 2;
            depth += 1;
        } else {
            end += 1;
        }
    }
    end
}

/// The byte behind a literal whose opening quote stands at `at` and in which a backslash escapes.
fn quoted_end(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            c if c == quote => return end + 1,
            _ => end += 1,
        }
    }
    end
}

/// In Rust a quote begins a character (`'a'`, `'\n'`) or a lifetime (`'a`).
fn rust_quote(text: &str, at: usize) -> (Kind, usize) {
    let mut after = text[at + 1..].chars();
    let (first, second) = (after.next(), after.next());
    let is_character = first == Some('\\') || second == Some('\'');
    if is_character {
        (Kind::Literal, quoted_end(text.as_bytes(), at))
    } else {
        (Kind::Code, at + 1)
    }
}

/// The byte behind `#*"..."#*` beginning at `at`, if that is what stands there.
fn rust_raw_string_end(text: &str, at: usize) -> Option<usize> {
    let hashes = text[at..].bytes().take_while(|&c| c == b'#').count();
    let body = at + hashes + 1;
    if text.as_bytes().get(body - 1) != Some(&b'"') {
        return None;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    Some(
        text[body..]
            .find(&close)
            .map_or(text.len(), |found| body + found + close.len()),
    )
}

/// The byte behind `"tag(...)tag"` beginning at `at`, if that is what stands there.
fn cpp_raw_string_end(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix('"')?;
    let tag = &rest[..rest.find('(')?];
    if tag.len() > 16 || tag.contains([' ', ')', '\\', '\n', '"']) {
        return None;
    }
    let body = at + 1 + tag.len() + 1;
    let close = format!("){tag}\"");
    Some(
        text[body..]
            .find(&close)
            .map_or(text.len(), |found| body + found + close.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpp(text: &str) -> String {
        normalised_sha256(text, Language::Cpp)
    }

    fn rust(text: &str) -> String {
        normalised_sha256(text, Language::Rust)
    }

    #[test]
    fn a_comment_changes_nothing() {
        assert_eq!(
            cpp("int f(int a) { return a; }"),
            cpp("int f(/* x */int a) { // y\nreturn a; }")
        );
        assert_eq!(
            rust("fn f() -> u8 { 1 }"),
            rust("/// doc\nfn f(/* a /* b */ c */) -> u8 { 1 }")
        );
        assert_eq!(
            cpp("int a;\nint b;"),
            cpp("int a;\n// one \\\n still the comment\nint b;")
        );
    }

    #[test]
    fn indentation_and_line_breaks_change_nothing() {
        assert_eq!(
            cpp("if (a) {\n  b(c, d);\n}\n"),
            cpp("if(a){b(c,\r\n\t   d);}")
        );
        assert_eq!(rust("a.b()\n    .c()"), rust("a.b().c()"));
        assert_eq!(
            cpp("#define A(x) \\\n  f(x)\n"),
            cpp("#define A(x)   \\\r\n\t\tf(x)  // why\n")
        );
    }

    #[test]
    fn a_token_changes_the_digest() {
        assert_ne!(cpp("a + b"), cpp("a - b"));
        assert_ne!(cpp("x = 1.0f;"), cpp("x = 1.1f;"));
        assert_ne!(rust("a += 1"), rust("a -= 1"));
        assert_ne!(cpp("int a b;"), cpp("int ab;"));
    }

    #[test]
    fn blanks_that_separate_tokens_stay() {
        assert_ne!(cpp("a + +b"), cpp("a ++b"));
        assert_ne!(cpp("a / *b"), cpp("a /b"));
        assert_ne!(cpp("x(1 .5)"), cpp("x(1.5)"));
        assert_ne!(cpp("#define F (x)\n"), cpp("#define F(x)\n"));
        assert_ne!(cpp("#define A\nint b;"), cpp("#define A int b;"));
        assert_ne!(cpp("int a;\n#if X\nint b;"), cpp("int a; #if X int b;"));
    }

    #[test]
    fn comment_marks_inside_literals_are_text() {
        assert_ne!(cpp(r#"p("// a");"#), cpp(r#"p("// b");"#));
        assert_ne!(cpp(r#"p("\"/* a */");"#), cpp(r#"p("\"/* b */");"#));
        assert_ne!(cpp("p(R\"x(\" // a)x\");"), cpp("p(R\"x(\" // b)x\");"));
        assert_ne!(rust("p(r#\"\" // a\"#)"), rust("p(r#\"\" // b\"#)"));
        assert_ne!(rust("c == '\"' && d"), rust("c == '\"' && e"));
        assert_ne!(cpp("p(\"a  b\");"), cpp("p(\"a b\");"));
    }

    #[test]
    fn lifetimes_and_characters_are_told_apart() {
        assert_eq!(
            rust("fn f<'a>(x: &'a str) {} // it's"),
            rust("fn f<'a>(x: &'a str) {}")
        );
        assert_ne!(
            rust("f::<'a>(); g('\\'', 1) // 2"),
            rust("f::<'a>(); g('\\'', 2) // 2")
        );
        assert_eq!(rust("let c = '/'; // slash"), rust("let c = '/';"));
        assert_eq!(rust("let c = 'é'; // two bytes"), rust("let c='é';"));
    }

    #[test]
    fn digit_separators_are_not_quotes() {
        assert_eq!(
            cpp("int n = 1'000'000; // a million"),
            cpp("int n = 1'000'000;")
        );
        assert_ne!(cpp("int n = 1'000'000;"), cpp("int n = 1'000'001;"));
    }

    #[test]
    fn unfinished_text_is_hashed_without_a_panic() {
        for text in [
            "\"", "'", "/*", "//", "R\"x(", "r#\"", "'\\", "\"\\é", "#", "\\", "1'",
        ] {
            assert_eq!(cpp(text).len(), 64);
            assert_eq!(rust(text).len(), 64);
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = file(Path::new("no/such/file.cu")).unwrap_err();
        assert!(error.to_string().contains("no/such/file.cu"), "{error}");
    }

    #[test]
    fn other_files_are_hashed_byte_for_byte() {
        assert_eq!(Language::of(Path::new("a.json")), Language::Verbatim);
        assert_ne!(
            normalised_sha256("a // b", Language::Verbatim),
            normalised_sha256("a", Language::Verbatim)
        );
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
