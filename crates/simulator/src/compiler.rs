//! The host's C++ compiler: which one, and the flags that make its arithmetic CUDA's.

use std::path::Path;
use std::process::Command;

use crate::{Error, Flavor};

/// A C++ compiler that was found and answers.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    program: String,
    /// What `--version` prints: part of every fingerprint.
    pub(crate) version: String,
    clang: bool,
}

impl Compiler {
    /// `CXX`, or `c++`, or `g++`.
    pub(crate) fn find() -> Result<Compiler, Error> {
        let asked = std::env::var("CXX").ok().filter(|name| !name.is_empty());
        Compiler::find_among(asked.as_deref())
    }

    fn find_among(asked: Option<&str>) -> Result<Compiler, Error> {
        let names = asked.map_or_else(|| vec!["c++", "g++"], |name| vec![name]);
        for name in &names {
            let Ok(answer) = Command::new(name).arg("--version").output() else {
                continue;
            };
            if answer.status.success() {
                let version = String::from_utf8_lossy(&answer.stdout).into_owned();
                return Ok(Compiler {
                    program: (*name).to_owned(),
                    clang: version.contains("clang"),
                    version,
                });
            }
        }
        Err(Error::Environment(match asked {
            Some(name) => format!("CXX names {name:?}, which is no C++ compiler that runs"),
            None => {
                "the simulator needs a C++ compiler: neither c++ nor g++ runs, and CXX is not set"
                    .to_owned()
            }
        }))
    }

    /// Flags of every translation unit; `CK_SIM_CXXFLAGS` adds to them (`-Og` for a debugger).
    pub(crate) fn flags(&self, flavor: Flavor) -> Vec<String> {
        let mut flags: Vec<&str> = vec![
            "-std=c++17",
            "-O2",
            "-g",
            "-fPIC",
            "-pthread",
            // What makes a host operation CUDA's `_rn` intrinsic.
            "-ffp-contract=off",
            "-fno-fast-math",
            // A kernel is not exceptional, and its frames are small.
            "-fno-omit-frame-pointer",
            "-fno-stack-protector",
            "-U_FORTIFY_SOURCE",
            "-Wall",
            "-Wextra",
            // Unrolling pragmas and the like are nvcc's.
            "-Wno-unknown-pragmas",
            "-DCK_SIM=1",
        ];
        if !self.clang {
            // Two simulator libraries in one process must not share a template's statics.
            flags.push("-fno-gnu-unique");
        }
        if has_fma() {
            flags.push("-mfma");
        }
        match flavor {
            Flavor::Plain => {}
            Flavor::Checked => flags.push("-DCK_SIM_CHECKED=1"),
            Flavor::Asan => flags.push("-fsanitize=address,undefined"),
        }
        let more = std::env::var("CK_SIM_CXXFLAGS").unwrap_or_default();
        flags.extend(more.split_ascii_whitespace());
        flags.into_iter().map(str::to_owned).collect()
    }

    /// Further flags of kernel sources: what tells the runtime of each access.
    pub(crate) fn kernel_flags(&self, flavor: Flavor) -> Vec<String> {
        // Without sibling calls the return address is the kernel's line, also of its last statement.
        let mut flags = vec!["-fvisibility=default", "-fno-optimize-sibling-calls"];
        match flavor {
            // Alignment is checked before the optimiser takes a vector apart.
            Flavor::Plain => flags.push("-fsanitize=alignment"),
            Flavor::Checked => {
                flags.push("-fsanitize=thread");
                flags.push("-fsanitize=alignment,bounds,shift,integer-divide-by-zero");
                if self.clang {
                    flags.extend(["-mllvm", "-tsan-instrument-func-entry-exit=0"]);
                    flags.extend(["-mllvm", "-tsan-distinguish-volatile=1"]);
                } else {
                    flags.push("--param=tsan-instrument-func-entry-exit=0");
                    flags.push("--param=tsan-distinguish-volatile=1");
                }
            }
            Flavor::Asan => {}
        }
        flags.into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn runtime_flags(&self) -> Vec<String> {
        vec!["-fvisibility=hidden".to_owned()]
    }

    /// Flags of the link.
    pub(crate) fn link_flags(&self, flavor: Flavor, exports: &Path) -> Vec<String> {
        let mut flags = vec!["-shared".to_owned(), "-pthread".to_owned()];
        if cfg!(target_os = "macos") {
            flags.push(format!("-Wl,-exported_symbols_list,{}", exports.display()));
        } else {
            flags.push("-Wl,-Bsymbolic".to_owned());
            flags.push("-Wl,-z,defs".to_owned());
            flags.push(format!("-Wl,--version-script={}", exports.display()));
            flags.push("-ldl".to_owned());
        }
        if flavor == Flavor::Asan {
            flags.push("-fsanitize=address,undefined".to_owned());
            // The sanitizer's runtime comes with the process.
            flags.retain(|flag| flag != "-Wl,-z,defs");
        }
        flags
    }

    /// Runs the compiler; an error has the whole command and all its output.
    pub(crate) fn run(
        &self,
        what: &str,
        arguments: &[String],
        directory: &Path,
    ) -> Result<(), Error> {
        let command = format!("{} {}", self.program, arguments.join(" "));
        let answer = Command::new(&self.program)
            .args(arguments)
            .current_dir(directory)
            .output()
            .map_err(|e| Error::Environment(format!("{} does not run: {e}", self.program)))?;
        if answer.status.success() {
            return Ok(());
        }
        Err(Error::Compiler {
            what: what.to_owned(),
            command,
            output: format!(
                "{}{}",
                String::from_utf8_lossy(&answer.stdout),
                String::from_utf8_lossy(&answer.stderr)
            ),
        })
    }
}

fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_one_sentence_that_names_it() {
        let error = Compiler::find_among(Some("no-such-compiler-anywhere")).unwrap_err();
        assert!(matches!(error, Error::Environment(_)));
        assert_eq!(
            error.to_string(),
            "CXX names \"no-such-compiler-anywhere\", which is no C++ compiler that runs"
        );
    }
}
