//! The build script of every kernel crate.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

use crate::arch::{self, Arch};
use crate::error::Error;
use crate::jobs::Jobs;
use crate::manifest::Manifest;
use crate::nvcc::{self, Request};
use crate::toolkit::Toolkit;
use crate::{include_dir, sources};

/// All that a kernel crate's `build.rs` does.
///
/// Reads `<name>.backend.json` beside it. With the feature `cuda` it compiles the kernels and
/// links them in; without, or under docs.rs, it only declares. The crate sees the difference as
/// `cfg(kernels_built)`. `<NAME>_CUDA_ARCHS` ("90a,80") and `<NAME>_LIB_DIR` (a directory with a
/// library built elsewhere) are the user's say.
///
/// A crate that depends on this one finds `DEP_<LIBRARY>_ARCHS`, `DEP_<LIBRARY>_NVCC_VERSION` and
/// `DEP_<LIBRARY>_INCLUDE` in its own build script.
pub fn kernel_crate() {
    // Before anything else: it takes descriptors over that cargo left open.
    let jobs = Jobs::of_cargo();
    if let Err(error) = script(&jobs) {
        if let Some(detail) = &error.detail {
            eprintln!("{detail}");
        }
        println!("cargo::error={}", error.message);
        exit(1);
    }
}

fn script(jobs: &Jobs) -> Result<(), Error> {
    println!("cargo::rustc-check-cfg=cfg(kernels_built)");
    let crate_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let name = variable("CARGO_PKG_NAME")?;
    let manifest_path = crate_dir.join(format!("{name}.backend.json"));
    rerun_if_changed(&manifest_path);
    let manifest = Manifest::read(&manifest_path)?;
    if env::var("CARGO_MANIFEST_LINKS").ok().as_ref() != Some(&manifest.library) {
        return Err(Error::input(format!(
            "{name}: Cargo.toml must say links = {:?}: two versions in one program would call each other's functions",
            manifest.library
        )));
    }
    println!(
        "cargo::metadata=include={}",
        crate_dir.join("include").display()
    );
    println!("cargo::rerun-if-env-changed=DOCS_RS");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() || env::var_os("DOCS_RS").is_some() {
        return Ok(());
    }
    refuse_other_systems(&name)?;
    let prefix = manifest.variable_prefix();
    let lib_dir = format!("{prefix}_LIB_DIR");
    println!("cargo::rerun-if-env-changed={lib_dir}");
    let target_arch = variable("CARGO_CFG_TARGET_ARCH")?;
    match env::var_os(&lib_dir).filter(|dir| !dir.is_empty()) {
        Some(dir) => link_prebuilt(&manifest, &lib_dir, Path::new(&dir), &target_arch)?,
        None => compile(&manifest, &crate_dir, &target_arch, jobs)?,
    }
    println!("cargo::rustc-cfg=kernels_built");
    Ok(())
}

fn refuse_other_systems(name: &str) -> Result<(), Error> {
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => Ok(()),
        Ok(other) => Err(Error::environment(format!(
            "{name}: the feature `cuda` builds on Linux only, not on {other}; without it the oracle is there"
        ))),
        Err(_) => Err(Error::input(
            "CARGO_CFG_TARGET_OS is not set: this must run as a build script",
        )),
    }
}

fn link_prebuilt(
    manifest: &Manifest,
    variable: &str,
    dir: &Path,
    target_arch: &str,
) -> Result<(), Error> {
    let library = &manifest.library;
    let [shared, archive] = ["so", "a"].map(|end| dir.join(format!("lib{library}.{end}")));
    if shared.is_file() {
        rerun_if_changed(&shared);
        search(dir);
        println!("cargo::rustc-link-lib=dylib={library}");
        return Ok(());
    }
    if archive.is_file() {
        rerun_if_changed(&archive);
        search(dir);
        println!("cargo::rustc-link-lib=static={library}");
        return link_cudart(&Toolkit::find()?.library_dir(target_arch)?);
    }
    Err(Error::environment(format!(
        "{variable} is {}, which holds neither lib{library}.so nor lib{library}.a",
        dir.display()
    )))
}

fn compile(
    manifest: &Manifest,
    crate_dir: &Path,
    target_arch: &str,
    jobs: &Jobs,
) -> Result<(), Error> {
    let archs_variable = format!("{}_CUDA_ARCHS", manifest.variable_prefix());
    let watched = [
        "NVCC",
        "CUDA_HOME",
        "CUDA_PATH",
        "PATH",
        "CC",
        "AR",
        &archs_variable,
    ];
    for name in watched.iter().chain(nvcc::VARIABLES) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let shared_include = include_dir();
    let mut watched = BTreeSet::from([crate_dir.join(&manifest.header)]);
    watched.extend(manifest.sources.iter().map(|source| crate_dir.join(source)));
    // Before the compiler runs, so that a header that fails to compile is watched too.
    let scanned = sources::files(crate_dir, manifest, &shared_include);
    watched.extend(scanned.iter().flatten().cloned());
    watched.iter().for_each(|path| rerun_if_changed(path));
    scanned?;

    let archs = match env::var(&archs_variable)
        .ok()
        .filter(|list| !list.trim().is_empty())
    {
        Some(list) => requested(&archs_variable, &list)?,
        None => manifest.dependent_architectures()?,
    };
    let toolkit = Toolkit::find().map_err(|error| {
        let lib_dir = format!("{}_LIB_DIR", manifest.variable_prefix());
        Error::environment(format!(
            "{}: the feature `cuda` needs the CUDA compiler, or {lib_dir} with a library built elsewhere: {}",
            manifest.name, error.message
        ))
    })?;
    if let Some(warning) = &toolkit.warning {
        println!("cargo::warning={warning}; using {}", toolkit.nvcc.display());
    }
    rerun_if_changed(&toolkit.nvcc);
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let library = nvcc::build(&Request {
        crate_dir,
        manifest,
        shared_include: &shared_include,
        toolkit: &toolkit,
        archs: &archs,
        out_dir: &out_dir,
        shared_library: false,
        warnings_are_errors: false,
        target_arch,
        jobs,
        observer: &|_, _| {},
    })?;
    let compiled_from = library.units.iter().flat_map(|unit| &unit.dependencies);
    compiled_from
        .filter(|path| !watched.contains(*path))
        .for_each(|path| rerun_if_changed(path));
    println!("cargo::metadata=archs={}", library.info.archs.join(","));
    println!("cargo::metadata=nvcc_version={}", library.info.nvcc);
    search(&out_dir);
    println!("cargo::rustc-link-lib=static={}", manifest.library);
    link_cudart(&toolkit.library_dir(target_arch)?)
}

fn requested(variable: &str, list: &str) -> Result<Vec<Arch>, Error> {
    let names: Vec<&str> = list
        .split([',', ';', ' '])
        .filter(|name| !name.is_empty())
        .collect();
    arch::parse_list(&names).map_err(|e| Error::input(format!("{variable}: {}", e.message)))
}

/// Named to the final link and not bundled: several kernel crates in a program share one.
fn link_cudart(dir: &Path) -> Result<(), Error> {
    search(dir);
    println!("cargo::rustc-link-lib=static:-bundle=cudart_static");
    for library in ["dl", "rt", "pthread", "m"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
    Ok(())
}

fn search(dir: &Path) {
    println!("cargo::rustc-link-search=native={}", dir.display());
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn variable(name: &str) -> Result<String, Error> {
    env::var(name).map_err(|_| {
        Error::input(format!(
            "{name} is not set: this must run as a build script"
        ))
    })
}
