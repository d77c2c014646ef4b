//! The one nvcc command line, and the libraries made with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::arch::{self, Arch};
use crate::error::Error;
use crate::info::BuildInfo;
use crate::jobs::Jobs;
use crate::link::Linker;
use crate::manifest::Manifest;
use crate::process::{create_dir, run, to_json, write, write_if_changed};
use crate::toolkit::Toolkit;
use crate::{closure, depfile, digest, header, sources};

/// What decides the machine code of every translation unit.
///
/// Optimisation is spelled out, since a debug profile must not change results. Exact code rounds
/// every operation through intrinsics; the arithmetic flags are the second belt to that. The host
/// flags keep the C++ runtime out of the library and its symbols hidden. Device assertions would
/// cost registers, so they are off.
pub const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "-fmad=false",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-Xptxas=-O3",
    "-Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-ffp-contract=off",
];

const EXPORT_HEADER: &str = "exports.h";

/// Variables that nvcc reads by itself.
pub const VARIABLES: &[&str] = &["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

/// One library to build.
pub struct Request<'a> {
    /// The kernel crate.
    pub crate_dir: &'a Path,
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// The directory that makes `<ck/...>` resolve.
    pub shared_include: &'a Path,
    /// The compiler.
    pub toolkit: &'a Toolkit,
    /// Machine code is made for each of these.
    pub archs: &'a [Arch],
    /// Where objects and libraries go. Kept between builds, it saves what need not run again.
    pub out_dir: &'a Path,
    /// Whether `lib<library>.so` is wanted beside `lib<library>.a`.
    pub shared_library: bool,
    /// Whether a warning fails the build: so in this workspace, but no newer compiler's new
    /// warning may break a dependent's build.
    pub warnings_are_errors: bool,
    /// The processor the host code is for: `x86_64` or `aarch64`.
    pub target_arch: &'a str,
    /// How many compilers may run at once.
    pub jobs: &'a Jobs,
    /// Told about every translation unit, from several threads.
    pub observer: &'a (dyn Fn(&str, Step) + Sync),
}

/// How far a translation unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its compiler starts.
    Started,
    /// Its compiler is done.
    Compiled,
    /// Nothing that it depends on has changed since it was compiled.
    Unchanged,
}

/// A library that was built.
#[derive(Debug)]
pub struct Library {
    /// For linking into a program, which then also needs cudart, dl, rt and pthread.
    pub static_library: PathBuf,
    /// For loading, if it was asked for.
    pub shared_library: Option<PathBuf>,
    /// What the library says of itself.
    pub info: BuildInfo,
    /// The translation units, in the manifest's order.
    pub units: Vec<Unit>,
    /// Whether anything had to be compiled or linked.
    pub changed: bool,
}

/// One compiled translation unit.
#[derive(Debug)]
pub struct Unit {
    /// Its name in the manifest.
    pub source: String,
    /// The object file.
    pub object: PathBuf,
    /// What the compiler printed: ptxas' account of registers, spills and barriers.
    pub log: String,
    /// Every file that went into it, but for those of the toolkit and the system.
    pub dependencies: Vec<PathBuf>,
}

/// What an object was made from; equal fingerprints need no compiler.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    nvcc: String,
    command: Vec<String>,
    variables: BTreeMap<String, String>,
    dependencies: BTreeMap<PathBuf, String>,
}

/// Compiles every translation unit of the manifest and archives and links the objects.
pub fn build(request: &Request) -> Result<Library, Error> {
    let manifest = request.manifest;
    request
        .toolkit
        .check(manifest.build.min_toolkit.as_deref(), request.archs)?;
    if request.archs.is_empty() {
        return Err(Error::input(format!(
            "{}: no architecture to compile for",
            manifest.name
        )));
    }
    let linker = Linker::find(request)?;
    let info = build_info(request)?;
    let objects = request.out_dir.join("obj");
    create_dir(&objects)?;
    let exports = exports(request)?;
    write_if_changed(&objects.join(EXPORT_HEADER), &export_header(request)?)?;

    let names: Vec<&str> = manifest.units().collect();
    if names.is_empty() {
        return Err(Error::input(format!(
            "{}: sources names no .cu file",
            manifest.name
        )));
    }
    let results: Vec<Result<(Unit, bool), Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = names
            .iter()
            .map(|source| scope.spawn(|| compile_unit(request, &objects, source)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let units = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    let compiled = units.iter().any(|(_, compiled)| *compiled);
    let units: Vec<Unit> = units.into_iter().map(|(unit, _)| unit).collect();

    let linked = linker.link(&info, &exports, &units, compiled)?;
    Ok(Library {
        static_library: linked.static_library,
        shared_library: linked.shared_library,
        info,
        units,
        changed: compiled || linked.changed,
    })
}

/// What the library that `request` asks for says of itself.
pub fn build_info(request: &Request) -> Result<BuildInfo, Error> {
    let manifest = request.manifest;
    let names = |archs: &[Arch]| archs.iter().map(Arch::to_string).collect();
    let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
    // They change the machine code as much as ours do, so they are part of the record.
    for name in ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"] {
        if let Some(value) = std::env::var(name).ok().filter(|value| !value.is_empty()) {
            flags.push(format!("{name}={value}"));
        }
    }
    Ok(BuildInfo {
        name: manifest.name.clone(),
        abi: manifest.abi_version,
        numerics_version: manifest.numerics_version,
        archs: names(request.archs),
        ptx: names(&arch::ptx(request.archs)),
        nvcc: request.toolkit.version.to_string(),
        flags,
        file_flags: manifest.build.flags.clone(),
        sources: sources::digests(request.crate_dir, manifest, request.shared_include)?,
    })
}

/// `--generate-code` for machine code of every architecture and PTX of the lowest and highest.
fn generate_code(archs: &[Arch]) -> Vec<String> {
    let ptx = arch::ptx(archs);
    archs
        .iter()
        .map(|arch| {
            let portable = if ptx.contains(arch) {
                format!("compute_{arch},")
            } else {
                String::new()
            };
            format!("--generate-code=arch=compute_{arch},code=[{portable}sm_{arch}]")
        })
        .collect()
}

/// The library's functions: what its header declares.
fn exports(request: &Request) -> Result<Vec<String>, Error> {
    let path = request.crate_dir.join(&request.manifest.header);
    let text = fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
    let mut exports = header::functions(&text, &request.manifest.prefix);
    exports.push(format!("{}_build_info", request.manifest.prefix));
    exports.sort_unstable();
    exports.dedup();
    Ok(exports)
}

/// Included before each unit: the header's functions stay visible in code that hides the rest,
/// and the header need not say so itself.
fn export_header(request: &Request) -> Result<String, Error> {
    let path = request.crate_dir.join(&request.manifest.header);
    Ok(format!(
        "#pragma GCC visibility push(default)\n#include \"{}\"\n#pragma GCC visibility pop\n",
        path.display()
    ))
}

fn compile_unit(request: &Request, objects: &Path, source: &str) -> Result<(Unit, bool), Error> {
    let stem = source.trim_end_matches(".cu").replace(['/', '\\'], "-");
    let object = objects.join(format!("{stem}.o"));
    let depfile = objects.join(format!("{stem}.d"));
    let log_file = objects.join(format!("{stem}.log"));
    let fingerprint_file = objects.join(format!("{stem}.json"));

    let mut command: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    let own_flags = request.manifest.build.flags.get(source);
    command.extend(own_flags.into_iter().flatten().map(OsString::from));
    command.extend(generate_code(request.archs).into_iter().map(OsString::from));
    for dir in sources::include_dirs(request.crate_dir, request.shared_include) {
        command.extend(["-I".into(), dir.into_os_string()]);
    }
    command.extend([
        "-include".into(),
        objects.join(EXPORT_HEADER).into_os_string(),
    ]);
    command.push("-Xptxas=-v".into());
    if request.warnings_are_errors {
        command.extend(["-Werror", "all-warnings"].map(OsString::from));
    }
    command.extend([
        "-c".into(),
        source.into(),
        "-o".into(),
        object.clone().into_os_string(),
    ]);
    command.extend(["-MD".into(), "-MF".into(), depfile.clone().into_os_string()]);

    let mut fingerprint = Fingerprint {
        nvcc: format!(
            "{} {}",
            request.toolkit.nvcc.display(),
            request.toolkit.version
        ),
        command: command
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        variables: VARIABLES
            .iter()
            .filter_map(|&name| Some((name.to_owned(), std::env::var(name).ok()?)))
            .collect(),
        dependencies: BTreeMap::new(),
    };
    if object.is_file() && unchanged(&fingerprint_file, &mut fingerprint) {
        (request.observer)(source, Step::Unchanged);
        let log = fs::read_to_string(&log_file).unwrap_or_default();
        let dependencies = fingerprint.dependencies.into_keys().collect();
        return Ok((
            Unit {
                source: source.to_owned(),
                object,
                log,
                dependencies,
            },
            false,
        ));
    }

    let _job = request.jobs.acquire();
    (request.observer)(source, Step::Started);
    // A failed or interrupted run must not leave an object that looks finished.
    let _ = fs::remove_file(&fingerprint_file);
    let started = SystemTime::now();
    let log = run(
        Command::new(&request.toolkit.nvcc)
            .args(&command)
            .current_dir(request.crate_dir),
        &format!("{}: nvcc failed on {source}", request.manifest.name),
    )?;
    let listed = fs::read_to_string(&depfile).map_err(|e| Error::io("read", &depfile, &e))?;
    fingerprint.dependencies = dependencies(request, objects, &listed)?;
    write(&log_file, &log)?;
    // A file saved while the compiler ran may have been read before or after: compile again then.
    let saved_since = |path: &PathBuf| {
        let modified = fs::metadata(path).and_then(|data| data.modified());
        modified.map_or(true, |modified| modified >= started)
    };
    if !fingerprint.dependencies.keys().any(saved_since) {
        write(&fingerprint_file, &to_json(&fingerprint))?;
    }
    (request.observer)(source, Step::Compiled);
    let dependencies = fingerprint.dependencies.into_keys().collect();
    Ok((
        Unit {
            source: source.to_owned(),
            object,
            log,
            dependencies,
        },
        true,
    ))
}

/// Whether the object that `recorded` speaks of was made by the command of `fingerprint` from
/// files that still read the same. Then `fingerprint` learns what those files are.
fn unchanged(recorded: &Path, fingerprint: &mut Fingerprint) -> bool {
    let Some(mut old) = read_fingerprint(recorded) else {
        return false;
    };
    let dependencies = std::mem::take(&mut old.dependencies);
    if old != *fingerprint {
        return false;
    }
    let same = dependencies
        .iter()
        .all(|(path, digest)| content(path).as_ref() == Some(digest));
    if same {
        fingerprint.dependencies = dependencies;
    }
    same
}

fn read_fingerprint(path: &Path) -> Option<Fingerprint> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Unlike a source's digest this one sees comments: a line number may be part of the code.
fn content(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| digest::sha256(&bytes))
}

/// The files of a dependency list that a change can come from. The toolkit's own are covered by
/// its version, the system's by the compiler that they belong to.
fn dependencies(
    request: &Request,
    objects: &Path,
    listed: &str,
) -> Result<BTreeMap<PathBuf, String>, Error> {
    let mut foreign = request.toolkit.roots();
    foreign.extend(["/usr/include", "/usr/lib", "/usr/local/cuda"].map(PathBuf::from));
    let mut found = BTreeMap::new();
    for name in depfile::parse(listed) {
        let path = closure::tidy(&request.crate_dir.join(name));
        let ours = path.starts_with(request.crate_dir) || path.starts_with(request.shared_include);
        let made_here = path.starts_with(objects);
        if made_here || (!ours && foreign.iter().any(|dir| path.starts_with(dir))) {
            continue;
        }
        let bytes = fs::read(&path).map_err(|e| Error::io("read", &path, &e))?;
        found.insert(path, digest::sha256(&bytes));
    }
    Ok(found)
}
