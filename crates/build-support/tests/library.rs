//! Builds the fixture crate's library with the real compiler. Without one each test says so.

mod common;

use std::fs;
use std::process::Command;
use std::sync::Mutex;

use build_support::nvcc::{self, Request, Step};
use build_support::{Arch, Jobs, Manifest, include_dir};
use common::{Scratch, fixture_copy, toolkit};

#[derive(Debug)]
struct Outcome {
    library: nvcc::Library,
    steps: Vec<(String, Step)>,
}

fn build(scratch: &Scratch, archs: &str) -> Result<Outcome, build_support::Error> {
    let toolkit = toolkit().expect("callers have asked");
    let crate_dir = scratch.0.join("fixture");
    let manifest = Manifest::of_crate(&crate_dir, "fixture")?;
    let archs: Vec<Arch> = archs.split(',').map(|a| a.parse().unwrap()).collect();
    let steps = Mutex::new(Vec::new());
    let library = nvcc::build(&Request {
        crate_dir: &crate_dir,
        manifest: &manifest,
        shared_include: &include_dir(),
        toolkit: &toolkit,
        archs: &archs,
        out_dir: &scratch.0.join("out"),
        shared_library: true,
        warnings_are_errors: true,
        target_arch: std::env::consts::ARCH,
        jobs: &Jobs::of_machine(),
        observer: &|source, step| steps.lock().unwrap().push((source.to_owned(), step)),
    })?;
    Ok(Outcome {
        library,
        steps: steps.into_inner().unwrap(),
    })
}

fn compiled(outcome: &Outcome) -> Vec<&str> {
    let compiled = outcome
        .steps
        .iter()
        .filter(|(_, step)| *step == Step::Compiled);
    compiled.map(|(source, _)| source.as_str()).collect()
}

fn tool(program: &str, arguments: &[&str], file: &std::path::Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_library_exports_its_header_and_needs_no_cpp_runtime() {
    let Some(_) = toolkit() else { return };
    let scratch = fixture_copy("exports");
    let library = build(&scratch, "90").unwrap().library;
    let shared = library.shared_library.unwrap();
    let exported = tool("nm", &["-D", "--defined-only", "--format=posix"], &shared);
    let exported: Vec<&str> = exported
        .lines()
        .map(|l| l.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        exported,
        [
            "fx_abi_version",
            "fx_build_info",
            "fx_error_string",
            "fx_offset",
            "fx_scale"
        ]
    );
    let dynamic = tool("readelf", &["-d"], &shared);
    assert!(dynamic.contains("[libfixture.so.3]"), "{dynamic}");
    assert!(
        !dynamic.contains("libstdc++") && !dynamic.contains("libcudart"),
        "{dynamic}"
    );
    let bytes = fs::read(&shared).unwrap();
    let info = library.info.to_json();
    assert!(
        bytes
            .windows(info.len())
            .any(|window| window == info.as_bytes()),
        "{info}"
    );
    assert_eq!(library.info.abi, 3);
    assert_eq!(
        library.info.file_flags["cuda/offset.cu"],
        ["--maxrregcount=32"]
    );
    let sources: Vec<&str> = library.info.sources.keys().map(String::as_str).collect();
    let own = [
        "cuda/body.cuh",
        "cuda/offset.cu",
        "cuda/scale.cu",
        "include/fixture.h",
    ];
    assert_eq!(
        sources,
        own.map(|source| format!("crates/fixture/{source}"))
    );
    assert!(
        library.units[0].log.contains("0 bytes spill stores"),
        "{}",
        library.units[0].log
    );
}

#[test]
fn only_what_changed_is_compiled_again() {
    let Some(_) = toolkit() else { return };
    let scratch = fixture_copy("incremental");
    assert_eq!(compiled(&build(&scratch, "90").unwrap()).len(), 2);

    let again = build(&scratch, "90").unwrap();
    assert!(
        !again.library.changed && compiled(&again).is_empty(),
        "{:?}",
        again.steps
    );

    scratch.append("fixture/cuda/scale.cu", "// another line\n");
    let digests = again.library.info.sources.clone();
    let edited = build(&scratch, "90").unwrap();
    assert_eq!(compiled(&edited), ["cuda/scale.cu"]);
    assert_eq!(edited.library.info.sources, digests);

    scratch.append(
        "fixture/cuda/body.cuh",
        "namespace fixture { struct Token; }\n",
    );
    let edited = build(&scratch, "90").unwrap();
    assert_eq!(compiled(&edited).len(), 2);
    assert_ne!(edited.library.info.sources, digests);
    let headers = &edited.library.units[0].dependencies;
    assert!(
        headers.iter().any(|path| path.ends_with("cuda/body.cuh")),
        "{headers:?}"
    );

    assert_eq!(compiled(&build(&scratch, "90a").unwrap()).len(), 2);

    fs::remove_file(scratch.0.join("out/libfixture.so")).unwrap();
    assert!(build(&scratch, "90a").unwrap().library.changed);
}

#[test]
fn the_whole_error_of_the_compiler_is_shown() {
    let Some(_) = toolkit() else { return };
    let scratch = fixture_copy("error");
    scratch.append("fixture/cuda/scale.cu", "int broken = undeclared_name;\n");
    let error = build(&scratch, "90").unwrap_err();
    assert_eq!(error.kind, build_support::Kind::Build);
    let text = error.to_string();
    for part in [
        "fixture: nvcc failed on cuda/scale.cu",
        "command: ",
        "exit status",
        "undeclared_name",
    ] {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
    // What failed is tried again, and not taken for up to date.
    assert!(build(&scratch, "90").is_err());
}

#[test]
fn an_architecture_that_nvcc_does_not_know_is_refused_before_it_runs() {
    let Some(_) = toolkit() else { return };
    let scratch = fixture_copy("arch");
    let error = build(&scratch, "90,999").unwrap_err();
    assert!(
        error.message.starts_with("architecture 999: nvcc "),
        "{error}"
    );
    assert!(!scratch.0.join("out").exists());
}

#[test]
fn a_function_that_is_declared_and_not_defined_is_no_export() {
    let Some(_) = toolkit() else { return };
    let scratch = fixture_copy("undefined");
    scratch.append("fixture/cuda/scale.cu", "extern \"C\" int fx_absent(void);\nextern \"C\" int fx_calls(void) { return fx_absent(); }\n");
    let error = build(&scratch, "90").unwrap_err();
    assert!(error.to_string().contains("fx_absent"), "{error}");
}
