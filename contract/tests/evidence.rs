//! When evidence is current, stale and wrong.

mod support;

use contract::{Evidence, Severity};
use support::{EVIDENCE, Scratch};

/// The worst thing found about a tree.
fn worst(scratch: &Scratch) -> Option<Severity> {
    contract::check(&scratch.root)
        .findings
        .iter()
        .map(|finding| finding.severity)
        .min()
}

#[test]
fn a_token_stales_evidence_a_comment_does_not_and_reverting_revives_it() {
    for file in [
        "crates/good-one/cuda/good.cu",
        "crates/good-one/cuda/good.cuh",
        "crates/good-one/include/good_one.h",
        "crates/good-one/src/cases.rs",
        "crates/build-support/include/ck/math.cuh",
        "crates/parity/src/lib.rs",
    ] {
        let scratch = Scratch::of("workspace");
        let text = scratch.text(file);
        scratch.write(
            file,
            format!("// An experiment: 3 % slower.\n\n{text}  \n/* and */"),
        );
        assert_eq!(worst(&scratch), None, "a comment in {file}");
        scratch.write(file, format!("{text}\nstruct Further;"));
        assert_eq!(worst(&scratch), Some(Severity::Stale), "a token in {file}");
        scratch.write(file, text);
        assert_eq!(worst(&scratch), None, "{file} reverted");
    }
}

#[test]
fn tests_and_benches_stale_nothing() {
    let scratch = Scratch::of("workspace");
    scratch.write("crates/good-one/tests/t.rs", "fn t() {}");
    scratch.write("crates/parity/benches/b.rs", "fn b() {}");
    assert_eq!(worst(&scratch), None);
}

#[test]
fn any_digit_changed_is_an_error() {
    let scratch = Scratch::of("workspace");
    let text = scratch.text(EVIDENCE);
    for (at, digit) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        let other = if digit == '9' {
            '8'
        } else {
            char::from(digit as u8 + 1)
        };
        let mut changed = text.clone();
        changed.replace_range(at..=at, &other.to_string());
        let findings = Evidence::parse(EVIDENCE, &changed).unwrap_err();
        assert!(
            findings
                .iter()
                .all(|finding| finding.severity == Severity::Error),
            "{at}"
        );
    }
}

#[test]
fn line_ends_of_a_checkout_change_nothing() {
    let scratch = Scratch::of("workspace");
    scratch.write(EVIDENCE, scratch.text(EVIDENCE).replace('\n', "\r\n"));
    assert_eq!(worst(&scratch), None);
}

#[test]
fn rendered_evidence_reads_back_as_it_was() {
    let scratch = Scratch::of("workspace");
    let text = scratch.text(EVIDENCE);
    let evidence = Evidence::parse(EVIDENCE, &text).unwrap();
    assert_eq!(evidence.render().unwrap(), text);
}

#[test]
fn numbers_that_are_not_finite_are_refused_when_written() {
    let scratch = Scratch::of("workspace");
    let mut evidence = Evidence::parse(EVIDENCE, &scratch.text(EVIDENCE)).unwrap();
    evidence.cases[1].worst_error = f64::NAN;
    assert!(
        evidence
            .render()
            .unwrap_err()
            .contains("/cases/1/worst_error")
    );
}

#[test]
fn stale_on_one_gpu_does_not_hide_current_on_another() {
    let scratch = Scratch::of("workspace");
    let mut evidence = Evidence::parse(EVIDENCE, &scratch.text(EVIDENCE)).unwrap();
    evidence.gpu = "NVIDIA GeForce RTX 4090".into();
    evidence.flags.push("-O1".into());
    let other = "docs/evidence/good-one/nvidia-geforce-rtx-4090.json";
    scratch.write(other, evidence.render().unwrap());
    let report = contract::check(&scratch.root);
    let states: Vec<_> = report.backends[0]
        .evidence
        .iter()
        .map(|file| (file.path.as_str(), file.worst))
        .collect();
    assert_eq!(states, [(other, Some(Severity::Stale)), (EVIDENCE, None)]);
}

#[test]
fn file_names_come_from_gpu_names() {
    let stem = contract::evidence::file_stem;
    assert_eq!(stem("NVIDIA H200"), "nvidia-h200");
    assert_eq!(stem("NVIDIA A100-SXM4-80GB "), "nvidia-a100-sxm4-80gb");
    assert_eq!(stem("  (x)  y"), "x-y");
}
