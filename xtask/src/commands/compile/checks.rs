//! What must hold of a library that was compiled.

use std::ffi::{CStr, c_char};
use std::fs;
use std::path::Path;

use anyhow::Context;
use build_support::header;
use contract::{Finding, Severity};

use super::{Compiled, Target, Work, machine_code_twice};
use crate::artifact::library::{self, Face};
use crate::artifact::resources::{self, Lock};
use crate::artifact::{bindings, machine_code};
use crate::toolkit;

/// Every check.
pub fn all(work: &Work, target: &Target, compiled: &Compiled) -> anyhow::Result<Vec<Finding>> {
    let shared = compiled.shared_library(target);
    let face = library::read(&shared)?;
    let mut findings = symbols(target, &face)?;
    findings.extend(dependencies(target, &face));
    findings.extend(architectures(work, target, &shared)?);
    findings.extend(answers(target, compiled, &shared));
    findings.extend(spills(target, compiled));
    findings.extend(resources(work, target, compiled)?);
    findings.extend(machine_code_twice::check(work, target, compiled)?);
    Ok(findings)
}

/// The library, the header, the bindings and the manifest name the same functions.
fn symbols(target: &Target, face: &Face) -> anyhow::Result<Vec<Finding>> {
    let claimed = target.manifest.symbols();
    let header = target.crate_dir.join(&target.manifest.header);
    let text =
        fs::read_to_string(&header).with_context(|| format!("cannot read {}", header.display()))?;
    let declared = header::functions(&text, &target.manifest.prefix);
    let mut findings = Vec::new();
    let mut compare = |what: &str, names: &[String]| {
        for name in claimed.iter().filter(|name| !names.contains(name)) {
            let message = format!("the manifest names {name}, which {what} does not have");
            findings.push(target.finding("compile-symbols", "/entry_points", message));
        }
        for name in names.iter().filter(|name| !claimed.contains(name)) {
            let message = format!("{what} has {name}, which the manifest does not name");
            findings.push(target.finding("compile-symbols", "/entry_points", message));
        }
    };
    compare("the library", &face.exports);
    compare("the header", &declared);
    let ffi = target.crate_dir.join("src/ffi.rs");
    match fs::read_to_string(&ffi) {
        Ok(text) => compare("src/ffi.rs", &bindings::functions(&text)),
        Err(error) => findings.push(target.finding(
            "compile-symbols",
            "",
            format!("src/ffi.rs cannot be read ({error}); `cargo xtask codegen` writes it"),
        )),
    }
    Ok(findings)
}

/// The library is found by its ABI number and needs nothing that a user would have to install.
fn dependencies(target: &Target, face: &Face) -> Vec<Finding> {
    let mut findings = Vec::new();
    let soname = target.soname();
    if face.soname.as_ref() != Some(&soname) {
        let message = format!(
            "the library's SONAME is {:?}, must be {soname}",
            face.soname
        );
        findings.push(target.finding("compile-soname", "/abi_version", message));
    }
    for name in face
        .needed
        .iter()
        .filter(|name| !library::is_system_library(name))
    {
        let message = format!("the library needs {name}, which a machine without a toolkit lacks");
        findings.push(target.finding("compile-needed", "", message));
    }
    findings
}

/// The architectures asked for are inside, and no others.
fn architectures(work: &Work, target: &Target, shared: &Path) -> anyhow::Result<Vec<Finding>> {
    let inside = machine_code::list(&work.inspector, shared)?;
    let names = |archs: &[build_support::Arch]| archs.iter().map(|a| a.to_string()).collect();
    let wanted: Vec<String> = names(&target.archs);
    let ptx: Vec<String> = names(&build_support::arch::ptx(&target.archs));
    let mut findings = Vec::new();
    for (kind, wanted, found) in [
        ("machine code", wanted, inside.machine_code),
        ("PTX", ptx, inside.ptx),
    ] {
        let (mut a, mut b) = (wanted.clone(), found.clone());
        a.sort_unstable();
        b.sort_unstable();
        if a != b {
            let message = format!(
                "the library holds {kind} for {}, must hold it for {}",
                found.join(" "),
                wanted.join(" ")
            );
            findings.push(target.finding("compile-archs", "/build/architectures", message));
        }
    }
    Ok(findings)
}

/// The library loads on a machine without a driver, and says of itself what the build says.
fn answers(target: &Target, compiled: &Compiled, shared: &Path) -> Vec<Finding> {
    let prefix = &target.manifest.prefix;
    let loaded = |message: String| vec![target.finding("compile-load", "", message)];
    // SAFETY: the library was made a moment ago of this tree's sources; loading runs cudart's
    // constructors, which touch no device.
    let library = match unsafe { libloading::Library::new(shared) } {
        Ok(library) => library,
        Err(error) => return loaded(format!("{} does not load: {error}", shared.display())),
    };
    let mut findings = Vec::new();
    // SAFETY: the header declares this function so, and it takes no argument.
    let version = unsafe {
        library
            .get::<unsafe extern "C" fn() -> u32>(format!("{prefix}_abi_version"))
            .map(|function| function())
    };
    let claimed = target.manifest.abi_version;
    match version {
        Ok(version) if version == claimed => {}
        Ok(version) => findings.push(target.finding(
            "compile-abi",
            "/abi_version",
            format!("the library answers ABI version {version}, the manifest says {claimed}"),
        )),
        Err(error) => findings.extend(loaded(error.to_string())),
    }
    // SAFETY: the build defines this function; it returns a string literal of the library, which
    // stays loaded until this function ends.
    let info = unsafe {
        library
            .get::<unsafe extern "C" fn() -> *const c_char>(format!("{prefix}_build_info"))
            .map(|function| CStr::from_ptr(function()).to_string_lossy().into_owned())
    };
    match info {
        Ok(info) if info == compiled.library.info.to_json() => {}
        Ok(info) => findings.push(target.finding(
            "compile-build-info",
            "",
            format!("the library answers another build's information: {info}"),
        )),
        Err(error) => findings.extend(loaded(error.to_string())),
    }
    findings
}

/// No kernel keeps registers or arrays in memory.
fn spills(target: &Target, compiled: &Compiled) -> Vec<Finding> {
    let kernels = compiled
        .usage
        .iter()
        .flat_map(|(unit, all)| all.iter().map(move |k| (unit, k)));
    kernels
        .filter(|(_, kernel)| kernel.spills > 0 || kernel.stack > 0)
        .map(|(unit, kernel)| {
            let message = format!(
                "{unit}: {} spills {} bytes and has a stack of {} bytes on {}; both must be 0",
                kernel.kernel, kernel.spills, kernel.stack, kernel.arch
            );
            target.finding("compile-spills", "/sources", message)
        })
        .collect()
}

/// The resources are the locked ones, where the compiler is the one that the lock is from.
fn resources(work: &Work, target: &Target, compiled: &Compiled) -> anyhow::Result<Vec<Finding>> {
    let file = target.crate_dir.join(resources::FILE);
    let path = file
        .strip_prefix(&work.root)
        .unwrap_or(&file)
        .display()
        .to_string();
    let found = |severity, pointer: &str, message: String| {
        Finding::new(
            severity,
            "compile-resources",
            path.clone(),
            pointer,
            message,
        )
    };
    let built = compiled.lock();
    let pinned = toolkit::pinned_nvcc(&work.root)?;
    if built.nvcc != pinned {
        return Ok(Vec::new());
    }
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("cannot be read ({error}); `cargo xtask codegen` writes it");
            return Ok(vec![found(Severity::Error, "", message)]);
        }
    };
    let lock: Lock = match serde_json::from_str(&text) {
        Ok(lock) => lock,
        Err(error) => {
            return Ok(vec![found(
                Severity::Error,
                "",
                format!("is no lock: {error}"),
            )]);
        }
    };
    if lock.nvcc != pinned {
        let message = format!(
            "is from nvcc {}, ci/toolkit.lock pins {pinned}; `cargo xtask codegen` writes it anew",
            lock.nvcc
        );
        return Ok(vec![found(Severity::Error, "/nvcc", message)]);
    }
    let differences = lock.differences(&built, &compiled.library.info.archs);
    Ok(differences
        .into_iter()
        .map(|(at, message)| found(Severity::Error, &at, message))
        .collect())
}
