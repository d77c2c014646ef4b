//! `compile` over a small workspace with one kernel crate: the fixture of build-support.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Removed at the end.
struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}

/// The compiler that `cargo xtask compile` installed, with the readers of machine code. What a
/// machine has instead serves as well, but only this one's resources are locked.
fn nvcc() -> Option<PathBuf> {
    let target = repository().join("target");
    let nvcc = target.join("cuda-toolkit/nvidia/cu13/bin/nvcc");
    let found = nvcc.is_file() && target.join("tools/inspector").is_dir();
    if !found {
        eprintln!("not checked: `cargo xtask compile` has not installed a compiler here");
    }
    found.then_some(nvcc)
}

impl Tree {
    fn new() -> Tree {
        let root = std::env::temp_dir().join(format!("xtask-compile-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let repository = repository();
        let build_support = repository.join("crates/build-support");
        copy(
            &build_support.join("tests/fixture"),
            &root.join("crates/fixture"),
        );
        fs::create_dir_all(root.join("crates/build-support/include")).unwrap();
        fs::create_dir_all(root.join("ci")).unwrap();
        for file in ["Cargo.lock", "ci/toolkit.lock"] {
            fs::copy(repository.join(file), root.join(file)).unwrap();
        }
        fs::create_dir_all(root.join("target")).unwrap();
        std::os::unix::fs::symlink(repository.join("target/tools"), root.join("target/tools"))
            .unwrap();
        let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/fixture\"]\n";
        fs::write(root.join("Cargo.toml"), workspace).unwrap();

        let tree = Tree(root);
        let dir = tree.0.join("crates/fixture");
        for name in ["Cargo.toml", "fixture.backend.json"] {
            fs::rename(dir.join(format!("{name}.in")), dir.join(name)).unwrap();
        }
        tree.replace("Cargo.toml", "\n[workspace]\n", "");
        tree.replace(
            "Cargo.toml",
            "@BUILD_SUPPORT@",
            build_support.to_str().unwrap(),
        );
        tree
    }

    /// Edits a file of the crate.
    fn replace(&self, name: &str, old: &str, new: &str) {
        let path = self.0.join("crates/fixture").join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{old:?} is not in {name}");
        fs::write(path, text.replace(old, new)).unwrap();
    }

    fn compile(&self, nvcc: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["--format", "json", "compile"])
            .args(arguments)
            .current_dir(&self.0)
            .env("NVCC", nvcc)
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile"),
            )
            .env("CARGO_NET_OFFLINE", "true")
            // It names the workspace of the test, not the one to compile.
            .env_remove("CARGO_MANIFEST_DIR")
            .output()
            .unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Code and message of every finding.
fn findings(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = document["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| (text(&finding["code"]), text(&finding["message"])))
        .collect()
}

#[test]
fn a_library_is_held_to_its_manifest_header_bindings_and_lock() {
    let Some(nvcc) = nvcc() else { return };
    let tree = Tree::new();

    // The lock is the only thing that is missing.
    let output = tree.compile(&nvcc, &["--arch", "90"]);
    let first = document(&output);
    let found = findings(&first);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "compile-resources");
    assert!(found[0].1.contains("cargo xtask codegen"), "{found:?}");
    assert_eq!(output.status.code(), Some(1));
    let backend = &first["backends"][0];
    assert_eq!(backend["architectures"], serde_json::json!(["90"]));
    assert_eq!(backend["ptx"], serde_json::json!(["90"]));
    assert_eq!(backend["kernels"], 2);
    for file in [
        "libfixture.so",
        "libfixture.so.3",
        "libfixture.a",
        "fixture.h",
    ] {
        assert!(
            tree.0.join("target/dist/fixture").join(file).is_file(),
            "{file}"
        );
    }

    let again = document(&tree.compile(&nvcc, &["--arch", "90"]));
    assert_eq!(again["backends"][0]["changed"], false);

    // A lock without the kernels, bindings without a function, a manifest with another number.
    let lock = "{\"nvcc\": \"13.0.88\", \"units\": {}}";
    fs::write(tree.0.join("crates/fixture/resources.lock.json"), lock).unwrap();
    tree.replace("src/ffi.rs", "fx_offset", "fx_shift");
    tree.replace(
        "fixture.backend.json",
        "\"abi_version\": 3",
        "\"abi_version\": 4",
    );
    let found = findings(&document(&tree.compile(&nvcc, &["--arch", "90"])));
    let count = |code: &str, part: &str| {
        found
            .iter()
            .filter(|(c, message)| c == code && message.contains(part))
            .count()
    };
    assert_eq!(
        count("compile-resources", "is not in the lock"),
        2,
        "{found:?}"
    );
    assert_eq!(
        count(
            "compile-symbols",
            "fx_offset, which src/ffi.rs does not have"
        ),
        1,
        "{found:?}"
    );
    assert_eq!(
        count("compile-symbols", "src/ffi.rs has fx_shift"),
        1,
        "{found:?}"
    );
    assert_eq!(
        count("compile-abi", "answers ABI version 3, the manifest says 4"),
        1,
        "{found:?}"
    );
    assert_eq!(found.len(), 5, "{found:?}");

    // A kernel that keeps an array in memory.
    tree.replace(
        "cuda/body.cuh",
        "operation(row[threadIdx.x ^ 0])",
        "stacked(row, index, count)",
    );
    tree.replace(
        "cuda/body.cuh",
        "template <typename Operation>",
        "static __device__ float stacked(const float* row, int index, int count) {\n  \
           float kept[64];\n  for (int i = 0; i < count; ++i) kept[i & 63] = row[i & 127];\n  \
           return kept[index & 63] + kept[count & 63];\n}\n\ntemplate <typename Operation>",
    );
    let found = findings(&document(&tree.compile(&nvcc, &["--arch", "90"])));
    assert!(
        found.iter().any(|(code, _)| code == "compile-spills"),
        "{found:?}"
    );
}

#[test]
fn what_cannot_be_compiled_is_said_before_work_starts() {
    let Some(nvcc) = nvcc() else { return };
    let root = std::env::temp_dir().join(format!("xtask-usage-{}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("ci")).unwrap();
    fs::copy(
        repository().join("ci/toolkit.lock"),
        root.join("ci/toolkit.lock"),
    )
    .unwrap();
    let tree = Tree(root);
    let code = |nvcc: &Path, arguments: &[&str]| {
        let output = tree.compile(nvcc, arguments);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (unknown, words) = code(&nvcc, &["--backend", "absent"]);
    assert_eq!(unknown, Some(2), "{words}");
    assert!(words.contains("no backend is called \"absent\""), "{words}");
    let (arch, words) = code(&nvcc, &["--arch", "90b"]);
    assert_eq!(arch, Some(2), "{words}");
    let (compiler, words) = code(Path::new("/no/such/nvcc"), &[]);
    assert_eq!(compiler, Some(4), "{words}");
    assert!(words.contains("NVCC is /no/such/nvcc"), "{words}");
}
