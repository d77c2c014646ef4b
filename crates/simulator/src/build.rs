//! From a kernel crate's sources to a simulator library, compiling only what changed.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use build_support::digest::sha256;
use build_support::{closure, manifest::Manifest};

use crate::compiler::Compiler;
use crate::{Error, Flavor, mutants};

/// The sources of one simulator library.
#[derive(Clone, Debug)]
pub struct Library {
    /// The file is `lib<name>_sim.so`.
    pub name: String,
    /// Exported functions begin with this and an underscore.
    pub prefix: String,
    /// Translation units.
    pub units: Vec<PathBuf>,
    /// Every file that may hold a `CK_MUTANT`.
    pub sources: Vec<PathBuf>,
    /// Where `#include` looks, in this order, before the shared headers.
    pub include_dirs: Vec<PathBuf>,
    /// Paths in reports and debuggers are relative to this directory.
    pub root: PathBuf,
    /// What `<prefix>_build_info()` answers; `None` where the sources have that function.
    pub build_info: Option<String>,
}

/// The runtime that every library contains; the checked ones have `race` as well.
const RUNTIME: &[&str] = &[
    "fiber",
    "host",
    "hooks",
    "memory",
    "numeric",
    "report",
    "scheduler",
    "sync",
];

/// The simulator library of the kernel crate in `crate_dir`, built if anything changed.
///
/// It lies in `target/sim/<name>/<flavor>/` of the workspace (or of `CARGO_TARGET_DIR`).
pub fn build(crate_dir: &Path, flavor: Flavor) -> Result<PathBuf, Error> {
    let library = library_of_crate(crate_dir)?;
    let directory = target_dir().join("sim").join(&library.name);
    build_library(&library, flavor, &directory)
}

/// What `<name>.backend.json` says of a crate's sources.
pub fn library_of_crate(crate_dir: &Path) -> Result<Library, Error> {
    let crate_dir = crate_dir
        .canonicalize()
        .map_err(Error::io("find", crate_dir))?;
    let name = crate_dir
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let manifest =
        Manifest::of_crate(&crate_dir, &name).map_err(|e| Error::Input(e.to_string()))?;
    let units: Vec<PathBuf> = manifest.units().map(|unit| crate_dir.join(unit)).collect();
    if units.is_empty() {
        return Err(Error::Input(format!(
            "{name}.backend.json: sources has no .cu file, so there is nothing to simulate"
        )));
    }
    let sources: Vec<PathBuf> = manifest.sources.iter().map(|s| crate_dir.join(s)).collect();
    let root = crate_dir
        .ancestors()
        .nth(2)
        .unwrap_or(&crate_dir)
        .to_path_buf();
    Ok(Library {
        name: manifest.library.clone(),
        build_info: Some(build_info(&manifest, &sources, &root)?),
        prefix: manifest.prefix,
        units,
        sources,
        include_dirs: vec![crate_dir.join("include"), crate_dir.join("cuda")],
        root,
    })
}

fn build_info(manifest: &Manifest, sources: &[PathBuf], root: &Path) -> Result<String, Error> {
    let mut digests = Vec::new();
    for source in sources {
        let digest =
            build_support::digest::file(source).map_err(Error::io("read", source.as_path()))?;
        let path = source.strip_prefix(root).unwrap_or(source);
        digests.push(format!("\"{}\":\"{digest}\"", path.display()));
    }
    Ok(format!(
        "{{\"name\":\"{}\",\"abi\":{},\"numerics_version\":{},\"class\":\"emulated\",\"sources\":{{{}}}}}",
        manifest.name,
        manifest.abi_version,
        manifest.numerics_version,
        digests.join(",")
    ))
}

/// `CARGO_TARGET_DIR`, or `target` of the workspace that this crate was compiled in.
fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => own_dir().join("../../target"),
    }
}

fn own_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One thing to compile.
struct Unit {
    source: PathBuf,
    root: PathBuf,
    object: PathBuf,
    arguments: Vec<String>,
}

/// Builds a library below `directory`, in a folder of the flavor's name, and answers its path.
///
/// Compiles only what changed: an object's name holds the digest of its command and of every file
/// that it includes.
pub fn build_library(
    library: &Library,
    flavor: Flavor,
    directory: &Path,
) -> Result<PathBuf, Error> {
    // Tests of one process ask for the same library at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());

    let compiler = Compiler::find()?;
    let output = directory.join(flavor.name());
    let runtime_objects = directory
        .parent()
        .unwrap_or(directory)
        .join("runtime")
        .join(flavor.name());
    for directory in [&output, &runtime_objects] {
        std::fs::create_dir_all(directory).map_err(Error::io("create", directory.as_path()))?;
    }
    let output = output
        .canonicalize()
        .map_err(Error::io("find", output.as_path()))?;
    let runtime_objects = runtime_objects
        .canonicalize()
        .map_err(Error::io("find", runtime_objects.as_path()))?;

    let workspace = own_dir().ancestors().nth(2).unwrap_or(own_dir());
    let mut units = Vec::new();
    let checked = (flavor == Flavor::Checked).then_some("race");
    for name in RUNTIME.iter().copied().chain(checked) {
        let mut arguments = compiler.flags(flavor);
        arguments.extend(compiler.runtime_flags());
        let source = own_dir().join("runtime").join(format!("{name}.cc"));
        units.push(unit(
            &compiler,
            source,
            arguments,
            &[own_dir().join("include")],
            workspace,
            &runtime_objects,
        )?);
    }
    let mut include_dirs = library.include_dirs.clone();
    include_dirs.push(build_support::include_dir());
    include_dirs.push(own_dir().join("include"));
    for source in &library.units {
        let mut arguments = compiler.flags(flavor);
        arguments.extend(compiler.kernel_flags(flavor));
        units.push(unit(
            &compiler,
            source.clone(),
            arguments,
            &include_dirs,
            &library.root,
            &output,
        )?);
    }
    let names = output.join("names.cc");
    write_if_changed(&names, &names_source(library, flavor)?)?;
    let mut arguments = compiler.flags(flavor);
    arguments.extend(compiler.runtime_flags());
    units.push(unit(&compiler, names, arguments, &[], &output, &output)?);
    compile(&compiler, &units)?;

    let exports = output.join("exports.map");
    write_if_changed(&exports, &export_list(&library.prefix))?;
    let result = output.join(format!(
        "lib{}_sim.{}",
        library.name,
        if cfg!(target_os = "macos") {
            "dylib"
        } else {
            "so"
        }
    ));
    let mut arguments: Vec<String> = units
        .iter()
        .map(|unit| unit.object.display().to_string())
        .collect();
    arguments.extend(compiler.link_flags(flavor, &exports));
    let fingerprint = sha256(format!("{}\n{}", compiler.version, arguments.join("\n")).as_bytes());
    let stamp = output.join("linked");
    if result.exists() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == fingerprint) {
        return Ok(result);
    }
    let fresh = temporary(&result);
    arguments.push("-o".to_owned());
    arguments.push(fresh.display().to_string());
    compiler.run(&format!("lib{}_sim", library.name), &arguments, &output)?;
    // A process that has the old library open keeps it: the new one is another file.
    std::fs::rename(&fresh, &result).map_err(Error::io("replace", result.as_path()))?;
    std::fs::write(&stamp, fingerprint).map_err(Error::io("write", stamp.as_path()))?;
    Ok(result)
}

fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(
        ".{}.{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    ));
    PathBuf::from(name)
}

fn unit(
    compiler: &Compiler,
    source: PathBuf,
    mut arguments: Vec<String>,
    include_dirs: &[PathBuf],
    root: &Path,
    objects: &Path,
) -> Result<Unit, Error> {
    arguments.extend(
        include_dirs
            .iter()
            .map(|dir| format!("-I{}", dir.display())),
    );
    // Names are the repository's, relative to where the compiler runs: debuggers find them.
    arguments.push(format!("-ffile-prefix-map={}/=", root.display()));
    let files = closure::scan(std::slice::from_ref(&source), include_dirs)
        .map_err(Error::io("read the includes of", source.as_path()))?;
    let mut identity = format!("{}\n{}\n", compiler.version, arguments.join("\n"));
    for file in &files {
        let bytes = std::fs::read(file).map_err(Error::io("read", file.as_path()))?;
        identity += &format!("{} {}\n", file.display(), sha256(&bytes));
    }
    let stem = source
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let object = objects.join(format!("{stem}-{}.o", &sha256(identity.as_bytes())[..16]));
    Ok(Unit {
        source,
        root: root.to_owned(),
        object,
        arguments,
    })
}

fn compile(compiler: &Compiler, units: &[Unit]) -> Result<(), Error> {
    let wanted: Vec<&Unit> = units.iter().filter(|unit| !unit.object.exists()).collect();
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers.min(wanted.len()) {
            scope.spawn(|| {
                while let Some(unit) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = compile_one(compiler, unit) {
                        next.store(wanted.len(), Ordering::Relaxed);
                        *failure.lock().unwrap_or_else(|p| p.into_inner()) = Some(error);
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap_or_else(|p| p.into_inner()) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn compile_one(compiler: &Compiler, unit: &Unit) -> Result<(), Error> {
    let fresh = temporary(&unit.object);
    let mut arguments = unit.arguments.clone();
    arguments.extend(["-x".to_owned(), "c++".to_owned(), "-c".to_owned()]);
    arguments.push(unit.source.display().to_string());
    arguments.push("-o".to_owned());
    arguments.push(fresh.display().to_string());
    compiler.run(&unit.source.display().to_string(), &arguments, &unit.root)?;
    std::fs::rename(&fresh, &unit.object).map_err(Error::io("replace", unit.object.as_path()))?;
    remove_older(&unit.object);
    Ok(())
}

/// Objects of the same source that an older fingerprint made. Another process may still link one:
/// only what has lain for a day goes.
fn remove_older(object: &Path) {
    let (Some(directory), Some(name)) = (object.parent(), object.file_name()) else {
        return;
    };
    let name = name.to_string_lossy();
    let Some((stem, _)) = name.rsplit_once('-') else {
        return;
    };
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        let old = entry
            .metadata()
            .and_then(|m| m.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() > 24 * 3600));
        if old && other != name && other.rsplit_once('-').is_some_and(|(s, _)| s == stem) {
            // Left for the next time where it cannot be removed.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn names_source(library: &Library, flavor: Flavor) -> Result<String, Error> {
    let mut text = "// Written by the build.\n#include <stddef.h>\n\
                    extern \"C\" __attribute__((visibility(\"hidden\"))) const char* const \
                    ck_sim_mutant_names[];\n\
                    extern \"C\" __attribute__((visibility(\"hidden\"))) const char* const \
                    ck_sim_source_root;\n"
        .to_owned();
    text += &format!(
        "const char* const ck_sim_source_root = \"{}/\";\n",
        library.root.display()
    );
    text += "const char* const ck_sim_mutant_names[] = {";
    for name in mutants(&library.sources)? {
        text += &format!("\"{name}\", ");
    }
    text += "nullptr};\n";
    if let Some(info) = &library.build_info {
        let info = info.replacen('{', &format!("{{\"flavor\":\"{}\",", flavor.name()), 1);
        text += &format!(
            "extern \"C\" __attribute__((visibility(\"default\"))) const char* {}_build_info(void) {{\n  \
             return R\"json({info})json\";\n}}\n",
            library.prefix
        );
    }
    Ok(text)
}

fn export_list(prefix: &str) -> String {
    if cfg!(target_os = "macos") {
        format!("_{prefix}_*\n_sim_*\n")
    } else {
        format!("{{ global: {prefix}_*; sim_*; local: *; }};\n")
    }
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), Error> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let fresh = temporary(path);
    std::fs::write(&fresh, text).map_err(Error::io("write", fresh.as_path()))?;
    std::fs::rename(&fresh, path).map_err(Error::io("replace", path))
}
