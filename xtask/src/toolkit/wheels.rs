//! Installs pinned wheels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::output::{Failure, Output};

/// A section of `ci/toolkit.lock`: wheels that are installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Compiler,
    Inspector,
    #[cfg_attr(
        not(feature = "bindgen"),
        allow(dead_code, reason = "codegen alone calls it")
    )]
    Libclang,
    ClangFormat,
}

impl Section {
    /// Its heading in the lock file.
    fn heading(self) -> &'static str {
        match self {
            Section::Compiler => "compiler",
            Section::Inspector => "inspector",
            Section::Libclang => "libclang",
            Section::ClangFormat => "clang-format",
        }
    }

    /// Where it is installed.
    fn home(self, root: &Path) -> PathBuf {
        match self {
            Section::Compiler => root.join("target/cuda-toolkit"),
            other => root.join("target/tools").join(other.heading()),
        }
    }
}

/// Installs a section's wheels unless they are there, and returns the directory they lie in.
pub fn install(root: &Path, section: Section, out: &Output) -> anyhow::Result<PathBuf> {
    let home = section.home(root);
    let requirements = requirements(root, section)?;
    let marker = home.join(".installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == requirements) {
        return Ok(home);
    }
    let names = names(&requirements);
    let python = python(&names)?;
    out.log(format_args!(
        "installing {names} with pip into {}",
        home.display()
    ));

    let parent = home.parent().context("the target directory has a parent")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    // Under a name of its own until it is whole: another run may be at it, or this one may end.
    let unfinished = parent.join(format!(".{}-{}", section.heading(), std::process::id()));
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot create {}", unfinished.display()))?;
    let result = pip(&python, &requirements, &unfinished, &names).and_then(|()| {
        fs::write(unfinished.join(".installed"), &requirements)
            .with_context(|| format!("cannot write below {}", unfinished.display()))?;
        let _ = fs::remove_dir_all(&home);
        fs::rename(&unfinished, &home)
            .with_context(|| format!("cannot move the installed wheels to {}", home.display()))
    });
    let _ = fs::remove_dir_all(&unfinished);
    result.map(|()| home)
}

/// The version that a section pins of `package`.
pub fn version_of(root: &Path, section: Section, package: &str) -> anyhow::Result<String> {
    let requirements = requirements(root, section)?;
    let pinned = requirements.lines().find_map(|line| {
        let version = line.strip_prefix(package)?.strip_prefix("==")?;
        version.split_whitespace().next().map(str::to_owned)
    });
    pinned.with_context(|| format!("ci/toolkit.lock pins no {package}"))
}

/// A section's lines of the lock file.
fn requirements(root: &Path, section: Section) -> anyhow::Result<String> {
    let path = root.join("ci/toolkit.lock");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let heading = section.heading();
    let lines = section_lines(&text, heading);
    anyhow::ensure!(
        !lines.is_empty(),
        "{} has no section [{heading}]",
        path.display()
    );
    Ok(lines)
}

fn section_lines(text: &str, heading: &str) -> String {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .skip_while(|line| {
            line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) != Some(heading)
        })
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// `nvidia-cuda-nvcc 13.0.88, ...`.
fn names(requirements: &str) -> String {
    let pinned = requirements
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    pinned
        .map(|pin| pin.replace("==", " "))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A python3 that has pip.
fn python(names: &str) -> anyhow::Result<PathBuf> {
    let python = PathBuf::from("python3");
    let missing =
        |what: &str| Failure::Environment(format!("{what}, which is needed to install {names}"));
    match Command::new(&python)
        .args(["-m", "pip", "--version"])
        .output()
    {
        Err(_) => Err(missing("there is no python3 on this machine").into()),
        Ok(output) if !output.status.success() => {
            Err(missing("python3 on this machine has no pip").into())
        }
        Ok(_) => Ok(python),
    }
}

fn pip(python: &Path, requirements: &str, into: &Path, names: &str) -> anyhow::Result<()> {
    let list = into.with_extension("txt");
    fs::write(&list, requirements).with_context(|| format!("cannot write {}", list.display()))?;
    let output = Command::new(python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--no-deps",
            "--require-hashes",
        ])
        .args([
            "--only-binary=:all:",
            "--no-compile",
            "--disable-pip-version-check",
            "--target",
        ])
        .arg(into)
        .arg("--requirement")
        .arg(&list)
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .output();
    let _ = fs::remove_file(&list);
    let output = output.with_context(|| format!("{} does not run", python.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Environment(format!("pip could not install {names}: {}", reason(&words))).into())
}

/// The one line of pip's many that says why.
fn reason(stderr: &str) -> &str {
    // Over a wrong file pip talks at length; whoever reads needs the one fact.
    if stderr.contains("DO NOT MATCH THE HASHES") {
        return "a downloaded file does not have the hash that ci/toolkit.lock pins";
    }
    let lines = || {
        stderr
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let error = lines()
        .filter_map(|line| line.strip_prefix("ERROR: "))
        .next_back();
    error
        .or_else(|| lines().next_back())
        .unwrap_or("it gave no reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "# about\n[compiler]\na-b==1.2 --hash=sha256:00\n\n# c\nc==3 --hash=sha256:11\n[libclang]\nd==4 --hash=sha256:22\n";

    #[test]
    fn a_section_is_its_lines_alone() {
        assert_eq!(
            section_lines(LOCK, "compiler"),
            "a-b==1.2 --hash=sha256:00\nc==3 --hash=sha256:11\n"
        );
        assert_eq!(section_lines(LOCK, "libclang"), "d==4 --hash=sha256:22\n");
        assert_eq!(section_lines(LOCK, "absent"), "");
    }

    #[test]
    fn wheels_are_named_with_their_versions() {
        assert_eq!(names(&section_lines(LOCK, "compiler")), "a-b 1.2, c 3");
    }

    #[test]
    fn the_lock_file_of_this_workspace_has_every_section_with_hashes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for section in [
            Section::Compiler,
            Section::Inspector,
            Section::Libclang,
            Section::ClangFormat,
        ] {
            let lines = requirements(root, section).unwrap();
            for line in lines.lines() {
                let hashes = line
                    .split_whitespace()
                    .filter_map(|w| w.strip_prefix("--hash=sha256:"));
                assert_eq!(hashes.filter(|hash| hash.len() == 64).count(), 2, "{line}");
            }
        }
        assert!(
            version_of(root, Section::Compiler, "nvidia-cuda-nvcc")
                .unwrap()
                .starts_with("13.")
        );
        assert!(version_of(root, Section::Compiler, "nvidia").is_err());
    }

    #[test]
    fn the_reason_is_the_last_error() {
        let offline = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution found for a==1\n";
        assert_eq!(reason(offline), "No matching distribution found for a==1");
        assert!(reason("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM ...").contains("hash"));
        assert_eq!(
            reason("Traceback\nModuleNotFoundError: x\n\n"),
            "ModuleNotFoundError: x"
        );
        assert_eq!(reason(""), "it gave no reason");
    }
}
