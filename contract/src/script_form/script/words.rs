//! Commands and words of a shell script.

/// A word before expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word as written, without quotes.
    pub raw: String,
    /// Its pieces, in order.
    pub parts: Vec<Part>,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text that stands for itself.
    Text(String),
    /// `$name` or `${name<operator><operand>}`.
    Parameter {
        /// The variable; a digit for a positional parameter.
        name: String,
        /// `:-`, `:=`, `:?` and so on; empty for a plain parameter.
        operator: String,
        /// What follows the operator.
        operand: Word,
    },
    /// Something that only a run would know, e.g. `$(...)`.
    Unknown,
}

impl Word {
    fn push_text(&mut self, c: char) {
        self.raw.push(c);
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(c),
            _ => self.parts.push(Part::Text(c.into())),
        }
    }

    fn push_part(&mut self, raw: &str, part: Part) {
        self.raw.push_str(raw);
        self.parts.push(part);
    }

    /// The word behind the `=` of an assignment. The name and the `=` are always text.
    pub fn after_assignment(&self) -> Word {
        self.behind(|text| text.split_once('=').map(|(_, rest)| rest.to_owned()))
    }

    /// The word behind its last slash, if one stands in its text.
    pub fn after_last_slash(&self) -> Word {
        let slash = |part: &Part| matches!(part, Part::Text(text) if text.contains('/'));
        let Some(last) = self.parts.iter().rposition(slash) else {
            return self.clone();
        };
        let tail = Word {
            raw: self.raw.clone(),
            parts: self.parts[last..].to_vec(),
        };
        tail.behind(|text| text.rsplit_once('/').map(|(_, rest)| rest.to_owned()))
    }

    /// This word with its first part cut.
    fn behind(&self, cut: impl Fn(&str) -> Option<String>) -> Word {
        let mut word = self.clone();
        if let Some(Part::Text(text)) = word.parts.first_mut()
            && let Some(rest) = cut(text)
        {
            *text = rest;
        }
        word
    }
}

/// The commands of `text`, each a list of words. Comments and here-documents are left out.
pub(super) fn commands(text: &str) -> Vec<Vec<Word>> {
    let characters: Vec<char> = text.replace("\r\n", "\n").chars().collect();
    Lexer {
        text: &characters,
        at: 0,
        depth: 0,
    }
    .commands()
}

/// Parameters nest in parameters; this deep and no deeper, since the text is anyone's.
const MOST_DEPTH: usize = 16;

struct Lexer<'a> {
    text: &'a [char],
    at: usize,
    depth: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn looking_at(&self, wanted: &str) -> bool {
        wanted
            .chars()
            .enumerate()
            .all(|(index, c)| self.text.get(self.at + index) == Some(&c))
    }

    fn commands(mut self) -> Vec<Vec<Word>> {
        let mut commands = Vec::new();
        let mut words = Vec::new();
        let mut documents: Vec<String> = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                '\n' => {
                    self.at += 1;
                    commands.push(std::mem::take(&mut words));
                    for end in documents.drain(..) {
                        self.skip_document(&end);
                    }
                }
                ';' | '&' | '|' | '(' | ')' => {
                    self.at += 1;
                    commands.push(std::mem::take(&mut words));
                }
                '<' if self.looking_at("<<") && !self.looking_at("<<<") => {
                    self.at += 2;
                    documents.extend(self.document_end());
                }
                '<' | '>' => self.at += 1,
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\\' if self.looking_at("\\\n") => self.at += 2,
                c if c.is_whitespace() => self.at += 1,
                _ => words.push(self.word()),
            }
        }
        commands.push(words);
        commands.retain(|words| !words.is_empty());
        commands
    }

    /// The word that ends a here-document, behind its `<<`.
    fn document_end(&mut self) -> Option<String> {
        if self.peek() == Some('-') {
            self.at += 1;
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        let end = self.word().raw;
        (!end.is_empty()).then_some(end)
    }

    fn skip_document(&mut self, end: &str) {
        while self.at < self.text.len() {
            let mut line = String::new();
            while let Some(c) = self.peek() {
                self.at += 1;
                if c == '\n' {
                    break;
                }
                line.push(c);
            }
            if line.trim_start_matches('\t') == end {
                return;
            }
        }
    }

    /// The word that begins here.
    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                _ if c.is_whitespace() => break,
                ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.at += 1;
                    while let Some(c) = self.peek() {
                        self.at += 1;
                        if c == '\'' {
                            break;
                        }
                        word.push_text(c);
                    }
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut word);
                }
                _ => self.character(&mut word),
            }
        }
        word
    }

    fn double_quoted(&mut self, word: &mut Word) {
        while let Some(c) = self.peek() {
            if c == '"' {
                self.at += 1;
                return;
            }
            self.character(word);
        }
    }

    /// One character, escape or expansion.
    fn character(&mut self, word: &mut Word) {
        let Some(c) = self.peek() else { return };
        match c {
            '\\' => {
                self.at += 1;
                if let Some(escaped) = self.peek() {
                    self.at += 1;
                    if escaped != '\n' {
                        word.push_text(escaped);
                    }
                }
            }
            '$' => self.dollar(word),
            '`' => {
                self.at += 1;
                while self.peek().is_some_and(|c| c != '`') {
                    self.at += 1;
                }
                self.at += 1;
                word.push_part("`...`", Part::Unknown);
            }
            _ => {
                self.at += 1;
                word.push_text(c);
            }
        }
    }

    fn dollar(&mut self, word: &mut Word) {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                self.skip_balanced('(', ')');
                word.push_part("$(...)", Part::Unknown);
            }
            Some('{') => {
                let begin = self.at + 1;
                self.skip_balanced('{', '}');
                let end = self.at.saturating_sub(1).max(begin);
                let inside = &self.text[begin.min(self.text.len())..end.min(self.text.len())];
                let raw: String = inside.iter().collect();
                let part = parameter(inside, self.depth);
                word.push_part(&format!("${{{raw}}}"), part);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self
                    .peek()
                    .filter(|&c| c.is_ascii_alphanumeric() || c == '_')
                {
                    name.push(c);
                    self.at += 1;
                }
                let raw = format!("${name}");
                let operand = Word::default();
                word.push_part(
                    &raw,
                    Part::Parameter {
                        name,
                        operator: String::new(),
                        operand,
                    },
                );
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.at += 1;
                word.push_part(&format!("${c}"), Part::Unknown);
            }
            _ => word.push_text('$'),
        }
    }

    /// Steps behind the bracket that closes the one here. A quoted bracket is none.
    fn skip_balanced(&mut self, open: char, close: char) {
        let mut depth = 0usize;
        let mut quote = None;
        while let Some(c) = self.peek() {
            self.at += 1;
            match quote {
                Some(end) if c == end => quote = None,
                Some(_) => {}
                None if c == '\'' || c == '"' => quote = Some(c),
                None if c == '\\' => self.at += 1,
                None if c == open => depth += 1,
                None if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                None => {}
            }
        }
    }
}

/// The inside of `${...}`.
fn parameter(inside: &[char], depth: usize) -> Part {
    let length = inside
        .iter()
        .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
        .count();
    let name: String = inside[..length].iter().collect();
    let rest = &inside[length..];
    let colon = usize::from(rest.first() == Some(&':'));
    let operator_length = match rest.get(colon) {
        None if rest.is_empty() => 0,
        Some('-' | '=' | '?' | '+') => colon + 1,
        _ => return Part::Unknown,
    };
    if name.is_empty() || depth >= MOST_DEPTH {
        return Part::Unknown;
    }
    let operator = rest[..operator_length].iter().collect();
    let mut lexer = Lexer {
        text: &rest[operator_length..],
        at: 0,
        depth: depth + 1,
    };
    let mut operand = Word::default();
    while let Some(c) = lexer.peek() {
        if c == '"' || c == '\'' {
            lexer.at += 1;
        } else {
            lexer.character(&mut operand);
        }
    }
    Part::Parameter {
        name,
        operator,
        operand,
    }
}
