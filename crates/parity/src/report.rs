//! What was checked and what was found: pass, fail and could-not-check kept apart.

use crate::case::Class;
use crate::compare::Worst;
use serde::Serialize;
use std::fmt;

/// One thing the harness does with an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The case is consistent and the library exports what it calls.
    Setup,
    /// A call on a created, non-blocking stream.
    Direct,
    /// The same call again at the same addresses with other contents, the workspace as it was left.
    SameAddresses,
    /// The same shape with other contents at other addresses.
    FreshContents,
    /// Capture: the number of graph nodes, and nothing runs or is written meanwhile.
    Capture,
    /// Replay, and replay again after changing what is at the captured addresses.
    Replay,
    /// Every buffer displaced by one, two and three elements, and each by another number.
    Offsets,
    /// Two streams with a workspace each, at once.
    TwoStreams,
    /// A call from a thread that has not called CUDA before.
    FreshThread,
    /// A call while another library's error is pending.
    ForeignError,
    /// A launch that cannot work is reported, and not reported again by the next call.
    FailedLaunch,
    /// A refused call: its code, nothing written, nothing queued.
    Refusal,
}

impl Check {
    /// All of them, in the order in which they run.
    pub const ALL: [Check; 12] = [
        Check::Setup,
        Check::Direct,
        Check::SameAddresses,
        Check::FreshContents,
        Check::Capture,
        Check::Replay,
        Check::Offsets,
        Check::TwoStreams,
        Check::FreshThread,
        Check::ForeignError,
        Check::FailedLaunch,
        Check::Refusal,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Setup => "setup",
            Check::Direct => "direct",
            Check::SameAddresses => "same-addresses",
            Check::FreshContents => "fresh-contents",
            Check::Capture => "capture",
            Check::Replay => "replay",
            Check::Offsets => "offsets",
            Check::TwoStreams => "two-streams",
            Check::FreshThread => "fresh-thread",
            Check::ForeignError => "foreign-error",
            Check::FailedLaunch => "failed-launch",
            Check::Refusal => "refusal",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Something that is wrong with the kernel or its library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What was being done.
    pub check: Check,
    /// What came of it.
    pub message: String,
}

/// How a case ended on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything that was checked is right.
    Pass,
    /// Something is wrong.
    Fail,
    /// It could not be run here; that is no pass.
    CouldNotCheck,
}

/// A case on one path.
#[derive(Debug, Clone, Serialize)]
pub struct PathReport {
    /// The path's name.
    pub path: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was done.
    pub checks: Vec<Check>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Why it could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The worst errors seen.
    pub worst: Worst,
}

/// A case on all its paths.
#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    /// The case's id.
    pub id: String,
    /// The entry point.
    pub entry: &'static str,
    /// Its class.
    pub class: Class,
    /// One report per path.
    pub paths: Vec<PathReport>,
}

impl CaseReport {
    /// A failure on any path is a failure; a pass needs a pass on every path that could be
    /// checked, and at least one.
    pub fn outcome(&self) -> Outcome {
        let any = |outcome| self.paths.iter().any(|path| path.outcome == outcome);
        if any(Outcome::Fail) {
            Outcome::Fail
        } else if any(Outcome::Pass) {
            Outcome::Pass
        } else {
            Outcome::CouldNotCheck
        }
    }

    /// The worst errors over all paths.
    pub fn worst(&self) -> Worst {
        let mut worst = Worst::default();
        self.paths.iter().for_each(|path| worst.merge(&path.worst));
        worst
    }

    /// All failures with their paths.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Failure)> {
        self.paths
            .iter()
            .flat_map(|path| path.failures.iter().map(|f| (path.path.as_str(), f)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: &[Outcome]) -> CaseReport {
        let path = |outcome: &Outcome| PathReport {
            path: "auto".into(),
            outcome: *outcome,
            checks: vec![],
            failures: vec![],
            why: None,
            worst: Worst::default(),
        };
        CaseReport {
            id: "case".into(),
            entry: "entry",
            class: Class::Exact,
            paths: outcomes.iter().map(path).collect(),
        }
    }

    #[test]
    fn could_not_check_is_never_a_pass() {
        use Outcome::*;
        assert_eq!(
            report(&[CouldNotCheck, CouldNotCheck]).outcome(),
            CouldNotCheck
        );
        assert_eq!(report(&[]).outcome(), CouldNotCheck);
        assert_eq!(report(&[CouldNotCheck, Pass]).outcome(), Pass);
        assert_eq!(report(&[Pass, Fail, CouldNotCheck]).outcome(), Fail);
    }

    #[test]
    fn every_check_has_the_name_it_serialises_to() {
        for check in Check::ALL {
            assert_eq!(serde_json::to_value(check).unwrap(), check.name());
        }
    }
}
