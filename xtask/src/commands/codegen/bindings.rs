//! `src/ffi.rs` of every kernel crate, from its C header.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use bindgen::{Builder, RustEdition, RustTarget};
use contract::{Manifest, Status};

use super::generate::Generated;
use crate::artifact::bindings::signatures;
use crate::output::{Failure, Output};
use crate::toolkit;

/// The bindings of every backend that is more than planned.
pub fn generate(root: &Path, out: &Output) -> anyhow::Result<Vec<Generated>> {
    let libclang = toolkit::libclang(root, out)?;
    // SAFETY: no other thread runs yet that could read the environment, and libclang is looked
    // for by this variable alone.
    unsafe { std::env::set_var("LIBCLANG_PATH", libclang) };
    let builtin = builtin_headers()?;
    let report = contract::check(root);
    let mut files = Vec::new();
    for backend in &report.backends {
        let Some(manifest) = backend.manifest().filter(|m| m.status != Status::Planned) else {
            continue;
        };
        let crate_dir = root
            .join(&backend.path)
            .parent()
            .context("a manifest lies in a folder")?
            .to_owned();
        let text = bindings(root, &crate_dir, manifest, &builtin)?;
        let path = crate_dir.join("src/ffi.rs");
        let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
        files.push(Generated {
            path,
            text: format_rust(root, &text)?,
        });
    }
    Ok(files)
}

fn bindings(
    root: &Path,
    crate_dir: &Path,
    manifest: &Manifest,
    builtin: &Path,
) -> anyhow::Result<String> {
    let header = crate_dir.join(&manifest.header);
    let lower = &manifest.prefix;
    let upper = lower.to_uppercase();
    let include = |dir: &Path| format!("-I{}", dir.display());
    let generated = Builder::default()
        .header(header.display().to_string())
        .clang_args(["-x", "c", "-std=c11"])
        .clang_arg(include(&crate_dir.join("include")))
        .clang_arg(include(&root.join("crates/build-support/include")))
        .clang_arg(include(builtin))
        .allowlist_function(format!("{lower}_.*"))
        .allowlist_type(format!("{lower}_.*"))
        .allowlist_var(format!("({lower}|{upper})_.*"))
        .prepend_enum_name(false)
        .merge_extern_blocks(true)
        .generate_comments(false)
        .disable_header_comment()
        .formatter(bindgen::Formatter::None)
        .rust_edition(RustEdition::Edition2024)
        .rust_target(RustTarget::stable(85, 0).map_err(|e| anyhow::anyhow!("{e}"))?)
        .generate()
        .with_context(|| format!("bindgen failed on {}", header.display()))?
        .to_string();
    let mut text = format!(
        "//! Declarations of {}. `cargo xtask codegen` writes this file.\n\n{generated}\n",
        manifest.header
    );
    // For whoever loads the library at run time instead of linking it.
    for (name, signature) in signatures(&generated) {
        text.push_str(&format!(
            "pub type {name}_fn = unsafe extern \"C\" fn{signature};\n"
        ));
    }
    Ok(text)
}

/// Where the C compiler keeps `stddef.h` and its like, which libclang's wheel lacks.
fn builtin_headers() -> anyhow::Result<PathBuf> {
    let cc = std::env::var_os("CC")
        .filter(|cc| !cc.is_empty())
        .unwrap_or_else(|| "cc".into());
    let missing = |why: String| {
        Failure::Environment(format!(
            "the bindings need a C compiler's own headers: {why}"
        ))
    };
    let output = Command::new(&cc)
        .arg("-print-file-name=include")
        .output()
        .map_err(|e| missing(format!("{} does not run: {e}", Path::new(&cc).display())))?;
    let dir = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if dir.join("stddef.h").is_file() {
        return Ok(dir);
    }
    Err(missing(format!("{} holds no stddef.h", dir.display())).into())
}

fn format_rust(root: &Path, text: &str) -> anyhow::Result<String> {
    let missing = |e: std::io::Error| {
        Failure::Environment(format!(
            "rustfmt, which formats the bindings, does not run: {e}"
        ))
    };
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        // Where it looks for the workspace's settings.
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    // rustfmt reads everything before it writes anything, so the two pipes cannot wait for one
    // another.
    child
        .stdin
        .take()
        .context("rustfmt has a standard input")?
        .write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "rustfmt refused the bindings");
    Ok(String::from_utf8(output.stdout)?)
}
