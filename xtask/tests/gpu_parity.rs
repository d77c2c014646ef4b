//! `gpu-parity` as its users meet it: exit codes and documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .output()
        .expect("xtask runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn has_gpu() -> bool {
    parity::Gpu::open(0).is_ok()
}

#[test]
fn a_required_gpu_that_is_not_there_is_exit_4_with_one_sentence() {
    if has_gpu() {
        return;
    }
    let output = xtask(&["gpu-parity", "--require-gpu"]);
    assert_eq!(code(&output), 4);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: no CUDA device: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn evidence_is_never_written_without_a_gpu() {
    if has_gpu() {
        return;
    }
    let file = std::env::temp_dir().join(format!("evidence-{}.json", std::process::id()));
    let path = file.to_string_lossy();
    let output = xtask(&["gpu-parity", "--backend", "scoring", "--evidence", &path]);
    assert_eq!(code(&output), 4);
    assert!(!file.exists());
}

#[test]
fn evidence_of_a_part_and_an_unknown_backend_are_usage_errors() {
    assert_eq!(code(&xtask(&["gpu-parity", "--evidence", "e.json"])), 2);
    let partial = [
        "gpu-parity",
        "--backend",
        "scoring",
        "--case",
        "x",
        "--evidence",
        "e.json",
    ];
    assert_eq!(code(&xtask(&partial)), 2);
    let output = xtask(&["--format", "json", "gpu-parity", "--backend", "nonsense"]);
    assert_eq!(code(&output), 2);
    assert_eq!(document(&output)["ok"], false);
}

/// A tree in the contract's older form with one validated backend, whose check ends with `code`.
struct OlderTree(PathBuf);

impl OlderTree {
    fn new(name: &str, check: &str) -> OlderTree {
        let root = std::env::temp_dir().join(format!("older-{name}-{}", std::process::id()));
        let dir = root.join("src/backends/cuda/norm");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("norm.cu"), "#define OMNI_ABI_VERSION 1\n").unwrap();
        let script = dir.join("build.sh");
        fs::write(
            &script,
            "#!/bin/sh\nnvcc -gencode arch=compute_89,code=sm_89 -o libnorm.so norm.cu\n",
        )
        .unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(root.join("check.py"), check).unwrap();
        let manifest = r#"{
            "name": "norm", "abi_version": 1, "status": "validated", "sources": ["norm.cu"],
            "build": {"script": "build.sh", "output": "libnorm.so", "architectures": [89],
                      "default_arch": 89, "min_capability": 89},
            "numerics": {"tolerance": {"abs": 0.001}},
            "reference": {"entrypoint": "check.py"}
        }"#;
        fs::write(dir.join("norm.backend.json"), manifest).unwrap();
        OlderTree(root)
    }

    fn run(&self, more: &[&str]) -> Output {
        let root = self.0.to_string_lossy().into_owned();
        let mut arguments = vec!["--format", "json", "gpu-parity", "--root", &root];
        arguments.extend(more);
        xtask(&arguments)
    }
}

impl Drop for OlderTree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_older_trees_check_passes_when_its_entrypoint_does() {
    let check = "import os\nassert os.environ['OMNI_BACKEND_NAME'] == 'norm'\n";
    let tree = OlderTree::new("pass", check);
    let output = tree.run(&["--require-gpu"]);
    let document = document(&output);
    assert_eq!(code(&output), 0, "{document:#}");
    assert_eq!(document["backends"][0]["gpu"], "pass");
}

#[test]
fn an_older_trees_check_that_fails_is_exit_1() {
    let tree = OlderTree::new("fail", "raise SystemExit(3)\n");
    let output = tree.run(&[]);
    assert_eq!(code(&output), 1);
    let document = document(&output);
    assert_eq!(document["backends"][0]["gpu"], "fail");
    assert_eq!(
        document["findings"][0]["message"],
        "check.py ended with code 3"
    );
}

#[test]
fn an_older_trees_check_without_a_gpu_is_no_pass() {
    let tree = OlderTree::new("none", "raise SystemExit(2)\n");
    let output = tree.run(&[]);
    assert_eq!(code(&output), 0);
    assert_eq!(document(&output)["backends"][0]["gpu"], "could_not_check");
    assert_eq!(code(&tree.run(&["--require-gpu"])), 4);
}

#[test]
fn a_tree_without_the_tools_backends_is_an_error_that_names_the_file() {
    let root = Path::new("/nowhere");
    let root = root.to_string_lossy();
    let output = xtask(&["gpu-parity", "--backend", "scoring", "--root", &root]);
    assert_eq!(code(&output), 1);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("crates/scoring/scoring.backend.json cannot be read"),
        "{stderr}"
    );
}
