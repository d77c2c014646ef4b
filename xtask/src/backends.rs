//! The kernel crates that this tool knows: their oracles and cases are linked in, without `cuda`;
//! their libraries are loaded at run time.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bench_kit::Bench;
use parity::Case;
use serde::Deserialize;

/// One kernel crate.
pub struct Backend {
    /// Its name, as its manifest says it.
    pub name: &'static str,
    /// Its parity cases.
    pub cases: fn() -> Vec<Case>,
    /// What the bench measures.
    pub benches: fn() -> Vec<Bench>,
}

/// Every kernel crate of the workspace, by name.
pub const BACKENDS: &[Backend] = &[
    Backend {
        name: "gdn-scan",
        cases: gdn_scan::cases::cases,
        benches: gdn_scan::bench::benches,
    },
    Backend {
        name: "mamba2-scan",
        cases: mamba2_scan::cases::cases,
        benches: mamba2_scan::bench::benches,
    },
    Backend {
        name: "mlp",
        cases: mlp::cases::cases,
        benches: mlp::bench::benches,
    },
    Backend {
        name: "reduce",
        cases: reduce::cases::cases,
        benches: reduce::bench::benches,
    },
    Backend {
        name: "rms-norm",
        cases: rms_norm::cases::cases,
        benches: rms_norm::bench::benches,
    },
    Backend {
        name: "scoring",
        cases: scoring::cases::cases,
        benches: scoring::bench::benches,
    },
];

/// The kernel crate of that name.
pub fn find(name: &str) -> Option<&'static Backend> {
    BACKENDS.iter().find(|backend| backend.name == name)
}

/// What was baked in when this tool was built.
#[derive(Debug, Deserialize)]
pub struct Baked {
    /// The commit of the tree, or `unknown`.
    pub commit: String,
    /// Whether tracked files differed from it.
    pub dirty: bool,
    rust: BTreeMap<String, BTreeMap<String, String>>,
}

impl Baked {
    /// The digests of the Rust files that a backend's oracle, wrapper, cases and suite were
    /// compiled from.
    pub fn rust(&self, backend: &str) -> BTreeMap<String, String> {
        self.rust.get(backend).cloned().unwrap_or_default()
    }
}

/// What was baked in.
pub fn baked() -> &'static Baked {
    static BAKED: OnceLock<Baked> = OnceLock::new();
    BAKED.get_or_init(|| {
        serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/baked.json")))
            .expect("the build script writes this form")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_case_ids_are_unique_within_a_backend() {
        let mut names = std::collections::BTreeSet::new();
        for backend in BACKENDS {
            assert!(
                names.insert(backend.name),
                "{} stands here twice",
                backend.name
            );
            let cases = (backend.cases)();
            assert_eq!(
                parity::suite::names(&cases),
                Vec::<String>::new(),
                "{}",
                backend.name
            );
            assert!(!cases.is_empty(), "{} has no case", backend.name);
        }
    }

    #[test]
    fn every_backends_rust_files_are_baked_in() {
        for backend in BACKENDS {
            let rust = baked().rust(backend.name);
            assert!(
                rust.keys().any(|file| file.ends_with("src/cases.rs")),
                "{}",
                backend.name
            );
            assert!(
                rust.contains_key("crates/parity/src/compare.rs"),
                "{}",
                backend.name
            );
        }
        assert!(baked().commit == "unknown" || baked().commit.len() == 40);
    }
}
