//! Paths as manifests write them, and as findings name them.

use std::path::Path;

/// Why `path` may not stand in a manifest, where paths are relative, go only down and use `/`.
pub fn refusal(path: &str) -> Option<&'static str> {
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.is_empty() {
        Some("is empty")
    } else if path.starts_with('/') || drive {
        Some("is absolute")
    } else if path.contains('\\') {
        Some("contains a backslash")
    } else if path.contains('\0') {
        Some("contains a NUL")
    } else if path.split('/').any(|part| part == "..") {
        Some("contains `..`")
    } else if path.split('/').any(|part| part == "." || part.is_empty()) {
        Some("contains `.` or an empty part")
    } else {
        None
    }
}

/// `path` seen from `root`, with `/` on every system.
pub fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_downward_relative_paths_are_accepted() {
        for path in ["a", "a/b.cu", "..a/b", "a/...", ".hidden"] {
            assert_eq!(refusal(path), None, "{path}");
        }
        for path in [
            "", "/a", "../a", "a/../b", "a//b", "a/", "./a", "a\\b", "C:/a", "a\0",
        ] {
            assert!(refusal(path).is_some(), "{path:?}");
        }
    }
}
