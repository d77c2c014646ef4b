//! The rules of this workspace's form, beyond what its schema says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use build_support::digest::{self, Language};
use build_support::header;
use serde_json::Value;

use crate::check::{EvidenceFile, Subject};
use crate::code::Code;
use crate::evidence::{self, Expected};
use crate::finding::{Finding, Severity};
use crate::manifest::{Manifest, Status};
use crate::{json, paths, schema};

/// Checks a manifest; answers with it if its form is right.
pub(crate) fn check(
    subject: &Subject,
    value: &Value,
    findings: &mut Vec<Finding>,
) -> Option<Manifest> {
    if subject.stem != subject.dir_name {
        let message = format!("must be called {}.backend.json", subject.dir_name);
        findings.push(Code::ManifestMisnamed.at(&subject.path, "", message));
    }
    let violations = schema::manifest_violations(value);
    let sound = violations.is_empty();
    for violation in violations {
        let tolerance = violation.pointer.starts_with("/numerics/tolerance/");
        let code = if tolerance {
            Code::ToleranceValue
        } else {
            violation.code
        };
        findings.push(code.at(&subject.path, violation.pointer, violation.message));
    }
    let manifest: Manifest = match serde_json::from_value(value.clone()) {
        Ok(manifest) if sound => manifest,
        Ok(_) => return None,
        Err(error) => {
            if sound {
                // For the schema 2.0 is an integer; for the types, and for most readers of JSON, it is not.
                let mut floats = Vec::new();
                whole_floats(value, String::new(), &mut floats);
                let found = floats.into_iter().map(|pointer| {
                    let message = "must be written as an integer, without a point";
                    Code::WrongType.at(&subject.path, pointer, message)
                });
                let before = findings.len();
                findings.extend(found);
                if findings.len() == before {
                    findings.push(Code::WrongType.at(&subject.path, "", error.to_string()));
                }
            }
            return None;
        }
    };
    let mut rules = Rules {
        subject,
        manifest: &manifest,
        findings,
    };
    rules.names();
    rules.paths();
    rules.architectures();
    rules.flags();
    rules.symbols();
    rules.abi();
    rules.claim();
    Some(manifest)
}

/// Pointers of the whole numbers that are written with a point, but for tolerances, which may be.
fn whole_floats(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Number(number) if number.is_f64() => found.push(pointer),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                whole_floats(item, json::child(&pointer, index), found);
            }
        }
        Value::Object(object) if pointer != "/numerics/tolerance" => {
            for (key, item) in object {
                whole_floats(item, json::child(&pointer, key), found);
            }
        }
        _ => {}
    }
}

struct Rules<'a> {
    subject: &'a Subject<'a>,
    manifest: &'a Manifest,
    findings: &'a mut Vec<Finding>,
}

impl Rules<'_> {
    fn report(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>) {
        self.findings
            .push(code.at(&self.subject.path, pointer, message));
    }

    /// Whether the manifest's files must be there.
    fn must_build(&self) -> bool {
        self.manifest.status != Status::Planned
    }

    fn names(&mut self) {
        let Manifest { name, library, .. } = self.manifest;
        if *name != self.subject.dir_name {
            let message = format!(
                "must be the directory's name, {:?}, is {name:?}",
                self.subject.dir_name
            );
            self.report(Code::NameMismatch, "/name", message);
        }
        let expected = name.replace('-', "_");
        if *library != expected {
            let message = format!("must be {expected:?}, is {library:?}");
            self.report(Code::LibraryName, "/library", message);
        }
    }

    /// Reports `path` unless it may stand in a manifest.
    fn relative(&mut self, pointer: &str, path: &str) -> bool {
        let refusal = paths::refusal(path);
        if let Some(why) = refusal {
            let message = format!("must be a relative path without `..`; {path:?} {why}");
            self.report(Code::PathNotRelative, pointer, message);
        }
        refusal.is_none()
    }

    fn paths(&mut self) {
        let manifest = self.manifest;
        for (index, source) in manifest.sources.iter().enumerate() {
            let pointer = json::child("/sources", index);
            if self.relative(&pointer, source)
                && self.must_build()
                && !self.subject.dir.join(source).is_file()
            {
                self.report(
                    Code::SourceMissing,
                    pointer,
                    format!("{source:?} is not there"),
                );
            }
        }
        if self.must_build() && manifest.units().next().is_none() {
            let message = format!("a backend that is {} needs a .cu file", manifest.status);
            self.report(Code::NoTranslationUnit, "/sources", message);
        }
        for (index, model) in manifest.models.iter().enumerate() {
            let pointer = json::child("/models", index);
            if let Some(finding) = model_finding(self.subject, pointer, model) {
                self.findings.push(finding);
            }
        }
        if let Some(evidence) = &manifest.evidence {
            self.relative("/evidence", evidence);
        }
        if let Some(reference) = &manifest.reference
            && let Some(finding) = entrypoint_finding(self.subject, &reference.entrypoint)
        {
            self.findings.push(finding);
        }
    }

    fn architectures(&mut self) {
        let build = &self.manifest.build;
        if !build.architectures.contains(&build.default_arch) {
            let message = format!(
                "must be one of build.architectures ({}), is {:?}",
                build.architectures.join(", "),
                build.default_arch
            );
            self.report(Code::DefaultArch, "/build/default_arch", message);
        }
        for (index, arch) in build.architectures.iter().enumerate() {
            let number: u32 = arch.trim_end_matches(['a', 'f']).parse().unwrap_or(0);
            if number < build.min_capability {
                let message = format!(
                    "{arch:?} is below build.min_capability, {}: the kernels do not run there",
                    build.min_capability
                );
                let pointer = json::child("/build/architectures", index);
                self.report(Code::MinCapability, pointer, message);
            }
        }
    }

    fn flags(&mut self) {
        for (file, flags) in &self.manifest.build.flags {
            let pointer = json::child("/build/flags", file);
            if !self.manifest.units().any(|unit| unit == file) {
                let message = format!("{file:?} is no .cu file of sources");
                self.report(Code::FlagsFile, &pointer, message);
            }
            for (index, flag) in flags.iter().enumerate() {
                if let Some(why) = flag_refusal(flag) {
                    let message = format!("{flag:?} is not allowed: {why}");
                    self.report(Code::FlagForbidden, json::child(&pointer, index), message);
                }
            }
        }
    }

    /// Entry points, exports and the header name the same functions.
    fn symbols(&mut self) {
        let manifest = self.manifest;
        if self.must_build() && manifest.entry_points.is_empty() {
            let message = format!("a backend that is {} needs an entry point", manifest.status);
            self.report(Code::NoEntryPoint, "/entry_points", message);
        }
        let standard = manifest.standard_symbols();
        let entries = manifest
            .entry_points
            .iter()
            .enumerate()
            .map(|(index, entry)| {
                (
                    format!("{}/name", json::child("/entry_points", index)),
                    entry.name.as_str(),
                )
            });
        let exports = manifest.exports.iter().enumerate();
        let exports = exports.map(|(index, name)| (json::child("/exports", index), name.as_str()));
        let listed: Vec<_> = entries.chain(exports).collect();
        let mut seen: BTreeSet<&str> = standard.iter().map(String::as_str).collect();
        for (pointer, name) in &listed {
            if !name
                .strip_prefix(&manifest.prefix)
                .is_some_and(|rest| rest.starts_with('_'))
            {
                let message = format!("must begin with \"{}_\", is {name:?}", manifest.prefix);
                self.report(Code::SymbolPrefix, pointer, message);
            }
            if !seen.insert(name) {
                self.report(
                    Code::SymbolTwice,
                    pointer,
                    format!("{name:?} is listed already"),
                );
            }
        }
        let Some(text) = self.header_text() else {
            return;
        };
        let declared = header::functions(&text, &manifest.prefix);
        let standard = standard
            .iter()
            .map(|name| ("/header".to_owned(), name.as_str()));
        let wanted: Vec<_> = listed.iter().cloned().chain(standard).collect();
        if self.must_build() {
            for (pointer, name) in &wanted {
                if !declared.iter().any(|function| function == name) {
                    let message = format!("{} does not declare {name:?}", manifest.header);
                    self.report(Code::SymbolNotInHeader, pointer, message);
                }
            }
        }
        for function in &declared {
            if !wanted.iter().any(|(_, name)| name == function) {
                let message =
                    format!("declares {function:?}, which neither entry_points nor exports names");
                self.report(Code::SymbolNotInManifest, "/header", message);
            }
        }
    }

    /// The header's text where it can be read. [`Self::abi`] reports where it cannot.
    fn header_text(&self) -> Option<String> {
        if paths::refusal(&self.manifest.header).is_some() {
            return None;
        }
        fs::read_to_string(self.subject.dir.join(&self.manifest.header)).ok()
    }

    fn abi(&mut self) {
        let manifest = self.manifest;
        if !self.relative("/header", &manifest.header) {
            return;
        }
        let Some(text) = self.header_text() else {
            if self.must_build() {
                let message = format!("{:?} is not there", manifest.header);
                self.report(Code::HeaderMissing, "/header", message);
            }
            return;
        };
        let name = manifest.abi_macro();
        match abi_macros(&text).get(&name) {
            None => {
                let message = format!("{} must define {name} as a number", manifest.header);
                self.report(Code::AbiMacroMissing, "/header", message);
            }
            Some(&version) if version != u64::from(manifest.abi_version) => {
                let message = format!(
                    "is {}, but {} defines {name} as {version}",
                    manifest.abi_version, manifest.header
                );
                self.report(Code::AbiMismatch, "/abi_version", message);
            }
            Some(_) => {}
        }
    }

    /// What a validated backend must have declared.
    fn claim(&mut self) {
        let manifest = self.manifest;
        if manifest.status != Status::Validated {
            return;
        }
        let bounds = manifest
            .numerics
            .as_ref()
            .map(|numerics| &numerics.tolerance.bounds);
        if bounds.is_none_or(BTreeMap::is_empty) {
            let message = "a validated backend declares at least one number besides `note`";
            self.report(Code::ToleranceMissing, "/numerics/tolerance", message);
        }
        if manifest.reference.is_none() {
            let message = "a validated backend names the suite that gpu-parity runs";
            self.report(Code::EntrypointMissing, "/reference/entrypoint", message);
        }
        if manifest.cases.parity.is_empty() {
            let message = "a validated backend lists the cases that its evidence must hold";
            self.report(Code::CasesMissing, "/cases/parity", message);
        }
        if manifest.evidence.is_none() {
            let message = "a validated backend names the directory of its evidence";
            self.report(Code::EvidenceMissing, "/evidence", message);
        }
    }
}

/// What is wrong with a `models` entry.
pub(crate) fn model_finding(subject: &Subject, pointer: String, model: &str) -> Option<Finding> {
    let directory = model.strip_suffix('/');
    let refusal = directory.map_or(Some("does not end in `/`"), paths::refusal);
    if let Some(why) = refusal {
        let message =
            format!("must be a relative directory without `..` that ends in `/`; {model:?} {why}");
        return Some(Code::ModelPath.at(&subject.path, pointer, message));
    }
    let absent = !subject.root.join(model).is_dir();
    absent.then(|| {
        Code::ModelAbsent.at(
            &subject.path,
            pointer,
            format!("{model:?} is not in the tree"),
        )
    })
}

/// What is wrong with a reference.entrypoint.
pub(crate) fn entrypoint_finding(subject: &Subject, entrypoint: &str) -> Option<Finding> {
    const POINTER: &str = "/reference/entrypoint";
    if let Some(why) = paths::refusal(entrypoint) {
        let message = format!("must be a relative path without `..`; {entrypoint:?} {why}");
        return Some(Code::PathNotRelative.at(&subject.path, POINTER, message));
    }
    let absent = !subject.root.join(entrypoint).is_file();
    absent.then(|| {
        let message = format!("{entrypoint:?} is not there, so that nothing could be run");
        Code::EntrypointAbsent.at(&subject.path, POINTER, message)
    })
}

/// Why a flag may not be given to a single file.
fn flag_refusal(flag: &str) -> Option<&'static str> {
    let name = flag
        .split('=')
        .next()
        .unwrap_or(flag)
        .trim_start_matches('-');
    match name {
        "use_fast_math" | "ftz" | "prec-div" | "prec-sqrt" | "fmad" => {
            Some("arithmetic is the same in every file")
        }
        "G" | "device-debug" => Some("device debug changes registers and speed"),
        "rdc" | "relocatable-device-code" | "dc" | "device-c" | "dlto" => {
            Some("relocatable device code is never made")
        }
        "gencode" | "generate-code" | "arch" | "gpu-architecture" | "code" | "gpu-code" => {
            Some("build.architectures says what to build for")
        }
        _ => None,
    }
}

/// Every `#define NAME_ABI_VERSION number` of a C text. Comments do not count.
pub(crate) fn abi_macros(text: &str) -> BTreeMap<String, u64> {
    let text = digest::normalise(text, Language::Cpp);
    let definitions = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix('#')?.split_whitespace();
        if words.next() != Some("define") {
            return None;
        }
        let name = words.next().filter(|name| name.ends_with("_ABI_VERSION"))?;
        let value = words.collect::<String>();
        let number = value
            .trim_matches(['(', ')'])
            .trim_end_matches(['u', 'U', 'l', 'L']);
        Some((name.to_owned(), number.parse().ok()?))
    });
    definitions.collect()
}

/// Checks the evidence that the manifest names.
pub(crate) fn check_evidence(
    subject: &Subject,
    manifest: &Manifest,
    findings: &mut Vec<Finding>,
) -> Vec<EvidenceFile> {
    let Some(directory) = &manifest.evidence else {
        return Vec::new();
    };
    if manifest.status == Status::Planned || paths::refusal(directory).is_some() {
        return Vec::new();
    }
    let files = evidence_files(&subject.root.join(directory));
    if files.is_empty() {
        if manifest.status == Status::Validated {
            let message = format!("a validated backend has evidence, and {directory:?} holds none");
            findings.push(Code::EvidenceMissing.at(&subject.path, "/evidence", message));
        }
        return Vec::new();
    }
    // Where a source or the header is missing, that is said already, and nothing can be recomputed.
    let complete = manifest
        .sources
        .iter()
        .chain([&manifest.header])
        .all(|file| paths::refusal(file).is_none() && subject.dir.join(file).is_file());
    let expected = complete
        .then(|| Expected::of(subject.root, subject.dir, manifest))
        .transpose();
    let expected = expected.unwrap_or_else(|error| {
        let message = error.replace(&format!("{}/", subject.root.display()), "");
        findings.push(Code::ClosureUnreadable.at(&subject.path, "/sources", message));
        None
    });
    files
        .iter()
        .map(|file| {
            let path = paths::relative(subject.root, file);
            let (evidence, found) = evidence::check(&path, file, manifest, expected.as_ref());
            // The order of weight is error, stale, warning.
            let worst = found.iter().map(|finding| finding.severity).min();
            findings.extend(found);
            EvidenceFile {
                path,
                gpu: evidence.map(|evidence| evidence.gpu),
                worst: worst.filter(|&severity| severity != Severity::Warning),
            }
        })
        .collect()
}

fn evidence_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}
