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
        for (index, part) in text.split('.').enumerate() {
            *numbers.get_mut(index)? = part.parse().ok()?;
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
        // The list names numbers alone; variants began with 90a and 100f.
        let can = |arch: &Arch| {
            known.iter().any(|k| k.number == arch.number)
                && match arch.suffix {
                    None => true,
                    Some('a') => arch.number >= 90,
                    Some(_) => arch.number >= 100,
                }
        };
        match archs.iter().find(|arch| !can(arch)) {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("toolkit-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        /// A program that answers as an nvcc of `version` does.
        fn nvcc(&self, name: &str, version: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let answer = format!(
                "#!/bin/sh\n[ \"$1\" = --list-gpu-code ] && echo sm_80 sm_90 | tr ' ' '\\n' || \
                 echo 'Cuda compilation tools, release {version}, V{version}'\n"
            );
            fs::write(&path, answer).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn find(&self, variables: &[(&str, &Path)]) -> Result<Toolkit, Error> {
            let map: BTreeMap<&str, &Path> = variables.iter().copied().collect();
            let read = |name: &str| map.get(name).map(|path| path.as_os_str().to_owned());
            Toolkit::find_with(&read, &self.0.join("last"))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn places_are_tried_in_their_order() {
        let dir = Scratch::new("order");
        let nvcc = dir.nvcc("own/my-nvcc", "13.1.1");
        let home = dir.nvcc("home/bin/nvcc", "13.0.2");
        let wheel = dir.nvcc("wheels/nvidia/cu13/bin/nvcc", "13.0.3");
        let path = dir.nvcc("path/nvcc", "13.0.4");
        let last = dir.nvcc("last/bin/nvcc", "13.0.5");
        let above = |nvcc: &Path| nvcc.parent().unwrap().parent().unwrap().to_owned();
        let (home_root, path_dir) = (above(&home), dir.0.join("path"));
        let wheels = dir.0.join("wheels");
        let mut set: Vec<(&str, &Path)> = vec![
            ("NVCC", &nvcc),
            ("CUDA_HOME", &home_root),
            ("CUDA_PATH", &wheels),
            ("PATH", &path_dir),
        ];
        for expected in [&nvcc, &home, &wheel, &path, &last] {
            assert_eq!(&dir.find(&set).unwrap().nvcc, expected);
            if !set.is_empty() {
                set.remove(0);
            }
        }
    }

    #[test]
    fn what_was_tried_is_listed() {
        let dir = Scratch::new("tried");
        let error = dir
            .find(&[("CUDA_HOME", Path::new("/no/such"))])
            .unwrap_err();
        assert_eq!(error.kind, crate::Kind::Environment);
        let last = format!("{}/last/bin/nvcc", dir.0.display());
        let places = [
            "NVCC (not set)",
            "CUDA_HOME (/no/such/bin/nvcc)",
            "CUDA_PATH (not set)",
            "PATH",
            &last,
        ];
        for place in places {
            assert!(
                error.message.contains(place),
                "{place:?} is missing from {error}"
            );
        }
    }

    #[test]
    fn a_named_compiler_that_is_not_there_is_an_error_and_a_root_without_one_a_warning() {
        let dir = Scratch::new("named");
        dir.nvcc("last/bin/nvcc", "13.0.0");
        let error = dir
            .find(&[("NVCC", Path::new("/no/such/nvcc"))])
            .unwrap_err();
        assert!(error.message.contains("NVCC is /no/such/nvcc"), "{error}");
        let found = dir.find(&[("CUDA_HOME", Path::new("/no/such"))]).unwrap();
        assert!(found.warning.unwrap().contains("CUDA_HOME is /no/such"));
        assert_eq!(dir.find(&[]).unwrap().warning, None);
    }

    #[test]
    fn a_compiler_that_names_no_version_is_refused() {
        let dir = Scratch::new("version");
        let nvcc = dir.nvcc("bin/nvcc", "nonsense");
        let error = Toolkit::at(&nvcc).unwrap_err();
        assert!(error.message.contains("named no version"), "{error}");
    }

    #[test]
    fn versions_and_architectures_out_of_range_are_refused() {
        let dir = Scratch::new("check");
        let toolkit = Toolkit::at(&dir.nvcc("bin/nvcc", "12.8.93")).unwrap();
        let archs = |names: &[&str]| crate::arch::parse_list(names).unwrap();
        assert!(toolkit.check(Some("12.8"), &archs(&["80", "90a"])).is_ok());
        let error = toolkit.check(Some("12.9"), &[]).unwrap_err();
        assert!(
            error
                .message
                .contains("is version 12.8.93: must be at least 12.9"),
            "{error}"
        );
        for unknown in ["100", "80a", "90f"] {
            let error = toolkit.check(None, &archs(&[unknown])).unwrap_err();
            assert!(
                error
                    .message
                    .starts_with(&format!("architecture {unknown}: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn libraries_are_found_in_every_layout() {
        for (layout, target) in [
            ("lib64", "x86_64"),
            ("lib", "x86_64"),
            ("targets/x86_64-linux/lib", "x86_64"),
            ("targets/sbsa-linux/lib", "aarch64"),
            ("targets/aarch64-linux/lib", "aarch64"),
            ("lib/x86_64-linux-gnu", "x86_64"),
        ] {
            let dir = Scratch::new("layout");
            let toolkit = Toolkit::at(&dir.nvcc("bin/nvcc", "13.0.88")).unwrap();
            let error = toolkit.library_dir(target).unwrap_err();
            assert!(error.message.contains(layout), "{error}");
            let lib = dir.0.join(layout);
            fs::create_dir_all(&lib).unwrap();
            fs::write(lib.join("libcudart_static.a"), "").unwrap();
            let found = toolkit.library_dir(target).unwrap();
            assert_eq!(found.canonicalize().unwrap(), lib.canonicalize().unwrap());
        }
    }

    #[test]
    fn versions_are_read_and_ordered() {
        let version = |text| Version::parse(text);
        assert!(version("12.9") < version("12.9.86") && version("12.10") > version("12.9.86"));
        assert_eq!(version("13").unwrap().to_string(), "13.0.0");
        for bad in ["", "x", "13.", "1.2.3.4", "-1"] {
            assert_eq!(version(bad), None, "{bad:?}");
        }
    }
}
