//! What a check reports.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A rule is broken.
    Error,
    /// The rules hold, but the evidence was made from other sources than the tree's.
    Stale,
    /// Worth a look; nothing fails because of it.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Stale => "stale",
            Self::Warning => "warning",
        })
    }
}

/// One finding of a command, as the JSON documents carry it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Stable code. Manifest and evidence codes are listed in docs/contract.md.
    pub code: String,
    /// How much it weighs.
    pub severity: Severity,
    /// File (or directory) that the finding is about, relative to the root, with `/`.
    pub path: String,
    /// JSON pointer into the file; empty for the whole file.
    pub pointer: String,
    /// One sentence: what was found and what must be.
    pub message: String,
}

impl Finding {
    /// A finding of any command; the checks of this crate build theirs from [`crate::Code`].
    pub fn new(
        severity: Severity,
        code: impl Into<String>,
        path: impl Into<String>,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            severity,
            path: path.into(),
            pointer: pointer.into(),
            message: message.into(),
        }
    }
}

/// By place, then by what was found there.
impl Ord for Finding {
    fn cmp(&self, other: &Self) -> Ordering {
        fn key(finding: &Finding) -> (&str, &str, Severity, &str, &str) {
            let Finding {
                code,
                severity,
                path,
                pointer,
                message,
            } = finding;
            (path, pointer, *severity, code, message)
        }
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Finding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}] {}", self.severity, self.code, self.path)?;
        if !self.pointer.is_empty() {
            write!(f, "#{}", self.pointer)?;
        }
        write!(f, ": {}", self.message)
    }
}
