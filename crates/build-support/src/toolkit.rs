//! Finds nvcc and what lies around it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arch::Arch;
use crate::error::Error;

/// A toolkit's release: `13.0.88` is major 13, minor 0, patch 88.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 13 of 13.0.88.
    pub major: u32,
    /// 0 of 13.0.88.
    pub minor: u32,
    /// 88 of 13.0.88.
    pub patch: u32,
}

impl Version {
    /// Reads `13`, `13.0` or `13.0.88`.
    pub fn parse(text: &str) -> Option<Version> {
        let mut numbers = [0; 3];
        let mut count = 0;
        for part in text.split('.') {
            *numbers.get_mut(count)? = part.parse().ok()?;
            count += 1;
        }
        let [major, minor, patch] = numbers;
        Some(Version {
            major,
            minor,
            patch,
        })
    }

    /// Reads the version out of what `nvcc --version` prints: the word `V13.0.88`.
    fn of_nvcc(output: &str) -> Option<Version> {
        output
            .split_whitespace()
            .find_map(|word| Version::parse(word.strip_prefix('V')?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// An nvcc that answered, and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// The compiler.
    pub nvcc: PathBuf,
    /// What it says its version is.
    pub version: Version,
    /// A place that was named and held no nvcc, so that a mistyped `CUDA_HOME` is not silent.
    pub warning: Option<String>,
}

/// Reads an environment variable; a test passes a map.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Below a root, the compiler of a toolkit as it is installed, and of the compiler wheels.
const COMPILERS: [&str; 3] = ["bin/nvcc", "nvidia/cu13/bin/nvcc", "nvidia/cu12/bin/nvcc"];

impl Toolkit {
    /// The toolkit of this machine: `NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH`, `/usr/local/cuda`,
    /// the first of these that has an nvcc.
    pub fn find() -> Result<Toolkit, Error> {
        Toolkit::find_with(&|name| std::env::var_os(name), Path::new("/usr/local/cuda"))
    }

    /// [`Toolkit::find`] with given variables and a given last resort.
    pub fn find_with(variables: Variables, last: &Path) -> Result<Toolkit, Error> {
        let set = |name: &str| variables(name).filter(|value| !value.is_empty());
        let path = set("PATH");
        if let Some(nvcc) = set("NVCC") {
            let found = resolve(&nvcc, path.as_deref()).ok_or_else(|| {
                Error::environment(format!(
                    "NVCC is {}, which is no executable file",
                    Path::new(&nvcc).display()
                ))
            })?;
            return Toolkit::at(&found);
        }
        let mut tried = Vec::new();
        let mut warning = None;
        for name in ["CUDA_HOME", "CUDA_PATH"] {
            let Some(root) = set(name).map(PathBuf::from) else {
                tried.push(format!("{name} (not set)"));
                continue;
            };
            match nvcc_below(&root) {
                Some(nvcc) => return Toolkit::at(&nvcc),
                None => {
                    tried.push(format!("{name} ({}/bin/nvcc)", root.display()));
                    warning.get_or_insert(format!(
                        "{name} is {}, which holds no bin/nvcc",
                        root.display()
                    ));
                }
            }
        }
        let on_path = resolve(OsStr::new("nvcc"), path.as_deref());
        tried.push("PATH".to_owned());
        tried.push(format!("{}/bin/nvcc", last.display()));
        match on_path.or_else(|| nvcc_below(last)) {
            Some(nvcc) => Ok(Toolkit {
                warning,
                ..Toolkit::at(&nvcc)?
            }),
            None => Err(Error::environment(format!(
                "no nvcc was found; looked at NVCC (not set), {}",
                tried.join(", ")
            ))),
        }
    }

    /// The toolkit of a given nvcc.
    pub fn at(nvcc: &Path) -> Result<Toolkit, Error> {
        let output = Command::new(nvcc)
            .arg("--version")
            .output()
            .map_err(|e| Error::environment(format!("{} does not run: {e}", nvcc.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match Version::of_nvcc(&text) {
            Some(version) if output.status.success() => Ok(Toolkit {
                nvcc: nvcc.to_owned(),
                version,
                warning: None,
            }),
            _ => Err(Error::environment(format!(
                "{} --version ended with {} and named no version: {}",
                nvcc.display(),
                output.status,
                text.trim()
            ))),
        }
    }

    /// The directories that may be the toolkit's root: where nvcc lies, and where it lies once
    /// links are followed (`/usr/local/bin/nvcc` may point into a toolkit).
    pub fn roots(&self) -> Vec<PathBuf> {
        let above = |nvcc: &Path| nvcc.parent().and_then(Path::parent).map(Path::to_owned);
        let real = self.nvcc.canonicalize().ok();
        let mut roots: Vec<PathBuf> = real
            .as_deref()
            .and_then(above)
            .into_iter()
            .chain(above(&self.nvcc))
            .collect();
        roots.dedup();
        roots
    }

    /// The directory of `libcudart_static.a` for `target_arch` (`x86_64` or `aarch64`).
    pub fn library_dir(&self, target_arch: &str) -> Result<PathBuf, Error> {
        let tried = library_dirs(&self.roots(), target_arch);
        tried
            .iter()
            .find(|dir| dir.join("libcudart_static.a").is_file())
            .cloned()
            .ok_or_else(|| {
                let tried: Vec<String> = tried.iter().map(|d| d.display().to_string()).collect();
                Error::environment(format!(
                    "no libcudart_static.a was found for {target_arch}; looked in {}",
                    tried.join(", ")
                ))
            })
    }

    /// The architectures that this nvcc makes machine code for.
    pub fn architectures(&self) -> Result<Vec<Arch>, Error> {
        let output = Command::new(&self.nvcc)
            .arg("--list-gpu-code")
            .output()
            .map_err(|e| {
                Error::environment(format!("{} does not run: {e}", self.nvcc.display()))
            })?;
        Ok(String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.trim().strip_prefix("sm_")?.parse().ok())
            .collect())
    }

    /// Refuses an nvcc older than `minimum`, and architectures that it does not know.
    pub fn check(&self, minimum: Option<&str>, archs: &[Arch]) -> Result<(), Error> {
        if let Some(minimum) = minimum {
            let oldest = Version::parse(minimum).ok_or_else(|| {
                Error::input(format!(
                    "build.min_toolkit is {minimum:?}: must be as in 12.9"
                ))
            })?;
            if self.version < oldest {
                return Err(Error::environment(format!(
                    "{} is version {}: must be at least {minimum}",
                    self.nvcc.display(),
                    self.version
                )));
            }
        }
        let known = self.architectures()?;
        match archs.iter().find(|arch| !known.contains(arch)) {
            None => Ok(()),
            Some(arch) => {
                let known: Vec<String> = known.iter().map(Arch::to_string).collect();
                Err(Error::input(format!(
                    "architecture {arch}: nvcc {} makes code for {}",
                    self.version,
                    known.join(", ")
                )))
            }
        }
    }
}

/// Where toolkits keep their libraries: as installed, as packaged by distributions for several
/// targets at once, and as unpacked from the compiler wheels.
fn library_dirs(roots: &[PathBuf], target_arch: &str) -> Vec<PathBuf> {
    let targets: &[&str] = match target_arch {
        "aarch64" => &["targets/sbsa-linux/lib", "targets/aarch64-linux/lib"],
        _ => &["targets/x86_64-linux/lib"],
    };
    let debian = format!("lib/{target_arch}-linux-gnu");
    let below = |root: &PathBuf| -> Vec<PathBuf> {
        targets
            .iter()
            .copied()
            .chain(["lib64", "lib", &debian])
            .map(|dir| root.join(dir))
            .collect()
    };
    roots.iter().flat_map(below).collect()
}

fn nvcc_below(root: &Path) -> Option<PathBuf> {
    COMPILERS
        .iter()
        .map(|compiler| root.join(compiler))
        .find(|nvcc| is_executable(nvcc))
}

/// A program given as a path, or as a name that `path` (a list of directories) resolves.
pub(crate) fn resolve(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let given = Path::new(program);
    if given.components().count() > 1 {
        return is_executable(given).then(|| given.to_owned());
    }
    std::env::split_paths(path?)
        .map(|dir| dir.join(given))
        .find(|found| is_executable(found))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
