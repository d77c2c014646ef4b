//! The parity suite against itself: what can be said of it where no kernel runs.
#![cfg(feature = "cases")]

use parity::{Expect, Tags, Variation};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_case_has_its_own_id_and_at_least_one_path() {
    let mut ids = BTreeSet::new();
    for case in gdn_scan::cases::cases() {
        assert!(!case.paths.is_empty(), "{}: no path", case.id);
        assert!(ids.insert(case.id.clone()), "{}: twice", case.id);
    }
}

#[test]
fn every_case_is_consistent() {
    for mut case in gdn_scan::cases::cases() {
        if !case.tags.contains(Tags::LARGE) {
            // The oracle does not look at the path: the test below.
            case.paths.truncate(1);
            case.self_check(1).unwrap();
        }
    }
}

#[test]
fn the_oracle_answers_every_path_alike() {
    for case in gdn_scan::cases::cases() {
        if !case.tags.contains(Tags::SANITIZE) {
            continue;
        }
        let expected = |path: i32| {
            let instance = case.instance(Variation { seed: 3, path }).unwrap();
            let outputs = instance
                .buffers
                .into_iter()
                .filter(|b| b.expected.is_some());
            outputs
                .map(|buffer| (buffer.name, buffer.expected))
                .collect::<Vec<_>>()
        };
        for path in &case.paths[1..] {
            assert_eq!(
                expected(case.paths[0].value),
                expected(path.value),
                "{}",
                case.id
            );
        }
    }
}

#[test]
fn every_argument_of_the_header_is_refused_somewhere() {
    let refused: BTreeSet<i32> = gdn_scan::cases::cases()
        .iter()
        .filter(|case| !case.tags.contains(Tags::LARGE))
        .filter_map(|case| {
            let path = case.paths[0].value;
            match case.instance(Variation { seed: 1, path }).unwrap().expect {
                Expect::Code(code) => Some(code % 1000),
                Expect::Success => None,
            }
        })
        .collect();
    for argument in 1..=49 {
        // n_v, n_k and d are of the seed's entry.
        assert!(
            refused.contains(&argument),
            "argument {argument} of the header is never refused"
        );
    }
}

fn manifest() -> (PathBuf, serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("gdn-scan.backend.json");
    let text = fs::read_to_string(&path).unwrap();
    (path, serde_json::from_str(&text).unwrap())
}

fn ids() -> Vec<String> {
    gdn_scan::cases::cases()
        .into_iter()
        .map(|case| case.id)
        .collect()
}

#[test]
fn the_manifest_lists_every_case() {
    let listed: Vec<String> =
        serde_json::from_value(manifest().1["cases"]["parity"].clone()).unwrap();
    let ids = ids();
    let unlisted: Vec<&String> = ids.iter().filter(|id| !listed.contains(id)).collect();
    let gone: Vec<&String> = listed.iter().filter(|id| !ids.contains(id)).collect();
    assert!(
        unlisted.is_empty() && gone.is_empty(),
        "not listed: {unlisted:?}; no longer cases: {gone:?}; `cargo xtask codegen --only cases` writes the list"
    );
}

#[test]
fn every_benched_case_is_compared_too() {
    let benched: Vec<String> =
        serde_json::from_value(manifest().1["cases"]["bench"].clone()).unwrap();
    let ids = ids();
    assert!(!benched.is_empty());
    for id in benched {
        assert!(ids.contains(&id), "{id}");
    }
}
