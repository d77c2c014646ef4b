//! What is found in trees that break a rule each.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use contract::Code;
use support::{Scratch, findings, read, tests};

/// The cases of a form, by name: the code that they show, and a word more where one code has several.
fn cases(form: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(tests().join("bad").join(form)).unwrap();
    let mut cases: Vec<_> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)
        })
        .collect();
    cases.sort();
    cases
}

/// Every case with its remark and its findings.
fn report(form: &str) -> String {
    let mut report = String::new();
    for (name, path) in cases(form) {
        let tree = read(&path);
        let scratch = Scratch::of(form);
        scratch.apply(&tree);
        let found = findings(&scratch.root);
        let code = name.split('.').next().unwrap();
        assert!(
            found
                .iter()
                .any(|finding| finding.contains(&format!("[{code}]"))),
            "{form}/{name} must show {code}, found {found:#?}"
        );
        let remark = tree.lines().next().unwrap();
        report.push_str(&format!("{name}: {remark}\n"));
        for finding in found {
            report.push_str(&format!("  {finding}\n"));
        }
    }
    report
}

#[test]
fn bad_manifests_of_this_workspaces_form() {
    insta::assert_snapshot!(report("workspace"));
}

#[test]
fn bad_manifests_of_the_older_form() {
    insta::assert_snapshot!(report("script"));
}

#[test]
fn every_code_is_shown_by_a_bad_tree() {
    let mut shown: BTreeSet<String> = ["workspace", "script"]
        .iter()
        .flat_map(|form| cases(form))
        .map(|(name, _)| name.split('.').next().unwrap().to_owned())
        .collect();
    // No tree can show these two: one has no root, the other needs a directory that its owner may not list.
    shown.extend(["root-missing".to_owned(), "tree-unreadable".to_owned()]);
    let codes: BTreeSet<String> = Code::ALL
        .iter()
        .map(|code| code.name().to_owned())
        .collect();
    assert_eq!(shown, codes);
}

#[test]
fn a_root_that_is_not_there_is_a_finding() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    for root in ["nowhere", "file"] {
        let report = contract::check(&scratch.root.join(root));
        let codes: Vec<_> = report
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert_eq!(codes, ["root-missing"], "{root}");
    }
}
