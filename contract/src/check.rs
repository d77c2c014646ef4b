//! The check of a whole tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::code::Code;
use crate::finding::{Finding, Severity};
use crate::json;
use crate::manifest::{Manifest, Status};
use crate::paths;
use crate::script_form::{self, ScriptManifest};
use crate::tree::{SUFFIX, Tree, in_suite};
use crate::workspace_form;

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Every manifest, by path.
    pub backends: Vec<Backend>,
    /// Every finding, by path and pointer.
    pub findings: Vec<Finding>,
}

/// One manifest of a tree.
#[derive(Debug)]
pub struct Backend {
    /// Its name; the file's stem where it says none.
    pub name: String,
    /// Its status, where that can be read.
    pub status: Option<Status>,
    /// The manifest, relative to the root.
    pub path: String,
    /// The directory that its sources are relative to.
    pub dir: PathBuf,
    /// What the manifest holds.
    pub form: Form,
    /// Its evidence files.
    pub evidence: Vec<EvidenceFile>,
}

/// One evidence file of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceFile {
    /// Relative to the root.
    pub path: String,
    /// The GPU that it names, where it can be read.
    pub gpu: Option<String>,
    /// The worst finding about it; none where the evidence is intact and current.
    pub worst: Option<Severity>,
}

/// What a manifest holds.
#[derive(Debug)]
pub enum Form {
    /// This workspace's form.
    Workspace(Box<Manifest>),
    /// The older form, built by a script.
    Script(ScriptManifest),
    /// Neither, as the findings say.
    Unreadable,
}

impl Backend {
    /// The manifest, if it is in this workspace's form and sound enough to read.
    pub fn manifest(&self) -> Option<&Manifest> {
        match &self.form {
            Form::Workspace(manifest) => Some(manifest),
            Form::Script(_) | Form::Unreadable => None,
        }
    }
}

impl Report {
    /// Findings about that manifest file or about the evidence it names.
    pub fn findings_of<'a>(&'a self, backend: &'a Backend) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(|finding| {
            finding.path == backend.path
                || backend
                    .evidence
                    .iter()
                    .any(|evidence| evidence.path == finding.path)
        })
    }
}

/// Checks every `*.backend.json` below `root`.
pub fn check(root: &Path) -> Report {
    // The root's own name matters where a manifest lies right in it.
    let root = match fs::canonicalize(root) {
        Ok(root) if root.is_dir() => root,
        Ok(_) => return Report::of_root(root, "is not a directory"),
        Err(error) => return Report::of_root(root, format!("cannot be opened: {error}")),
    };
    let tree = Tree::read(&root);
    let mut report = Report {
        findings: tree.findings.clone(),
        ..Report::default()
    };
    for path in &tree.manifests {
        let backend = manifest(&root, path, &mut report.findings);
        report.backends.push(backend);
    }
    shared_names(&report.backends, &mut report.findings);
    script_form::shared_abi(&report.backends, &mut report.findings);
    kernels(&root, &tree, &report.backends, &mut report.findings);
    if tree.manifests.is_empty() {
        let message = format!("no *{SUFFIX} below this directory");
        report.findings.push(Code::NoBackends.at("", "", message));
    }
    report.findings.sort();
    report
}

impl Report {
    fn of_root(root: impl AsRef<Path>, what: impl Into<String>) -> Self {
        let path = root.as_ref().display().to_string();
        Self {
            findings: vec![Code::RootMissing.at(path, "", what)],
            ..Self::default()
        }
    }
}

/// A manifest file, as the rules of both forms see it.
pub(crate) struct Subject<'a> {
    /// The tree's root.
    pub root: &'a Path,
    /// The manifest's directory.
    pub dir: &'a Path,
    /// The manifest, relative to the root.
    pub path: String,
    /// The file's name without `.backend.json`.
    pub stem: String,
    /// The directory's name.
    pub dir_name: String,
}

/// Reads and checks one manifest.
fn manifest(root: &Path, path: &Path, findings: &mut Vec<Finding>) -> Backend {
    let name_of = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let dir = path.parent().unwrap_or(root);
    let file = name_of(path);
    let stem = file.strip_suffix(SUFFIX).unwrap_or(&file).to_owned();
    let subject = Subject {
        root,
        dir,
        path: paths::relative(root, path),
        stem,
        dir_name: name_of(dir),
    };
    let mut backend = Backend {
        name: subject.stem.clone(),
        status: None,
        path: subject.path.clone(),
        dir: dir.to_owned(),
        form: Form::Unreadable,
        evidence: Vec::new(),
    };
    let Some(value) = read(&subject, path, findings) else {
        return backend;
    };
    if let Some(name) = value
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
    {
        backend.name = name.to_owned();
    }
    backend.status = value
        .get("status")
        .and_then(|status| serde_json::from_value(status.clone()).ok());
    if is_script_form(&value) {
        if let Some(manifest) = script_form::check(&subject, &value, findings) {
            backend.form = Form::Script(manifest);
        }
    } else if let Some(manifest) = workspace_form::check(&subject, &value, findings) {
        backend.evidence = workspace_form::check_evidence(&subject, &manifest, findings);
        backend.form = Form::Workspace(Box::new(manifest));
    }
    backend
}

/// The manifest's object, if the file holds one.
fn read(subject: &Subject, path: &Path, findings: &mut Vec<Finding>) -> Option<Value> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let message = format!("cannot be read: {error}");
            findings.push(Code::ManifestUnreadable.at(&subject.path, "", message));
            return None;
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        findings.push(Code::ManifestUnreadable.at(&subject.path, "", "is not UTF-8"));
        return None;
    };
    let parsed = match json::parse(&text) {
        Ok(parsed) => parsed,
        Err(error) => {
            findings.push(Code::ManifestNotJson.at(
                &subject.path,
                "",
                format!("is not JSON: {error}"),
            ));
            return None;
        }
    };
    for pointer in parsed.duplicates {
        findings.push(Code::DuplicateKey.at(&subject.path, pointer, "the key stands here twice"));
    }
    if !parsed.value.is_object() {
        let message = format!("must be an object, is {}", json::kind(&parsed.value));
        findings.push(Code::WrongType.at(&subject.path, "", message));
        return None;
    }
    Some(parsed.value)
}

/// The older form is built by a script and has no version of its own. A manifest that says neither is told by the
/// keys that only this workspace's form has.
fn is_script_form(value: &Value) -> bool {
    const OURS: [&str; 7] = [
        "prefix",
        "library",
        "header",
        "numerics_version",
        "entry_points",
        "cases",
        "evidence",
    ];
    let has = |key: &str| value.get(key).is_some();
    let script = value
        .get("build")
        .is_some_and(|build| build.get("script").is_some());
    !has("schema_version") && (script || !OURS.iter().any(|key| has(key)))
}

/// No two backends of a tree share a name or a prefix.
fn shared_names(backends: &[Backend], findings: &mut Vec<Finding>) {
    let mut names = BTreeMap::new();
    let mut prefixes = BTreeMap::new();
    for backend in backends {
        if matches!(backend.form, Form::Unreadable) {
            continue;
        }
        if let Some(other) = names.insert(&backend.name, &backend.path) {
            let message = format!("{:?} is the name of {other} too", backend.name);
            findings.push(Code::NameTaken.at(&backend.path, "/name", message));
        }
        let Some(manifest) = backend.manifest() else {
            continue;
        };
        if let Some(other) = prefixes.insert(&manifest.prefix, &backend.path) {
            let message = format!("{:?} is the prefix of {other} too", manifest.prefix);
            findings.push(Code::PrefixTaken.at(&backend.path, "/prefix", message));
        }
    }
}

/// Every kernel source belongs to a manifest or to the suite.
fn kernels(root: &Path, tree: &Tree, backends: &[Backend], findings: &mut Vec<Finding>) {
    for (dir, files) in &tree.kernels {
        if in_suite(root, dir) {
            continue;
        }
        let owners = owners(dir, backends);
        if owners.is_empty() {
            let mut names: Vec<String> = files
                .iter()
                .take(3)
                .map(|file| paths::relative(dir, file))
                .collect();
            if files.len() > names.len() {
                names.push("...".into());
            }
            let message = format!(
                "holds kernels ({}) and neither it nor a directory above has a manifest",
                names.join(", ")
            );
            findings.push(Code::KernelWithoutManifest.at(paths::relative(root, dir), "", message));
            continue;
        }
        // Where a manifest cannot be read, its list is unknown, and that is an error already.
        if owners
            .iter()
            .any(|owner| matches!(owner.form, Form::Unreadable))
        {
            continue;
        }
        for file in files {
            if !owners.iter().any(|owner| lists(owner, file)) {
                let owner = owners[0];
                let message = format!("is not among the sources of {}", owner.path);
                let path = paths::relative(root, file);
                let code = Code::KernelNotInSources;
                findings.push(match owner.form {
                    Form::Script(_) => code.warning(path, "", message),
                    Form::Workspace(_) | Form::Unreadable => code.at(path, "", message),
                });
            }
        }
    }
}

/// The backends of the nearest directory above (or at) `dir` that has manifests.
fn owners<'a>(dir: &Path, backends: &'a [Backend]) -> Vec<&'a Backend> {
    let above = backends
        .iter()
        .filter(|backend| dir.starts_with(&backend.dir));
    let nearest = above
        .clone()
        .map(|backend| backend.dir.components().count())
        .max();
    above
        .filter(|backend| Some(backend.dir.components().count()) == nearest)
        .collect()
}

fn lists(backend: &Backend, file: &Path) -> bool {
    let sources = match &backend.form {
        Form::Workspace(manifest) => &manifest.sources,
        Form::Script(manifest) => &manifest.sources,
        Form::Unreadable => return false,
    };
    sources
        .iter()
        .any(|source| backend.dir.join(source) == file)
}
