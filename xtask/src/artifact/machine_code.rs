//! The device code inside a library, through cuobjdump.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use object::{Object, ObjectSection};

use crate::toolkit::Inspector;

/// The architectures inside a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Those with machine code, each once.
    pub machine_code: Vec<String>,
    /// Those with PTX, each once.
    pub ptx: Vec<String>,
}

/// Lists what `file` holds.
pub fn list(inspector: &Inspector, file: &Path) -> anyhow::Result<Inside> {
    let listed = |flag| cuobjdump(inspector, &[flag], file, None);
    Ok(Inside {
        machine_code: architectures(&listed("--list-elf")?),
        // cuobjdump fails over a file without PTX; that is a finding, not a failure.
        ptx: listed("--list-ptx")
            .map(|text| architectures(&text))
            .unwrap_or_default(),
    })
}

/// The `sm_` names in cuobjdump's list of files, sorted as numbers.
fn architectures(listed: &str) -> Vec<String> {
    let mut found: Vec<String> = listed
        .lines()
        .filter_map(|line| {
            line.rsplit("sm_")
                .next()
                .filter(|rest| rest.len() < line.len())
        })
        .filter_map(|rest| rest.split('.').next())
        .map(str::to_owned)
        .collect();
    found.sort_by_key(|arch| {
        (
            arch.trim_end_matches(char::is_alphabetic).len(),
            arch.clone(),
        )
    });
    found.dedup();
    found
}

/// The instructions of every kernel in `object` for one architecture, by section name.
pub fn instructions(
    inspector: &Inspector,
    object: &Path,
    arch: &str,
    scratch: &Path,
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let _ = fs::remove_dir_all(scratch);
    fs::create_dir_all(scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    cuobjdump(inspector, &["--extract-elf", "all"], object, Some(scratch))?;
    let wanted = format!(".sm_{arch}.cubin");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(scratch).context("cannot list what cuobjdump extracted")? {
        let path = entry?.path();
        if !path.to_string_lossy().ends_with(&wanted) {
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let cubin = object::File::parse(&*bytes)
            .with_context(|| format!("{} is no ELF file", path.display()))?;
        for section in cubin.sections() {
            let name = section.name().unwrap_or_default();
            if name.starts_with(".text.") || name.starts_with(".nv.constant") {
                found.insert(name.to_owned(), section.data()?.to_vec());
            }
        }
    }
    let _ = fs::remove_dir_all(scratch);
    Ok(found)
}

fn cuobjdump(
    inspector: &Inspector,
    arguments: &[&str],
    file: &Path,
    dir: Option<&Path>,
) -> anyhow::Result<String> {
    let mut command = Command::new(&inspector.cuobjdump);
    command.args(arguments).arg(file);
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    let output = command
        .output()
        .with_context(|| format!("{} does not run", inspector.cuobjdump.display()))?;
    anyhow::ensure!(
        output.status.success(),
        "cuobjdump failed on {}: {}",
        file.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_from_the_list_of_files() {
        let listed = "ELF file    1: scoring.1.sm_100.cubin\nELF file    2: a.2.sm_90a.cubin\nELF file    3: b.sm_90a.cubin\nPTX file    1: a.sm_75.ptx\n\nnothing\n";
        assert_eq!(architectures(listed), ["75", "90a", "100"]);
        assert_eq!(architectures(""), [""; 0]);
    }
}
