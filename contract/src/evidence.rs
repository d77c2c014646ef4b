//! What a GPU run proved, and whether it still holds for the tree.
//!
//! `docs/evidence/<name>/<gpu>.json` is written by a run, from what is baked into the library and the tool that ran.
//! Its body hash shows that nothing was changed since; its digests show whether the tree is still what ran. This finds
//! rot, not forgery: whoever can run [`Evidence::render`] can write whatever they like.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use build_support::{digest, nvcc, sources};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::code::Code;
use crate::finding::Finding;
use crate::manifest::{Manifest, plain_enum};
use crate::{json, schema};

/// One evidence file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Version of this form.
    #[schemars(range(min = 1, max = 1))]
    pub schema_version: u32,
    /// The backend's name.
    pub backend: String,
    /// What ran the kernels.
    pub class: Class,
    /// What the library's `<prefix>_abi_version()` returned.
    pub abi_version: u32,
    /// The manifest's `numerics_version` that the library was built with.
    pub numerics_version: u32,
    /// The GPU's name, as its driver gives it.
    #[schemars(length(min = 1))]
    pub gpu: String,
    /// Its compute capability, e.g. `9.0`.
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]+$"))]
    pub capability: String,
    /// The driver's version.
    #[schemars(length(min = 1))]
    pub driver: String,
    /// The version of nvcc that built the library.
    #[schemars(length(min = 1))]
    pub nvcc: String,
    /// Architectures whose machine code the library holds.
    #[schemars(length(min = 1))]
    pub archs: Vec<String>,
    /// The commit that the tool was built from.
    #[schemars(regex(pattern = r"^([0-9a-f]{40}|unknown)$"))]
    pub commit: String,
    /// Whether the tree then held changes beside that commit.
    pub dirty: bool,
    /// The seed of the inputs.
    pub seed: u64,
    /// Digest of every file in the include closure of the sources, by path from the root.
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": "^[0-9a-f]{64}$"}))]
    pub sources: BTreeMap<String, String>,
    /// Digest of every Rust file of wrapper, oracle, cases and suite, by path from the root.
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": "^[0-9a-f]{64}$"}))]
    pub rust: BTreeMap<String, String>,
    /// The flags that every translation unit was compiled with.
    pub flags: Vec<String>,
    /// Further flags of single translation units, by source.
    pub file_flags: BTreeMap<String, Vec<String>>,
    /// Every case on every forced path.
    pub cases: Vec<Case>,
    /// What the sanitizers said, by tool.
    pub sanitizer: BTreeMap<String, Sanitizer>,
    /// The kernels that the harness must fail, and whether it did.
    pub known_bad: Vec<KnownBad>,
    /// Times of the same run, where it took any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bench: Vec<BenchTime>,
    /// When, as RFC 3339 in UTC.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"))]
    pub generated_at: String,
    /// SHA-256 of everything else, in canonical JSON: no blank space, keys sorted.
    #[serde(default)]
    #[schemars(required, regex(pattern = r"^[0-9a-f]{64}$"))]
    pub body_sha256: String,
}

/// What ran the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Class {
    /// A GPU.
    Gpu,
    /// The simulator.
    Emulated,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = plain_enum)]
pub enum Outcome {
    /// It ran and found nothing.
    Pass,
    /// It ran and found something.
    Fail,
    /// It could not run.
    CouldNotCheck,
}

/// One case on one forced path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The case's id, as the manifest's `cases.parity` lists it.
    pub id: String,
    /// The path that was forced; `automatic` where none was.
    pub path: String,
    /// How it ended.
    pub status: Outcome,
    /// The largest error, in the unit of the tolerance. Exact cases: 0.
    #[schemars(range(min = 0.0))]
    pub worst_error: f64,
    /// What the error may be at most. Exact cases: 0.
    #[schemars(range(min = 0.0))]
    pub tolerance: f64,
    /// How many output elements were compared.
    pub outputs_compared: u64,
}

/// What one sanitizer said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sanitizer {
    /// How it ended.
    pub status: Outcome,
    /// How many cases ran under it.
    pub cases: u64,
}

/// A kernel that the harness must fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownBad {
    /// What is wrong with it.
    pub name: String,
    /// Whether the harness failed it.
    pub caught: bool,
}

/// One time of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchTime {
    /// The benchmark's case.
    pub case: String,
    /// `hot` or `cold`.
    pub mode: String,
    /// The median.
    #[schemars(range(min = 0.0))]
    pub median_us: f64,
}

impl Evidence {
    /// The file's text, with [`Evidence::body_sha256`] computed, or what makes this no evidence at all (a number that
    /// is not finite, a malformed commit).
    pub fn render(&self) -> Result<String, String> {
        let mut value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        value["body_sha256"] = body_sha256(&value).into();
        match schema::evidence_violations(&value).first() {
            Some(violation) => Err(format!("{}: {}", violation.pointer, violation.message)),
            None => Ok(pretty(&value)),
        }
    }

    /// Parses a file's text and checks that it is what a run wrote; `path` is what findings name.
    pub fn parse(path: &str, text: &str) -> Result<Evidence, Vec<Finding>> {
        // A checkout may have changed the line ends.
        let text = text.replace("\r\n", "\n");
        let parsed = json::parse(&text).map_err(|error| {
            vec![Code::EvidenceNotJson.at(path, "", format!("is not JSON: {error}"))]
        })?;
        let mut findings: Vec<Finding> = parsed
            .duplicates
            .iter()
            .map(|pointer| Code::DuplicateKey.at(path, pointer, "the key stands here twice"))
            .collect();
        let value = parsed.value;
        findings.extend(
            schema::evidence_violations(&value)
                .into_iter()
                .map(|violation| {
                    Code::EvidenceSchema.at(path, violation.pointer, violation.message)
                }),
        );
        if !findings.is_empty() {
            return Err(findings);
        }
        let evidence: Evidence = serde_json::from_value(value.clone())
            .map_err(|error| vec![Code::EvidenceSchema.at(path, "", error.to_string())])?;
        let hash = body_sha256(&value);
        if evidence.body_sha256 != hash {
            let message =
                format!("must be {hash} for this body; the body was changed after the run");
            return Err(vec![Code::EvidenceBody.at(path, "/body_sha256", message)]);
        }
        // The last digit of a number may be one that no longer counts; the text still is not what the run wrote.
        if pretty(&value) != text {
            let message = "the text is not as the run wrote it; run it again instead of editing";
            return Err(vec![Code::EvidenceBody.at(path, "", message)]);
        }
        Ok(evidence)
    }
}

/// What an evidence file is called for a GPU: `NVIDIA H200` gives `nvidia-h200`.
pub fn file_stem(gpu: &str) -> String {
    let mut stem = String::new();
    for c in gpu.chars() {
        if c.is_ascii_alphanumeric() {
            stem.push(c.to_ascii_lowercase());
        } else if !stem.ends_with('-') && !stem.is_empty() {
            stem.push('-');
        }
    }
    stem.trim_end_matches('-').to_owned()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The hash of everything but `body_sha256`.
fn body_sha256(value: &Value) -> String {
    let mut body = value.clone();
    if let Some(object) = body.as_object_mut() {
        object.remove("body_sha256");
    }
    body.sort_all_objects();
    digest::sha256(body.to_string().as_bytes())
}

/// What evidence of a backend must say to be current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// As [`Evidence::sources`].
    pub sources: BTreeMap<String, String>,
    /// As [`Evidence::rust`].
    pub rust: BTreeMap<String, String>,
    /// As [`Evidence::flags`].
    pub flags: Vec<String>,
    /// As [`Evidence::file_flags`].
    pub file_flags: BTreeMap<String, Vec<String>>,
}

impl Expected {
    /// Computes it from the tree at `root` for the backend in `dir`, or says which file stands in the way.
    pub fn of(root: &Path, dir: &Path, manifest: &Manifest) -> Result<Self, String> {
        let shared = root.join("crates/build-support/include");
        let for_build = serde_json::to_value(manifest)
            .and_then(serde_json::from_value::<build_support::manifest::Manifest>)
            .map_err(|error| error.to_string())?;
        let sources = sources::digests(dir, &for_build, &shared).map_err(|e| e.to_string())?;
        let rust = build_support::suite::rust_digests(root, dir).map_err(|e| e.to_string())?;
        Ok(Self {
            sources,
            rust,
            flags: nvcc::FLAGS.iter().map(|&flag| flag.to_owned()).collect(),
            file_flags: manifest.build.flags.clone(),
        })
    }
}

/// Checks one file against the manifest and, where it can be read, the tree.
pub(crate) fn check(
    path: &str,
    file: &Path,
    manifest: &Manifest,
    expected: Option<&Expected>,
) -> (Option<Evidence>, Vec<Finding>) {
    let text = match fs::read(file).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            return (
                None,
                vec![Code::EvidenceUnreadable.at(path, "", "is not UTF-8")],
            );
        }
        Err(error) => {
            let message = format!("cannot be read: {error}");
            return (None, vec![Code::EvidenceUnreadable.at(path, "", message)]);
        }
    };
    let evidence = match Evidence::parse(path, &text) {
        Ok(evidence) => evidence,
        Err(findings) => return (None, findings),
    };
    let stem = file
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut check = Check {
        path,
        evidence: &evidence,
        manifest,
        findings: Vec::new(),
    };
    check.subject(&stem);
    check.cases();
    check.harness();
    if let Some(expected) = expected {
        check.freshness(expected);
    }
    let findings = check.findings;
    (Some(evidence), findings)
}

struct Check<'a> {
    path: &'a str,
    evidence: &'a Evidence,
    manifest: &'a Manifest,
    findings: Vec<Finding>,
}

impl Check<'_> {
    fn report(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>) {
        self.findings.push(code.at(self.path, pointer, message));
    }

    /// The evidence is about this backend and filed under its GPU.
    fn subject(&mut self, stem: &str) {
        let Evidence {
            backend,
            gpu,
            abi_version,
            numerics_version,
            ..
        } = self.evidence;
        let manifest = self.manifest;
        if *backend != manifest.name {
            let message = format!("must be {:?}, is {backend:?}", manifest.name);
            self.report(Code::EvidenceSubject, "/backend", message);
        }
        if file_stem(gpu) != stem {
            let message = format!("{gpu:?} belongs in {}.json", file_stem(gpu));
            self.report(Code::EvidenceSubject, "/gpu", message);
        }
        if self.evidence.class == Class::Emulated {
            let message = "a simulation is no evidence of what a GPU does";
            self.report(Code::EvidenceEmulated, "/class", message);
        }
        // These two are in the header and the manifest, which may have moved on since the run.
        if *abi_version != manifest.abi_version {
            let message = format!(
                "is {abi_version}, the manifest says {}",
                manifest.abi_version
            );
            self.report(Code::EvidenceStale, "/abi_version", message);
        }
        if *numerics_version != manifest.numerics_version {
            let message = format!(
                "is {numerics_version}, the manifest says {}",
                manifest.numerics_version
            );
            self.report(Code::EvidenceStale, "/numerics_version", message);
        }
    }

    /// Every case of the manifest is there, and every case that is there passed.
    fn cases(&mut self) {
        let (cases, manifest) = (&self.evidence.cases, self.manifest);
        for id in &manifest.cases.parity {
            if !cases.iter().any(|case| case.id == *id) {
                let message = format!("the manifest's case {id:?} is missing");
                self.report(Code::EvidenceCaseMissing, "/cases", message);
            }
        }
        for (index, case) in cases.iter().enumerate() {
            let what = if case.status != Outcome::Pass {
                "did not pass".to_owned()
            } else if case.worst_error > case.tolerance {
                format!(
                    "has an error of {}, more than {}",
                    case.worst_error, case.tolerance
                )
            } else if case.outputs_compared == 0 {
                "compared no output".to_owned()
            } else {
                continue;
            };
            let message = format!("{} on path {} {what}", case.id, case.path);
            self.report(
                Code::EvidenceCaseFailed,
                json::child("/cases", index),
                message,
            );
        }
    }

    /// The harness can fail, and the sanitizers found nothing.
    fn harness(&mut self) {
        let evidence = self.evidence;
        if evidence.known_bad.is_empty() {
            let message =
                "no known-bad kernel was run, so that nothing shows that the harness can fail";
            self.report(Code::EvidenceKnownBad, "/known_bad", message);
        }
        for (index, bad) in evidence.known_bad.iter().enumerate() {
            if !bad.caught {
                let message = format!("the harness passed {:?}", bad.name);
                self.report(
                    Code::EvidenceKnownBad,
                    json::child("/known_bad", index),
                    message,
                );
            }
        }
        if evidence.sanitizer.is_empty() {
            let message = "no sanitizer was run";
            self.report(Code::EvidenceSanitizerSkipped, "/sanitizer", message);
        }
        for (tool, result) in &evidence.sanitizer {
            let pointer = json::child("/sanitizer", tool);
            match result.status {
                Outcome::Fail => {
                    self.report(Code::EvidenceSanitizer, pointer, format!("{tool} failed"));
                }
                Outcome::CouldNotCheck => {
                    let message = format!("{tool} could not run");
                    self.report(Code::EvidenceSanitizerSkipped, pointer, message);
                }
                Outcome::Pass if result.cases == 0 => {
                    let message = format!("{tool} passed without a case");
                    self.report(Code::EvidenceSanitizer, pointer, message);
                }
                Outcome::Pass => {}
            }
        }
    }

    /// What ran is what the tree holds.
    fn freshness(&mut self, expected: &Expected) {
        let evidence = self.evidence;
        self.digests("/sources", &evidence.sources, &expected.sources);
        self.digests("/rust", &evidence.rust, &expected.rust);
        if evidence.flags != expected.flags {
            let message = "the common flags have changed since the run";
            self.report(Code::EvidenceStale, "/flags", message);
        }
        if evidence.file_flags != expected.file_flags {
            let message = "build.flags has changed since the run";
            self.report(Code::EvidenceStale, "/file_flags", message);
        }
    }

    fn digests(
        &mut self,
        pointer: &str,
        ran: &BTreeMap<String, String>,
        tree: &BTreeMap<String, String>,
    ) {
        for (file, digest) in tree {
            let what = match ran.get(file) {
                Some(then) if then == digest => continue,
                Some(_) => "has changed since the run",
                None => "was no part of the run",
            };
            self.report(
                Code::EvidenceStale,
                json::child(pointer, file),
                format!("{file} {what}"),
            );
        }
        for file in ran.keys().filter(|&file| !tree.contains_key(file)) {
            let message = format!("{file} was part of the run and no longer is of the backend");
            self.report(Code::EvidenceStale, json::child(pointer, file), message);
        }
    }
}
