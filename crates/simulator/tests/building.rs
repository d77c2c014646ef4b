//! Building a library: what is compiled again and what is not, and how it fails.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use simulator::{Error, Flavor, Library, build, build_library, library_of_crate};

/// A fresh directory with the files given.
fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("building")
        .join(name);
    let _ = std::fs::remove_dir_all(&root);
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn library(name: &str, root: &Path, units: &[&str]) -> Library {
    let units: Vec<PathBuf> = units.iter().map(|unit| root.join(unit)).collect();
    Library {
        name: name.to_owned(),
        prefix: "t".to_owned(),
        sources: units.clone(),
        units,
        include_dirs: vec![root.join("include")],
        root: root.to_owned(),
        build_info: None,
    }
}

fn output(name: &str) -> PathBuf {
    // Beside the test kernels' library, to share the objects of the runtime.
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sim")
        .join(name)
}

fn object_times(directory: &Path) -> Vec<(String, SystemTime)> {
    let mut times: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "o"))
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, entry.metadata().unwrap().modified().unwrap())
        })
        .collect();
    times.sort();
    times
}

#[test]
fn only_what_changed_is_compiled_again() {
    let root = tree(
        "incremental",
        &[
            (
                "one.cu",
                "#include <value.h>\nextern \"C\" int t_one() { return VALUE; }\n",
            ),
            ("two.cu", "extern \"C\" int t_two() { return 2; }\n"),
            ("include/value.h", "#define VALUE 1\n"),
        ],
    );
    let library = library("incremental", &root, &["one.cu", "two.cu"]);
    let directory = output("incremental");
    let _ = std::fs::remove_dir_all(&directory);
    let path = build_library(&library, Flavor::Plain, &directory).unwrap();
    let linked = std::fs::metadata(&path).unwrap().modified().unwrap();
    let before = object_times(&directory.join("plain"));
    assert_eq!(
        build_library(&library, Flavor::Plain, &directory).unwrap(),
        path
    );
    assert_eq!(object_times(&directory.join("plain")), before);
    assert_eq!(
        std::fs::metadata(&path).unwrap().modified().unwrap(),
        linked
    );

    // A header that one of them includes.
    std::fs::write(root.join("include/value.h"), "#define VALUE 7\n").unwrap();
    build_library(&library, Flavor::Plain, &directory).unwrap();
    let fresh: Vec<String> = object_times(&directory.join("plain"))
        .into_iter()
        .filter(|time| !before.contains(time))
        .map(|(name, _)| name)
        .collect();
    assert!(
        fresh.len() == 1 && fresh[0].starts_with("one-"),
        "{fresh:?}"
    );
    // SAFETY: the library has no initialisers with preconditions, and the function no arguments.
    let value = unsafe {
        let loaded = libloading::Library::new(&path).unwrap();
        let one: libloading::Symbol<'_, extern "C" fn() -> i32> = loaded.get(b"t_one").unwrap();
        one()
    };
    assert_eq!(value, 7);
}

#[test]
fn a_compiler_error_shows_the_command_and_all_that_it_printed() {
    let root = tree(
        "broken",
        &[("broken.cu", "int t_broken() { return undeclared; }\n")],
    );
    let library = library("broken", &root, &["broken.cu"]);
    let error = build_library(&library, Flavor::Plain, &output("broken")).unwrap_err();
    assert!(matches!(error, Error::Compiler { .. }), "{error}");
    let text = error.to_string();
    for part in ["broken.cu", "undeclared", "-ffp-contract=off", "error:"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let root = tree("missing", &[]);
    let library = library("missing", &root, &["nowhere.cu"]);
    let error = build_library(&library, Flavor::Plain, &output("missing")).unwrap_err();
    assert!(error.to_string().contains("nowhere.cu"), "{error}");
}

#[test]
fn a_crate_without_a_manifest_or_without_sources_is_an_error_that_says_so() {
    let root = tree("bare", &[("crates/bare/README.md", "")]);
    let error = build(&root.join("crates/bare"), Flavor::Plain).unwrap_err();
    assert!(error.to_string().contains("bare.backend.json"), "{error}");
    let error = build(&root.join("crates/gone"), Flavor::Plain).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");

    let manifest = r#"{"schema_version":1,"name":"bare","abi_version":1,"status":"planned",
        "prefix":"b","library":"bare","header":"include/bare.h","sources":["cuda/only.cuh"],
        "numerics_version":1,"build":{"architectures":["90"],"default_arch":"90"}}"#;
    std::fs::write(root.join("crates/bare/bare.backend.json"), manifest).unwrap();
    let error = library_of_crate(&root.join("crates/bare")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bare.backend.json: sources has no .cu file, so there is nothing to simulate"
    );
}
