//! The command line: help, exit codes, documents, and the commands that read and write trees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use contract::evidence::{Case, Class, Evidence, Expected, KnownBad, Outcome};
use serde_json::Value;

/// A directory of its own below the system's temporary one, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("xtask-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(fs::canonicalize(dir).unwrap())
    }

    /// A tree with one scaffolded backend, `vec-scale`.
    fn scaffolded() -> Self {
        let scratch = Self::new();
        let output = xtask(&["new", "vec-scale", "--root", scratch.path()]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        scratch
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let path = self.0.join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{old:?} is not in {}", path.display());
        fs::write(path, text.replace(old, new)).unwrap();
    }

    /// Makes the scaffold a validated backend with current evidence.
    fn validate(&self) {
        self.replace(MANIFEST, "planned", "validated");
        self.replace(
            MANIFEST,
            "\"entry_points\"",
            "\"reference\": {\"entrypoint\": \"crates/vec-scale/src/oracle.rs\"},\n  \
             \"cases\": {\"parity\": [\"one\"]},\n  \"evidence\": \"docs/evidence/vec-scale\",\n  \"entry_points\"",
        );
        let dir = self.0.join("crates/vec-scale");
        // The headers that the kernels include lie in this workspace.
        let shared =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/build-support/include/ck");
        let copy = self.0.join("crates/build-support/include/ck");
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(shared).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
        let manifest =
            serde_json::from_str(&fs::read_to_string(self.0.join(MANIFEST)).unwrap()).unwrap();
        let expected = Expected::of(&self.0, &dir, &manifest).unwrap();
        let evidence = Evidence {
            schema_version: 1,
            backend: manifest.name,
            class: Class::Gpu,
            abi_version: 1,
            numerics_version: 1,
            gpu: "NVIDIA H200".into(),
            capability: "9.0".into(),
            driver: "580.65.06".into(),
            nvcc: "13.0.88".into(),
            archs: vec!["90".into()],
            commit: "unknown".into(),
            dirty: false,
            seed: 1,
            sources: expected.sources,
            rust: expected.rust,
            flags: expected.flags,
            file_flags: expected.file_flags,
            cases: vec![Case {
                id: "one".into(),
                path: "automatic".into(),
                status: Outcome::Pass,
                worst_error: 0.0,
                tolerance: 0.0,
                outputs_compared: 1,
            }],
            sanitizer: [].into(),
            known_bad: vec![KnownBad {
                name: "no-op".into(),
                caught: true,
            }],
            bench: Vec::new(),
            generated_at: "2025-09-01T12:00:00Z".into(),
            body_sha256: String::new(),
        };
        let path = self.0.join("docs/evidence/vec-scale/nvidia-h200.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, evidence.render().unwrap()).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MANIFEST: &str = "crates/vec-scale/vec-scale.backend.json";

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        // Help is wrapped to the terminal's width.
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The document on stdout, which must hold nothing else.
fn document(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

fn codes(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect()
}

#[test]
fn help_is_as_documented() {
    let commands = [
        "",
        "check-contract",
        "discover",
        "compile",
        "simulate",
        "gpu-parity",
        "bench",
        "codegen",
        "bundle",
        "new",
        "ci",
    ];
    for command in commands {
        let arguments: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let output = xtask(&arguments);
        assert_eq!(code(&output), 0, "{command}");
        let name = if command.is_empty() { "xtask" } else { command };
        insta::assert_snapshot!(format!("help_{name}"), stdout(&output));
    }
}

#[test]
fn without_a_command_help_is_printed_and_the_usage_is_wrong() {
    let output = xtask(&[]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("Usage: cargo xtask"));
    for arguments in [
        &["no-such-command"][..],
        &["new"],
        &["check-contract", "--rot", "."],
        &["--format", "xml", "ci"],
    ] {
        assert_eq!(code(&xtask(arguments)), 2, "{arguments:?}");
    }
}

#[test]
fn a_scaffold_passes_the_contract_as_planned() {
    let scratch = Scratch::scaffolded();
    let output = xtask(&[
        "check-contract",
        "--root",
        scratch.path(),
        "--format",
        "json",
    ]);
    assert_eq!(code(&output), 0);
    let document = document(&output);
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["ok"], true);
    assert_eq!(document["findings"], Value::Array(vec![]));
    assert_eq!(document["backends"][0]["name"], "vec-scale");
    assert_eq!(document["backends"][0]["status"], "planned");
    assert_eq!(document["backends"][0]["path"], MANIFEST);
}

#[test]
fn a_scaffold_keeps_every_rule_of_an_experimental_backend_too() {
    let scratch = Scratch::scaffolded();
    scratch.replace(MANIFEST, "planned", "experimental");
    let output = xtask(&["check-contract", "--root", scratch.path()]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).contains("vec-scale: experimental"));
    assert!(stdout(&output).contains("1 backend, 0 errors, 0 stale, 0 warnings"));
}

#[test]
fn a_scaffolds_kernels_compile_for_the_simulator() {
    let scratch = Scratch::scaffolded();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let dir = scratch.0.join("crates/vec-scale");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let output = Command::new(&compiler)
        .args([
            "-x",
            "c++",
            "-std=c++17",
            "-fsyntax-only",
            "-Wall",
            "-Werror",
            "-DCK_SIM=1",
        ])
        .arg("-I")
        .arg(dir.join("include"))
        .arg("-I")
        .arg(dir.join("cuda"))
        .arg("-I")
        .arg(crates.join("build-support/include"))
        .arg("-I")
        .arg(crates.join("simulator/include"))
        .arg(dir.join("cuda/vec_scale.cu"))
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn names_that_cannot_be_are_refused_and_nothing_is_written() {
    let scratch = Scratch::scaffolded();
    let taken = ["vec-scale"];
    for name in [
        "", "Vec", "vec_add", "-vec", "vec--add", "vec-", "1vec", "../vec", "vec add", "match",
        "std",
    ]
    .iter()
    .chain(&taken)
    {
        let output = xtask(&["new", "--root", scratch.path(), "--", name]);
        assert_eq!(code(&output), 2, "{name:?}");
    }
    let output = xtask(&["new", "vecscale", "--root", scratch.path()]);
    assert_eq!(code(&output), 2, "its prefix is taken");
    assert!(stderr(&output).contains("--prefix"));
    let crates = fs::read_dir(scratch.0.join("crates")).unwrap();
    assert_eq!(crates.count(), 1);
    let output = xtask(&[
        "new",
        "vecscale",
        "--prefix",
        "vs",
        "--root",
        scratch.path(),
    ]);
    assert_eq!(code(&output), 0);
    assert_eq!(
        code(&xtask(&["check-contract", "--root", scratch.path()])),
        0
    );
    assert_eq!(code(&xtask(&["new", "x", "--root", "/no/such/place"])), 1);
}

#[test]
fn check_contract_ends_with_1_for_an_error() {
    let scratch = Scratch::scaffolded();
    fs::write(scratch.0.join(MANIFEST), "{not json").unwrap();
    let output = xtask(&[
        "--format",
        "json",
        "check-contract",
        "--root",
        scratch.path(),
    ]);
    assert_eq!(code(&output), 1);
    let document = document(&output);
    assert_eq!(
        (&document["ok"], codes(&document)),
        (&Value::Bool(false), vec!["manifest-not-json"])
    );
    assert_eq!(document["findings"][0]["severity"], "error");
    let output = xtask(&["check-contract", "--root", "/no/such/place"]);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("error[root-missing]"));
}

#[test]
fn check_contract_ends_with_0_for_warnings_alone() {
    let scratch = Scratch::new();
    let output = xtask(&[
        "check-contract",
        "--root",
        scratch.path(),
        "--format",
        "json",
    ]);
    assert_eq!(code(&output), 0);
    let document = document(&output);
    assert_eq!(
        (&document["ok"], codes(&document)),
        (&Value::Bool(true), vec!["no-backends"])
    );
}

#[test]
fn check_contract_ends_with_3_for_stale_evidence_and_1_where_an_error_joins_it() {
    let scratch = Scratch::scaffolded();
    scratch.validate();
    let check = || {
        xtask(&[
            "check-contract",
            "--root",
            scratch.path(),
            "--format",
            "json",
        ])
    };
    let output = check();
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert_eq!(
        document(&output)["backends"][0]["evidence"][0]["state"],
        "current"
    );

    let kernel = "crates/vec-scale/cuda/vec_scale.cuh";
    scratch.replace(
        kernel,
        "__fmul_rn(in[i], factor)",
        "__fmul_rn(factor, in[i])",
    );
    let output = check();
    assert_eq!(code(&output), 3);
    let document = document(&output);
    assert_eq!(
        (&document["ok"], codes(&document)),
        (
            &Value::Bool(false),
            vec!["evidence-sanitizer-skipped", "evidence-stale"]
        )
    );
    assert_eq!(document["backends"][0]["evidence"][0]["state"], "stale");

    fs::write(scratch.0.join("crates/vec-scale/cuda/more.cu"), "").unwrap();
    assert_eq!(code(&check()), 1);
    fs::remove_file(scratch.0.join("crates/vec-scale/cuda/more.cu")).unwrap();
    scratch.replace(
        kernel,
        "__fmul_rn(factor, in[i])",
        "__fmul_rn(in[i], /* as before */ factor)",
    );
    assert_eq!(code(&check()), 0);
    let evidence = "docs/evidence/vec-scale/nvidia-h200.json";
    scratch.replace(
        evidence,
        "\"outputs_compared\": 1",
        "\"outputs_compared\": 2",
    );
    assert_eq!(code(&check()), 1);
}

#[test]
fn discover_prints_the_matrix_and_nothing_else() {
    let scratch = Scratch::scaffolded();
    scratch.replace(MANIFEST, "planned", "experimental");
    assert_eq!(code(&xtask(&["new", "later", "--root", scratch.path()])), 0);
    let output = xtask(&["discover", "--root", scratch.path()]);
    assert_eq!(code(&output), 0);
    let matrix = document(&output);
    assert_eq!(stdout(&output).lines().count(), 1);
    let entries = matrix["include"].as_array().unwrap();
    assert_eq!(entries.len(), 7);
    for entry in entries {
        assert!(entry.as_object().unwrap().values().all(Value::is_string));
        assert_eq!(
            (&entry["name"], &entry["output"]),
            (&"vec-scale".into(), &"libvec_scale.so".into())
        );
    }
    assert_eq!(stderr(&output), "later left out: it is only planned\n");
    let github = xtask(&["discover", "--root", scratch.path(), "--github"]);
    assert_eq!(stdout(&github), format!("matrix={}", stdout(&output)));
    let json = xtask(&["discover", "--root", scratch.path(), "--format", "json"]);
    assert_eq!(stdout(&json), stdout(&output));
}

#[test]
fn discover_leaves_out_what_has_errors_and_says_why() {
    let scratch = Scratch::scaffolded();
    fs::write(scratch.0.join(MANIFEST), "[]").unwrap();
    let output = xtask(&["discover", "--root", scratch.path()]);
    assert_eq!(code(&output), 0);
    assert_eq!(stdout(&output), "{\"include\":[]}\n");
    assert!(stderr(&output).contains("vec-scale left out: its contract has errors: [wrong-type]"));
    assert_eq!(code(&xtask(&["discover", "--root", "/no/such/place"])), 1);
}
