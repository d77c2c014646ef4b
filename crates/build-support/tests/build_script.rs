//! Builds the fixture crate with cargo, as a dependent would.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Scratch, fixture_copy, toolkit};

/// The fixture as a package of its own, beside the workspace's lock file so that nothing is
/// looked up anew.
fn package(name: &str) -> Scratch {
    let scratch = fixture_copy(name);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(
        here.join("../../Cargo.lock"),
        scratch.0.join("fixture/Cargo.lock"),
    )
    .unwrap();
    scratch
}

/// Dependencies are compiled once for all of these tests, and between runs.
fn target_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixture")
}

fn cargo(scratch: &Scratch, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(arguments)
        .arg("--offline")
        .current_dir(scratch.0.join("fixture"));
    for name in [
        "NVCC",
        "CUDA_HOME",
        "CUDA_PATH",
        "DOCS_RS",
        "FIXTURE_LIB_DIR",
        "FIXTURE_CUDA_ARCHS",
    ] {
        command.env_remove(name);
    }
    command
        .env("CARGO_TARGET_DIR", target_dir())
        .envs(variables.iter().copied());
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]]
        .map(String::from_utf8_lossy)
        .concat()
}

/// What the program prints, or why it was not built.
fn run(scratch: &Scratch, features: &[&str], variables: &[(&str, &str)]) -> Result<String, String> {
    let arguments: Vec<&str> = ["run", "--quiet"]
        .into_iter()
        .chain(features.iter().copied())
        .collect();
    let output = cargo(scratch, &arguments, variables);
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(text(&output)),
    }
}

// One test: the builds share a directory, and cargo would make them wait for one another anyway.
#[test]
fn the_build_script_does_what_each_setting_asks_for() {
    let scratch = package("cargo");
    let cuda = ["--features", "cuda"];

    // Without the feature nothing is compiled, whatever the toolkit.
    assert_eq!(
        run(&scratch, &[], &[("NVCC", "/no/such/nvcc")]).unwrap(),
        "None"
    );
    // Under docs.rs neither.
    let docs = [("DOCS_RS", "1"), ("NVCC", "/no/such/nvcc")];
    assert_eq!(run(&scratch, &cuda, &docs).unwrap(), "None");

    let error = run(&scratch, &cuda, &[("NVCC", "/no/such/nvcc")]).unwrap_err();
    assert!(error.contains("error: fixture@0.1.0: fixture: the feature `cuda` needs the CUDA compiler, or FIXTURE_LIB_DIR"), "{error}");
    assert!(error.contains("NVCC is /no/such/nvcc"), "{error}");

    let empty = scratch.0.join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = [("FIXTURE_LIB_DIR", empty.to_str().unwrap())];
    let error = run(&scratch, &cuda, &empty).unwrap_err();
    assert!(
        error.contains("holds neither libfixture.so nor libfixture.a"),
        "{error}"
    );

    let Some(toolkit) = toolkit() else { return };
    let nvcc = toolkit.nvcc.to_str().unwrap();

    let error = run(
        &scratch,
        &cuda,
        &[("NVCC", nvcc), ("FIXTURE_CUDA_ARCHS", "sm_90")],
    )
    .unwrap_err();
    assert!(
        error.contains("FIXTURE_CUDA_ARCHS: architecture \"sm_90\""),
        "{error}"
    );

    let build = [("NVCC", nvcc), ("FIXTURE_CUDA_ARCHS", "90")];
    assert_eq!(run(&scratch, &cuda, &build).unwrap(), "Some(3)");

    // A header is part of the crate as far as cargo is concerned.
    let header = scratch.0.join("fixture/include/fixture.h");
    let edited = fs::read_to_string(&header)
        .unwrap()
        .replace("ABI_VERSION 3u", "ABI_VERSION 4u");
    fs::write(&header, edited).unwrap();
    assert_eq!(run(&scratch, &cuda, &build).unwrap(), "Some(4)");

    // The whole error of the compiler, behind one sentence.
    scratch.append("fixture/cuda/body.cuh", "int broken = undeclared_name;\n");
    let error = run(&scratch, &cuda, &build).unwrap_err();
    for part in [
        "fixture: nvcc failed on cuda/",
        "undeclared_name",
        "exit status",
        "command: ",
    ] {
        assert!(error.contains(part), "{part:?} is missing from {error}");
    }
}

#[test]
fn a_crate_without_links_is_refused() {
    let scratch = package("links");
    let manifest = scratch.0.join("fixture/Cargo.toml");
    let without = fs::read_to_string(&manifest)
        .unwrap()
        .replace("links = \"fixture\"\n", "");
    fs::write(&manifest, without).unwrap();
    let error = run(&scratch, &[], &[]).unwrap_err();
    assert!(error.contains("must say links = \"fixture\""), "{error}");
}
