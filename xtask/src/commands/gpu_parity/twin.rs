//! The simulator beside the GPU: the named subset on both, bytes compared directly, no oracle
//! between them. What simulated runs say of kernels rests on this.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::Finding;
use parity::twins::{self, Twin};
use parity::{Class, Gpu, Library, Model, Simulator, Tags};
use serde_json::{Value, json};
use simulator::Flavor;

use crate::output::Output;
use crate::suite::Target;
use crate::suite_library::simulated;

/// What became of it.
pub struct Twins {
    /// Cases that ran on both.
    cases: usize,
    /// Paths of them.
    paths: usize,
    /// What differed.
    differ: Vec<String>,
    /// Why nothing could be compared.
    unchecked: Option<String>,
}

impl Twins {
    /// As a document holds it.
    pub fn to_json(&self) -> Value {
        json!({"cases": self.cases, "paths": self.paths, "unchecked": self.unchecked})
    }

    /// What is to be said of it, if anything.
    pub fn findings(&self, target: &Target) -> Vec<Finding> {
        let differ = self
            .differ
            .iter()
            .map(|what| target.error("parity-simulator", what.clone()));
        let unchecked = self.unchecked.iter().map(|why| {
            let message = format!("the simulator was not compared with the GPU: {why}");
            target.warning("parity-unchecked", message)
        });
        differ.chain(unchecked).collect()
    }
}

/// The library that a bundle carries, else one built here.
fn library(root: &Path, target: &Target) -> anyhow::Result<PathBuf> {
    let carried = root.join(simulated(&target.manifest.library_file()));
    match simulator::build(&target.dir, Flavor::Plain) {
        Ok(built) => Ok(built),
        Err(_) if carried.is_file() => Ok(carried),
        Err(error) => Err(error.into()),
    }
}

/// Runs the exact cases of the named subset on both.
pub fn run(
    gpu: &Gpu,
    on_gpu: &Library,
    root: &Path,
    target: &Target,
    filter: Option<&str>,
    seed: u64,
    out: &Output,
) -> Twins {
    let mut twins = Twins {
        cases: 0,
        paths: 0,
        differ: Vec::new(),
        unchecked: None,
    };
    let opened = library(root, target).and_then(|path| {
        let library = Arc::new(Library::open(path)?);
        let device = Simulator::open(library.clone(), Model::HOPPER)?;
        Ok((library, device))
    });
    let (simulated, device) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            twins.unchecked = Some(format!("{error:#}"));
            return twins;
        }
    };
    let pair = [
        Twin {
            device: gpu,
            library: on_gpu,
        },
        Twin {
            device: &device,
            library: &simulated,
        },
    ];
    let cases = target.cases(Tags::SANITIZE | Tags::SIMULATE, filter);
    for case in cases.iter().filter(|case| case.class == Class::Exact) {
        twins.cases += 1;
        match twins::same_bytes(case, seed, pair) {
            Ok((differ, paths)) => {
                twins.paths += paths;
                let id = &case.id;
                twins
                    .differ
                    .extend(differ.into_iter().map(|what| format!("{id}: {what}")));
            }
            Err(error) => twins.differ.push(error.to_string()),
        }
    }
    let name = target.backend.name;
    let verdict = if twins.differ.is_empty() {
        "the same bytes".to_owned()
    } else {
        format!("{} differences", twins.differ.len())
    };
    out.say(format_args!(
        "{name}: simulator beside GPU, {} cases on {} paths: {verdict}",
        twins.cases, twins.paths
    ));
    twins
}
