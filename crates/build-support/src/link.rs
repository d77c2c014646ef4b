//! Makes `lib<library>.a` and `lib<library>.so` of compiled objects.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::info::BuildInfo;
use crate::nvcc::{Request, Unit};
use crate::process::{run, to_json, write, write_if_changed};
use crate::toolkit;

/// The host programs that a build needs, found before it begins.
pub(crate) struct Linker<'a> {
    request: &'a Request<'a>,
    /// The C driver, not the C++ one: it links no C++ runtime.
    cc: PathBuf,
    ar: PathBuf,
    cudart_dir: PathBuf,
}

pub(crate) struct Linked {
    pub static_library: PathBuf,
    pub shared_library: Option<PathBuf>,
    pub changed: bool,
}

impl<'a> Linker<'a> {
    pub(crate) fn find(request: &'a Request<'a>) -> Result<Linker<'a>, Error> {
        // nvcc calls it by this name, or by the one that NVCC_CCBIN gives.
        let host = std::env::var_os("NVCC_CCBIN").unwrap_or_else(|| "g++".into());
        if !Path::new(&host).is_dir() {
            program(&host, "nvcc needs a C++ compiler")?;
        }
        let named = |variable: &str, default: &str| {
            std::env::var_os(variable)
                .filter(|v| !v.is_empty())
                .unwrap_or_else(|| default.into())
        };
        Ok(Linker {
            request,
            cc: program(
                &named("CC", "cc"),
                "a library is linked with the C compiler",
            )?,
            ar: program(&named("AR", "ar"), "a static library is made with ar")?,
            cudart_dir: request.toolkit.library_dir(request.target_arch)?,
        })
    }

    /// Links `units`. Nothing runs if `compiled` is false and the libraries are up to date.
    pub(crate) fn link(
        &self,
        info: &BuildInfo,
        exports: &[String],
        units: &[Unit],
        compiled: bool,
    ) -> Result<Linked, Error> {
        let Request {
            manifest,
            out_dir,
            shared_library,
            ..
        } = self.request;
        let objects = out_dir.join("obj");
        let info_source = objects.join("build_info.c");
        let info_object = objects.join("build_info.o");
        let map = objects.join("exports.map");
        let record = objects.join("link.json");
        let static_library = out_dir.join(format!("lib{}.a", manifest.library));
        let shared = shared_library.then(|| out_dir.join(format!("lib{}.so", manifest.library)));

        let mut inputs: Vec<OsString> = units.iter().map(|u| u.object.clone().into()).collect();
        inputs.push(info_object.clone().into());
        let archive = strings(
            ["crsD".into(), static_library.clone().into_os_string()],
            &inputs,
        );
        let linking = shared
            .as_ref()
            .map(|shared| self.shared_arguments(shared, &map, &inputs));
        let commands = to_json(&(
            &self.cc,
            &self.ar,
            &self.cudart_dir,
            lossy(&archive),
            linking.as_deref().map(lossy),
        ));

        let wrote_info = write_if_changed(&info_source, &info.to_c(&manifest.prefix))?;
        let wrote_map = write_if_changed(&map, &version_script(exports))?;
        let same_commands = fs::read(&record).is_ok_and(|old| old == commands.as_bytes());
        let present = [Some(&static_library), shared.as_ref(), Some(&info_object)];
        let complete = present.into_iter().flatten().all(|path| path.is_file());
        if !compiled && !wrote_info && !wrote_map && same_commands && complete {
            return Ok(Linked {
                static_library,
                shared_library: shared,
                changed: false,
            });
        }
        let _ = fs::remove_file(&record);
        let compile_info = [
            "-O2",
            "-fPIC",
            "-fvisibility=hidden",
            "-c",
            "build_info.c",
            "-o",
            "build_info.o",
        ];
        run(
            Command::new(&self.cc)
                .args(compile_info)
                .current_dir(&objects),
            &format!("{}: the C compiler failed on build_info.c", manifest.name),
        )?;
        // ar adds to an archive that exists.
        let _ = fs::remove_file(&static_library);
        run(
            Command::new(&self.ar).args(&archive),
            &format!("{}: ar failed", manifest.name),
        )?;
        if let Some(linking) = linking {
            run(
                Command::new(&self.cc).args(&linking),
                &format!("{}: linking the shared library failed", manifest.name),
            )?;
        }
        write(&record, &commands)?;
        Ok(Linked {
            static_library,
            shared_library: shared,
            changed: true,
        })
    }

    fn shared_arguments(&self, shared: &Path, map: &Path, inputs: &[OsString]) -> Vec<OsString> {
        let manifest = self.request.manifest;
        let soname = format!("lib{}.so.{}", manifest.library, manifest.abi_version);
        let mut script = OsString::from("-Wl,--version-script=");
        script.push(map);
        let mut search = OsString::from("-L");
        search.push(&self.cudart_dir);
        let mut arguments = strings(
            [
                "-shared".into(),
                "-o".into(),
                shared.into(),
                format!("-Wl,-soname,{soname}").into(),
            ],
            inputs,
        );
        arguments.extend([script, search]);
        // Every symbol must be found here and now; cudart is inside, so that the machine that
        // loads the library needs the driver alone.
        arguments.extend(
            [
                "-Wl,-z,defs",
                "-Wl,--as-needed",
                "-Wl,--build-id=sha1",
                "-Wl,-z,noexecstack",
            ]
            .map(OsString::from),
        );
        arguments
            .extend(["-lcudart_static", "-lpthread", "-ldl", "-lrt", "-lm"].map(OsString::from));
        arguments
    }
}

/// Exactly these symbols leave the library.
fn version_script(exports: &[String]) -> String {
    let globals: String = exports
        .iter()
        .map(|name| format!("    {name};\n"))
        .collect();
    format!("{{\n  global:\n{globals}  local:\n    *;\n}};\n")
}

fn program(name: &OsStr, need: &str) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH");
    toolkit::resolve(name, path.as_deref()).ok_or_else(|| {
        Error::environment(format!(
            "{need}, and no {} was found",
            Path::new(name).display()
        ))
    })
}

fn strings<const N: usize>(first: [OsString; N], rest: &[OsString]) -> Vec<OsString> {
    first.into_iter().chain(rest.iter().cloned()).collect()
}

fn lossy(arguments: &[OsString]) -> Vec<String> {
    arguments
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}
