//! Where the tree is.

use std::path::{Path, PathBuf};
use std::{env, io};

/// The directory that `--root` names, else [`root`].
pub fn root_or(given: Option<&Path>) -> io::Result<PathBuf> {
    given.map_or_else(root, |given| Ok(given.to_owned()))
}

/// The directory that a command works on when no `--root` is given: the workspace that cargo runs xtask from,
/// else the nearest folder above the current one that looks like it, else the current one (a bundle).
pub fn root() -> io::Result<PathBuf> {
    let is_workspace = |dir: &PathBuf| dir.join("xtask/Cargo.toml").is_file();
    let from_cargo = env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|dir| PathBuf::from(dir).parent().map(PathBuf::from))
        .filter(is_workspace);
    if let Some(root) = from_cargo {
        return Ok(root);
    }
    let current = env::current_dir()?;
    let above = current.ancestors().map(PathBuf::from).find(is_workspace);
    Ok(above.unwrap_or(current))
}
