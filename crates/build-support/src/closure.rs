//! Which files a source includes, found by reading `#include` lines and running no compiler.
//!
//! Both branches of a condition are followed, so the answer covers the device build and the
//! simulator build of the same source alike. The compiler's own dependency output is still what a
//! build script watches; this is for digests, which must be computed where no compiler is.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::digest::{Language, without_comments};

/// `roots` and every file they reach by `#include`, sorted.
///
/// A name in quotes is looked for beside the including file, then in `include_dirs`; a name in
/// angle brackets only in `include_dirs`. A name found in neither is a system header and left out.
/// A root that cannot be read is an error.
pub fn scan(roots: &[PathBuf], include_dirs: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut reached = BTreeSet::new();
    let mut waiting: VecDeque<PathBuf> = roots.iter().map(|root| tidy(root)).collect();
    while let Some(path) = waiting.pop_front() {
        if reached.contains(&path) {
            continue;
        }
        let bytes = std::fs::read(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        for include in includes(&String::from_utf8_lossy(&bytes)) {
            let beside = include
                .quoted
                .then(|| path.parent().unwrap_or(Path::new("")));
            let found = beside
                .into_iter()
                .chain(include_dirs.iter().map(PathBuf::as_path))
                .map(|dir| tidy(&dir.join(&include.name)))
                .find(|candidate| candidate.is_file());
            waiting.extend(found);
        }
        reached.insert(path);
    }
    Ok(reached.into_iter().collect())
}

struct Include {
    name: String,
    quoted: bool,
}

fn includes(text: &str) -> Vec<Include> {
    without_comments(text, Language::Cpp)
        .lines()
        .filter_map(include_line)
        .collect()
}

fn include_line(line: &str) -> Option<Include> {
    let rest = line
        .trim_start()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?;
    let rest = rest.trim_start();
    let (close, quoted) = match rest.chars().next()? {
        '"' => ('"', true),
        '<' => ('>', false),
        _ => return None,
    };
    let name = &rest[1..];
    Some(Include {
        name: name[..name.find(close)?].to_owned(),
        quoted,
    })
}

/// `path` without `.` and with `a/..` folded, so that one file has one name.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory of its own below the system's temporary one, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("closure-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn includes_are_followed_through_both_branches_and_cycles() {
        let dir = Scratch::new("follow");
        let root = dir.write(
            "k/a.cu",
            "#include \"b.cuh\"\n#if X\n# include <ck/c.cuh> // why\n#else\n#include <vector>\n#endif\n",
        );
        let b = dir.write("k/b.cuh", "#include \"../k/b.cuh\"\n#include \"a.cu\"\n");
        let c = dir.write("inc/ck/c.cuh", "#include \"d.h\"\n");
        let d = dir.write("inc/ck/d.h", "");
        let found = scan(std::slice::from_ref(&root), &[dir.0.join("inc")]).unwrap();
        assert_eq!(found, vec![c, d, root, b]);
    }

    #[test]
    fn includes_in_comments_are_not_followed() {
        let dir = Scratch::new("comments");
        let root = dir.write(
            "a.cu",
            "// #include \"b.cuh\"\n/*\n#include \"b.cuh\"\n*/\n",
        );
        dir.write("b.cuh", "");
        assert_eq!(scan(std::slice::from_ref(&root), &[]).unwrap(), vec![root]);
    }

    #[test]
    fn angle_brackets_do_not_look_beside_the_file() {
        let dir = Scratch::new("angle");
        let root = dir.write("a.cu", "#include <b.cuh>\n");
        dir.write("b.cuh", "");
        assert_eq!(scan(std::slice::from_ref(&root), &[]).unwrap(), vec![root]);
    }

    #[test]
    fn a_missing_root_is_named() {
        let error = scan(&[PathBuf::from("no/such.cu")], &[]).unwrap_err();
        assert!(error.to_string().contains("no/such.cu"), "{error}");
    }
}
