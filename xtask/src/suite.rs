//! What gpu-parity and simulate share: which backends, which cases, how results read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use contract::{Finding, Manifest, Severity, Status};
use parity::{Case, CaseReport, Class, Library, Outcome, Tags};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::backends::{BACKENDS, Backend};
use crate::output::{BackendEntry, Failure, Output};

/// A backend of the tree, with its cases.
pub struct Target {
    /// Its linked oracle and cases.
    pub backend: &'static Backend,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its directory.
    pub dir: PathBuf,
    /// The manifest's path relative to the root.
    pub path: String,
}

impl Target {
    /// Its entry in a document.
    pub fn entry(&self, more: Map<String, Value>) -> BackendEntry {
        let status = match self.manifest.status {
            Status::Planned => "planned",
            Status::Experimental => "experimental",
            Status::Validated => "validated",
        };
        BackendEntry {
            name: self.backend.name.to_owned(),
            status: status.to_owned(),
            path: self.path.clone(),
            more,
        }
    }

    /// A finding about it.
    pub fn error(&self, code: &str, message: impl Into<String>) -> Finding {
        Finding::new(Severity::Error, code, &self.path, "", message)
    }

    /// A warning about it.
    pub fn warning(&self, code: &str, message: impl Into<String>) -> Finding {
        Finding::new(Severity::Warning, code, &self.path, "", message)
    }

    /// Where `compile` puts its library.
    pub fn library(&self, root: &Path) -> PathBuf {
        root.join("target/dist")
            .join(self.backend.name)
            .join(self.manifest.library_file())
    }

    /// Its cases with these tags whose id contains `filter`.
    pub fn cases(&self, tags: Tags, filter: Option<&str>) -> Vec<Case> {
        let mut cases = (self.backend.cases)();
        cases.retain(|case| {
            case.tags.contains(tags) && filter.is_none_or(|filter| case.id.contains(filter))
        });
        cases
    }

    /// The manifest lists what the suite runs, no more and no less.
    pub fn case_list(&self) -> Vec<Finding> {
        let cases = (self.backend.cases)();
        let differences = parity::suite::list_differs(&cases, &self.manifest.cases.parity);
        differences
            .into_iter()
            .map(|message| {
                let pointer = "/cases/parity";
                Finding::new(
                    Severity::Error,
                    "parity-case-list",
                    &self.path,
                    pointer,
                    message,
                )
            })
            .collect()
    }

    /// Checks what every library must answer.
    pub fn conformance(&self, library: &Library) -> Vec<Finding> {
        let header = fs::read_to_string(self.dir.join(&self.manifest.header)).unwrap_or_default();
        let codes = status_codes(&header);
        let wrong = parity::conformance(
            library,
            &self.manifest.prefix,
            self.manifest.abi_version,
            &codes,
        )
        .unwrap_or_else(|error| vec![error.to_string()]);
        wrong
            .into_iter()
            .map(|message| self.error("parity-conformance", message))
            .collect()
    }
}

/// Every status code that a header's numbered arguments allow: kinds 1 to 10 of each `X(n, name)`.
fn status_codes(header: &str) -> Vec<i32> {
    const KINDS: std::ops::RangeInclusive<i32> = 1..=10;
    let numbers: Vec<i32> = header
        .split("X(")
        .skip(1)
        .filter_map(|rest| rest.split_once(',')?.0.trim().parse().ok())
        .collect();
    KINDS
        .flat_map(|kind| numbers.iter().map(move |number| 1000 * kind + number))
        .collect()
}

/// The backends of the tree at `root` that this tool has cases for; one, where it is named.
pub fn targets(root: &Path, only: Option<&str>) -> anyhow::Result<Vec<Target>> {
    if let Some(name) = only
        && crate::backends::find(name).is_none()
    {
        let known: Vec<_> = BACKENDS.iter().map(|backend| backend.name).collect();
        let message = format!(
            "no backend is called {name:?}; there are: {}",
            known.join(", ")
        );
        return Err(Failure::Usage(message).into());
    }
    let wanted = BACKENDS
        .iter()
        .filter(|backend| only.is_none_or(|name| backend.name == name));
    wanted
        .map(|backend| {
            let name = backend.name;
            let path = format!("crates/{name}/{name}.backend.json");
            let text = fs::read_to_string(root.join(&path))
                .with_context(|| format!("{path} cannot be read"))?;
            let manifest = serde_json::from_str(&text).with_context(|| path.clone())?;
            Ok(Target {
                backend,
                manifest,
                dir: root.join("crates").join(name),
                path,
            })
        })
        .collect()
}

/// How many cases ended how.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Right on every path that could be checked.
    pub pass: usize,
    /// Wrong on some path.
    pub fail: usize,
    /// Not run.
    pub could_not_check: usize,
}

impl Tally {
    /// Counts reports.
    pub fn of(reports: &[CaseReport]) -> Tally {
        let mut tally = Tally::default();
        for report in reports {
            match report.outcome() {
                Outcome::Pass => tally.pass += 1,
                Outcome::Fail => tally.fail += 1,
                Outcome::CouldNotCheck => tally.could_not_check += 1,
            }
        }
        tally
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.pass, self.fail)?;
        match self.could_not_check {
            0 => Ok(()),
            count => write!(f, ", {count} could not be checked"),
        }
    }
}

/// The heading of the table that [`row`] fills.
pub fn heading() -> String {
    format!(
        "{:9} {:40} {:9} {:>5} {:>12}  worst",
        "result", "case", "class", "paths", "compared"
    )
}

/// One case, as lines of a table; what is wrong stands below it.
pub fn row(report: &CaseReport) -> String {
    let outcome = match report.outcome() {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::CouldNotCheck => "unchecked",
    };
    let class = class_name(report.class);
    let worst = report.worst();
    let error = match report.class {
        Class::Exact if worst.of_bound == 0.0 => format!("{} ulp", worst.ulp),
        _ => format!("{:.3} of the bound", worst.of_bound),
    };
    let checked = report
        .paths
        .iter()
        .filter(|path| path.outcome != Outcome::CouldNotCheck);
    let paths = format!("{}/{}", checked.count(), report.paths.len());
    let mut text = format!(
        "{outcome:9} {:40} {class:9} {paths:>5} {:>12}  {error}",
        report.id, worst.elements
    );
    for (path, failure) in report.failures() {
        let _ = write!(text, "\n    {path}, {}: {}", failure.check, failure.message);
    }
    if report.outcome() == Outcome::CouldNotCheck
        && let Some(why) = report.paths.iter().find_map(|path| path.why.as_ref())
    {
        let _ = write!(text, "\n    {why}");
    }
    text
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Exact => "exact",
        Class::Tolerance => "tolerance",
        Class::Fast => "fast",
    }
}

/// One finding per case that failed.
pub fn case_findings(target: &Target, place: &str, reports: &[CaseReport]) -> Vec<Finding> {
    reports
        .iter()
        .filter_map(|report| {
            let (path, failure) = report.failures().next()?;
            let (id, check, message) = (&report.id, failure.check, &failure.message);
            let message = format!("{id} on path {path}, {place}, {check}: {message}");
            Some(target.error("parity-case", message))
        })
        .collect()
}

/// Runs what can be said of cases where no kernel runs, saying so.
pub fn self_checks(target: &Target, filter: Option<&str>, out: &Output) -> (Tally, Vec<Finding>) {
    let mut tally = Tally::default();
    let mut findings = Vec::new();
    for case in target.cases(Tags::SIMULATE, filter) {
        match case.self_check(parity::Options::default().seed) {
            Ok(()) => tally.pass += 1,
            Err(error) => {
                tally.fail += 1;
                findings.push(target.error("parity-oracle", error.to_string()));
            }
        }
    }
    let name = target.backend.name;
    out.say(format_args!(
        "{name}: no kernel ran; of the oracle's self-checks, {tally}"
    ));
    (tally, findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_a_header_are_all_kinds_of_all_arguments() {
        let header = "#define CX_ARGUMENTS(X) \\\n  X(1, params) X(2,rows) \\\n  X( 7, x)\n";
        let codes = status_codes(header);
        assert_eq!(codes.len(), 30);
        assert_eq!(codes[..3], [1001, 1002, 1007]);
        assert_eq!(codes[27..], [10_001, 10_002, 10_007]);
        assert!(status_codes("no list").is_empty());
    }

    #[test]
    fn an_unknown_backend_is_a_usage_error_that_lists_the_known_ones() {
        let error = targets(Path::new("/nowhere"), Some("nonsense"))
            .err()
            .unwrap();
        assert!(
            matches!(error.downcast_ref(), Some(Failure::Usage(_))),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("no backend is called \"nonsense\""),
            "{error}"
        );
    }
}
