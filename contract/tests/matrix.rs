//! The compile matrix.

mod support;

use support::{EVIDENCE, SCRIPT, Scratch, WORKSPACE};

/// A backend of each form, one planned, one with an error.
fn mixed() -> Scratch {
    let scratch = Scratch::of("workspace");
    let script = Scratch::of("script");
    for path in [
        SCRIPT,
        "src/backends/cuda/good/ops.h",
        "src/backends/cuda/good/kernels.cu",
    ] {
        scratch.write(path, script.text(path));
    }
    let build = script.text("src/backends/cuda/good/build.sh");
    scratch.apply(&format!(
        "-- src/backends/cuda/good/build.sh mode=755 --\n{build}\n\
         -- {WORKSPACE} merge --\n{{\"build\": {{\"architectures\": [\"100\", \"80\", \"90a\"]}}}}\n"
    ));
    let planned = scratch
        .text(WORKSPACE)
        .replace("good-one", "later")
        .replace("good_one", "later");
    let planned = planned
        .replace("\"go\"", "\"la\"")
        .replace("\"go_", "\"la_");
    scratch.write(
        "crates/later/later.backend.json",
        planned.replace("validated", "planned"),
    );
    scratch.write("crates/broken/broken.backend.json", "{");
    scratch
}

#[test]
fn the_matrix_is_sorted_and_holds_what_can_be_built() {
    let scratch = mixed();
    let report = contract::check(&scratch.root);
    let (matrix, skipped) = contract::matrix(&scratch.root, &report);
    insta::assert_snapshot!(serde_json::to_string_pretty(&matrix).unwrap());
    let skipped: Vec<_> = skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.name, skipped.reason))
        .collect();
    insta::assert_snapshot!(skipped.join("\n"));
}

#[test]
fn stale_evidence_keeps_nothing_from_being_built() {
    let scratch = Scratch::of("workspace");
    scratch.apply(&format!("-- {EVIDENCE} seal --\n{{\"flags\": []}}\n"));
    let report = contract::check(&scratch.root);
    let (matrix, skipped) = contract::matrix(&scratch.root, &report);
    assert_eq!((matrix.include.len(), skipped.len()), (2, 0));
}

#[test]
fn a_tree_without_backends_has_an_empty_matrix() {
    let scratch = Scratch::new();
    let report = contract::check(&scratch.root);
    let (matrix, _) = contract::matrix(&scratch.root, &report);
    assert_eq!(serde_json::to_string(&matrix).unwrap(), r#"{"include":[]}"#);
}
