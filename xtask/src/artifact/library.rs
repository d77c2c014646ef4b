//! What a shared library says to the dynamic linker.

use std::path::Path;

use anyhow::Context;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol};

/// The dynamic face of a shared library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// Functions and objects that it defines for others, sorted.
    pub exports: Vec<String>,
    /// Its SONAME.
    pub soname: Option<String>,
    /// Libraries that it needs, sorted.
    pub needed: Vec<String>,
}

/// Reads a library file.
pub fn read(path: &Path) -> anyhow::Result<Face> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    face(&bytes).with_context(|| format!("{} is no shared library", path.display()))
}

fn face(bytes: &[u8]) -> anyhow::Result<Face> {
    let file = object::File::parse(bytes)?;
    let mut exports: Vec<String> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect();
    exports.sort_unstable();

    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let (mut soname, mut needed) = (None, Vec::new());
    for section in sections.iter() {
        let Some((entries, strings)) = section.dynamic(endian, bytes)? else {
            continue;
        };
        let strings = sections.strings(endian, bytes, strings)?;
        for entry in entries {
            let name = || -> anyhow::Result<String> {
                let offset = u32::try_from(entry.d_val(endian))?;
                let name = strings
                    .get(offset)
                    .map_err(|()| anyhow::anyhow!("a string is missing"))?;
                Ok(String::from_utf8_lossy(name).into_owned())
            };
            match entry.tag(endian) {
                elf::DT_SONAME => soname = Some(name()?),
                elf::DT_NEEDED => needed.push(name()?),
                _ => {}
            }
        }
    }
    needed.sort_unstable();
    Ok(Face {
        exports,
        soname,
        needed,
    })
}

/// Libraries that every Linux system with glibc has: a kernel library may need no other.
pub fn is_system_library(name: &str) -> bool {
    let stem = name.split(".so").next().unwrap_or(name);
    matches!(stem, "libc" | "libm" | "libdl" | "librt" | "libpthread")
        || stem.starts_with("ld-linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        assert!(face(b"").is_err());
        assert!(face(b"\x7fELF\x02\x01\x01").is_err());
        assert!(
            read(Path::new("no/such.so"))
                .unwrap_err()
                .to_string()
                .contains("no/such.so")
        );
    }

    #[test]
    fn the_cpp_runtime_and_cudart_are_no_system_libraries() {
        for name in [
            "libc.so.6",
            "libm.so.6",
            "ld-linux-x86-64.so.2",
            "libdl.so.2",
        ] {
            assert!(is_system_library(name), "{name}");
        }
        for name in [
            "libstdc++.so.6",
            "libcudart.so.13",
            "libcuda.so.1",
            "libgcc_s.so.1",
        ] {
            assert!(!is_system_library(name), "{name}");
        }
    }
}
