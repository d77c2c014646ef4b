//! What sound trees look like, and that nothing in a file makes the check panic.

mod support;

use contract::{Form, Severity, Status};
use serde_json::{Value, json};
use support::{EVIDENCE, SCRIPT, Scratch, WORKSPACE, findings};

#[test]
fn a_validated_backend_with_current_evidence_has_no_findings() {
    let scratch = Scratch::of("workspace");
    let report = contract::check(&scratch.root);
    assert_eq!(report.findings, []);
    let backend = &report.backends[0];
    assert_eq!(
        (backend.name.as_str(), backend.status),
        ("good-one", Some(Status::Validated))
    );
    assert_eq!(backend.evidence[0].path, EVIDENCE);
    assert_eq!(backend.evidence[0].gpu.as_deref(), Some("NVIDIA H200"));
    assert_eq!(backend.evidence[0].worst, None);
    let manifest = backend.manifest().unwrap();
    assert_eq!(
        manifest.symbols(),
        [
            "go_abi_version",
            "go_build_info",
            "go_error_string",
            "go_run",
            "go_run_workspace_bytes"
        ]
    );
}

#[test]
fn a_validated_backend_of_the_older_form_has_no_findings() {
    let scratch = Scratch::of("script");
    let report = contract::check(&scratch.root);
    assert_eq!(report.findings, []);
    let Form::Script(manifest) = &report.backends[0].form else {
        panic!("the older form")
    };
    assert!(manifest.abi_confirmed);
    assert_eq!(manifest.entrypoint.as_deref(), Some("recipe/check.py"));
}

#[test]
fn a_planned_backend_needs_no_files() {
    let scratch = Scratch::of("workspace");
    scratch.apply(&format!(
        "-- {WORKSPACE} merge --\n{{\"status\": \"planned\"}}\n-- crates/good-one/cuda remove --\n\
         -- crates/good-one/include remove --\n-- docs remove --\n"
    ));
    assert_eq!(findings(&scratch.root), [""; 0]);
    let scratch = Scratch::of("script");
    scratch.apply(&format!(
        "-- {SCRIPT} merge --\n{{\"status\": \"planned\", \"sources\": [\"later.cu\"]}}\n\
         -- src/backends/cuda/good/build.sh remove --\n-- src/backends/cuda/good/kernels.cu remove --\n"
    ));
    assert_eq!(findings(&scratch.root), [""; 0]);
}

#[test]
fn an_experimental_backend_needs_no_claim() {
    let scratch = Scratch::of("workspace");
    scratch.apply(&format!(
        "-- {WORKSPACE} merge --\n{{\"status\": \"experimental\", \"numerics\": null, \"reference\": null, \
         \"cases\": null}}\n-- docs remove --\n"
    ));
    assert_eq!(findings(&scratch.root), [""; 0]);
    let scratch = Scratch::of("script");
    scratch.apply(&format!(
        "-- {SCRIPT} merge --\n{{\"status\": \"experimental\", \"numerics\": {{\"tolerance\": null}}, \
         \"reference\": {{\"entrypoint\": null, \"note\": null}}}}\n"
    ));
    assert_eq!(findings(&scratch.root), [""; 0]);
}

#[test]
fn evidence_of_an_experimental_backend_is_checked_too() {
    let scratch = Scratch::of("workspace");
    scratch.apply(&format!(
        "-- {WORKSPACE} merge --\n{{\"status\": \"experimental\"}}\n-- {EVIDENCE} merge --\n{{\"seed\": 1}}\n"
    ));
    assert!(findings(&scratch.root)[0].contains("[evidence-body]"));
}

#[test]
fn a_flat_manifest_lies_beside_the_kernels_of_its_folders() {
    let scratch = Scratch::of("script");
    scratch.apply(
        "-- src/backends/cuda/laya.backend.json --\n\
         {\"name\": \"laya\", \"abi_version\": 1, \"status\": \"validated\", \"sources\": [\"ops.h\", \"kernels/a.cu\"],\n\
          \"models\": [\"src/models/user/\"], \"numerics\": {\"tolerance\": {\"max_abs\": 0.002}},\n\
          \"reference\": {\"entrypoint\": \"recipe/check.py\"},\n\
          \"build\": {\"script\": \"build.sh\", \"output\": \"liblaya.so\", \"architectures\": [90]}}\n\
         -- src/backends/cuda/ops.h --\n#define LAYA_ABI_VERSION 1\n\
         -- src/backends/cuda/kernels/a.cu --\n// kernel\n\
         -- src/backends/cuda/build.sh mode=755 --\narch=${2:-90}\n\
         nvcc -gencode \"arch=compute_${arch}\" -o \"$1/liblaya.so\" kernels/*.cu\n",
    );
    assert_eq!(findings(&scratch.root), [""; 0]);
    assert_eq!(contract::check(&scratch.root).backends.len(), 2);
}

#[test]
fn build_output_and_hidden_directories_are_no_part_of_a_tree() {
    let scratch = Scratch::of("workspace");
    for dir in ["target", "crates/good-one/target", ".git", ".hidden"] {
        scratch.write(&format!("{dir}/bad.backend.json"), "{");
        scratch.write(&format!("{dir}/lost.cu"), "");
    }
    assert_eq!(findings(&scratch.root), [""; 0]);
}

#[test]
fn backends_whose_macros_differ_may_differ() {
    let scratch = Scratch::of("script");
    scratch.apply(
        "-- src/backends/cuda/two/two.backend.json --\n\
         {\"name\": \"two\", \"abi_version\": 1, \"status\": \"planned\", \"sources\": [\"a.cu\"],\n\
          \"build\": {\"script\": \"b.sh\", \"output\": \"l.so\", \"architectures\": [90]}}\n\
         -- src/backends/cuda/two/a.cu --\n#define TWO_ABI_VERSION 1\n",
    );
    assert_eq!(findings(&scratch.root), [""; 0]);
}

/// Every pointer of a value.
fn pointers(value: &Value, pointer: String, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, value) in children {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(value, format!("{pointer}/{key}"), found);
    }
    found.push(pointer);
}

#[test]
fn a_wrong_type_anywhere_is_an_error_and_never_a_panic() {
    let wrong = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("\u{0}"),
        json!([]),
        json!({}),
    ];
    for (base, path) in [
        ("workspace", WORKSPACE),
        ("script", SCRIPT),
        ("workspace", EVIDENCE),
    ] {
        let scratch = Scratch::of(base);
        let sound: Value = serde_json::from_str(&scratch.text(path)).unwrap();
        let mut places = Vec::new();
        pointers(&sound, String::new(), &mut places);
        for place in places {
            for value in &wrong {
                let mut broken = sound.clone();
                let spot = broken.pointer_mut(&place).unwrap();
                if json_type(spot) == json_type(value) {
                    continue;
                }
                *spot = value.clone();
                scratch.write(path, broken.to_string());
                let report = contract::check(&scratch.root);
                let heard = report.findings.iter().any(|finding| {
                    finding.severity == Severity::Error || finding.code == "unknown-key"
                });
                // The older form's notes are free.
                assert!(
                    heard || place.ends_with("/note") || place.ends_with("/precision"),
                    "{path} {place} {value}"
                );
            }
        }
    }
}

fn json_type(value: &Value) -> std::mem::Discriminant<Value> {
    std::mem::discriminant(value)
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_never_a_panic() {
    for (base, path) in [
        ("workspace", WORKSPACE),
        ("script", SCRIPT),
        ("workspace", EVIDENCE),
    ] {
        let scratch = Scratch::of(base);
        let text = scratch.text(path);
        let text = text.trim_end();
        for end in (0..text.len()).step_by(7) {
            scratch.write(path, &text[..end]);
            let report = contract::check(&scratch.root);
            let errors = report
                .findings
                .iter()
                .filter(|f| f.severity == Severity::Error);
            assert!(errors.count() > 0, "{path} cut at {end}");
        }
    }
}
