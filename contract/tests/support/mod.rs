//! Trees of files for the tests: a base, and cases that each change a little of it.
//!
//! A tree file begins with a remark. Each section is headed by `-- path how --`, where `how` is empty for a whole file,
//! `merge` for a JSON merge patch (RFC 7386) of the file that is there, `seal` for the same on evidence whose hash is
//! then computed anew, `replace` for `old => new` lines, `hex` for bytes, `remove`, and `mode=755` besides any of them.

#![allow(dead_code, reason = "every test uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use contract::evidence::{self, Case, Class, Expected, KnownBad, Outcome, Sanitizer};
use contract::{Evidence, Manifest};
use serde_json::Value;

/// A directory of its own below the system's temporary one, removed at the end.
pub struct Scratch {
    /// Where it is.
    pub root: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("contract-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Self {
            root: fs::canonicalize(root).unwrap(),
        }
    }

    /// The base tree called `base`, with its evidence.
    pub fn of(base: &str) -> Self {
        let scratch = Self::new();
        scratch.apply(&read(&tests().join("base").join(format!("{base}.tree"))));
        if base == "workspace" {
            scratch.write_evidence();
        }
        scratch
    }

    /// The text of a file of the tree.
    pub fn text(&self, path: &str) -> String {
        read(&self.root.join(path))
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes intact and current evidence for the backend of the base tree.
    pub fn write_evidence(&self) {
        let dir = self.root.join("crates/good-one");
        let manifest: Manifest =
            serde_json::from_str(&read(&dir.join("good-one.backend.json"))).unwrap();
        let expected = Expected::of(&self.root, &dir, &manifest).unwrap();
        let case = |id: &str, path: &str| Case {
            id: id.into(),
            path: path.into(),
            status: Outcome::Pass,
            worst_error: 0.0,
            tolerance: 0.0,
            outputs_compared: 12,
        };
        let evidence = Evidence {
            schema_version: 1,
            backend: manifest.name.clone(),
            class: Class::Gpu,
            abi_version: manifest.abi_version,
            numerics_version: manifest.numerics_version,
            gpu: "NVIDIA H200".into(),
            capability: "9.0".into(),
            driver: "580.65.06".into(),
            nvcc: "13.0.88".into(),
            archs: manifest.build.architectures.clone(),
            commit: "0123456789abcdef0123456789abcdef01234567".into(),
            dirty: false,
            seed: 20_250_901,
            sources: expected.sources,
            rust: expected.rust,
            flags: expected.flags,
            file_flags: expected.file_flags,
            cases: vec![
                case("small", "block"),
                case("large", "block"),
                case("large", "cluster"),
            ],
            sanitizer: [(
                "memcheck".to_owned(),
                Sanitizer {
                    status: Outcome::Pass,
                    cases: 2,
                },
            )]
            .into(),
            known_bad: vec![KnownBad {
                name: "no-op".into(),
                caught: true,
            }],
            bench: vec![evidence::BenchTime {
                case: "large".into(),
                mode: "hot".into(),
                median_us: 2.813_447_952_270_508,
            }],
            generated_at: "2025-09-01T12:00:00Z".into(),
            body_sha256: String::new(),
        };
        self.write(EVIDENCE, evidence.render().unwrap());
    }

    /// Applies the sections of a tree file.
    pub fn apply(&self, tree: &str) {
        for section in sections(tree) {
            self.section(&section);
        }
    }

    fn section(&self, section: &Section) {
        let path = self.root.join(&section.path);
        let how = |word: &str| section.how.iter().any(|how| how == word);
        if how("remove") {
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                fs::remove_file(&path).unwrap();
            }
        } else if how("merge") || how("seal") {
            let mut value: Value = serde_json::from_str(&read(&path)).unwrap();
            merge(&mut value, &serde_json::from_str(&section.text).unwrap());
            let text = if how("seal") {
                serde_json::from_value::<Evidence>(value)
                    .unwrap()
                    .render()
                    .unwrap()
            } else {
                format!("{value:#}\n")
            };
            self.write(&section.path, text);
        } else if how("replace") {
            let mut text = read(&path);
            for line in section.text.lines() {
                let (old, new) = line.split_once(" => ").unwrap();
                assert!(text.contains(old), "{old:?} is not in {}", section.path);
                text = text.replace(old, new);
            }
            self.write(&section.path, text);
        } else if how("hex") {
            let digits = section.text.split_whitespace();
            let bytes: Vec<u8> = digits
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect();
            self.write(&section.path, bytes);
        } else if !section.how.iter().any(|how| how.starts_with("mode="))
            || !section.text.is_empty()
        {
            self.write(&section.path, &section.text);
        }
        for mode in section
            .how
            .iter()
            .filter_map(|how| how.strip_prefix("mode="))
        {
            set_mode(&path, u32::from_str_radix(mode, 8).unwrap());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The evidence file of the base tree.
pub const EVIDENCE: &str = "docs/evidence/good-one/nvidia-h200.json";

/// The manifest of the base tree in this workspace's form.
pub const WORKSPACE: &str = "crates/good-one/good-one.backend.json";

/// The manifest of the base tree in the older form.
pub const SCRIPT: &str = "src/backends/cuda/good/good.backend.json";

/// The folder of these tests.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The findings of a tree, one a line.
pub fn findings(root: &Path) -> Vec<String> {
    contract::check(root)
        .findings
        .iter()
        .map(ToString::to_string)
        .collect()
}

struct Section {
    path: String,
    how: Vec<String>,
    text: String,
}

fn sections(tree: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in tree.lines() {
        let heading = line
            .strip_prefix("-- ")
            .and_then(|line| line.strip_suffix(" --"));
        if let Some(heading) = heading {
            let mut words = heading.split(' ').map(str::to_owned);
            let path = words.next().unwrap();
            sections.push(Section {
                path,
                how: words.collect(),
                text: String::new(),
            });
        } else if let Some(section) = sections.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        }
    }
    sections
}

/// RFC 7386: null removes, objects merge, anything else replaces.
fn merge(value: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let object = value.as_object_mut().unwrap();
    for (key, change) in patch {
        if change.is_null() {
            object.shift_remove(key);
        } else {
            merge(object.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) {}
