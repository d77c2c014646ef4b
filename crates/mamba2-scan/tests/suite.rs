//! The parity suite against itself: what can be said of it where no kernel runs.
#![cfg(feature = "cases")]

use mamba2_scan::cases::cases;
use parity::suite;

const NOTHING: [String; 0] = [];

#[test]
fn every_case_has_its_own_id_and_at_least_one_path() {
    assert_eq!(suite::names(&cases()), NOTHING);
}

#[test]
fn every_case_is_consistent() {
    assert_eq!(suite::inconsistent(&cases()), NOTHING);
}

#[test]
fn the_oracle_answers_every_path_alike() {
    assert_eq!(suite::paths_differ(&cases()), NOTHING);
}

#[test]
fn every_argument_of_the_header_is_refused_somewhere() {
    let wrong = suite::never_refused(&cases(), 1..=68);
    assert!(
        wrong.is_empty(),
        "arguments {wrong:?} of the header are never refused"
    );
}

/// The case ids that the manifest lists under that key.
fn listed(key: &str) -> Vec<String> {
    let manifest = include_str!("../mamba2-scan.backend.json");
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
    serde_json::from_value(manifest["cases"][key].clone()).unwrap()
}

#[test]
fn the_manifest_lists_every_case() {
    // `cargo xtask codegen --only cases` writes the list.
    assert_eq!(suite::list_differs(&cases(), &listed("parity")), NOTHING);
}

#[test]
fn every_benched_case_is_compared_too_where_its_state_fits_the_host() {
    let ids: Vec<String> = cases().into_iter().map(|case| case.id).collect();
    let benched = listed("bench");
    assert!(!benched.is_empty());
    for id in benched {
        // Batches of 64 and 256 are those of 8 with more sequences.
        let smaller = id.replace("-b64-", "-b8-").replace("-b256-", "-b8-");
        assert!(ids.contains(&smaller), "{id}");
    }
}
