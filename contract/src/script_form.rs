//! The older form of the contract, in which a backend is built by a script of its own:
//! `src/backends/cuda/<name>/<name>.backend.json`, or flat, a manifest beside several backends' kernels.
//!
//! Its checker ignored keys that it did not know, so they only warn here. The script is read as text, never run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::check::{Backend, Form, Subject};
use crate::code::Code;
use crate::finding::Finding;
use crate::json::{child, kind};
use crate::manifest::Status;
use crate::paths;
use crate::workspace_form::{abi_macros, entrypoint_finding, model_finding};

mod script;

/// What a sound manifest of the older form says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptManifest {
    /// The backend's name.
    pub name: String,
    /// How far it is.
    pub status: Status,
    /// The version of its C ABI.
    pub abi_version: u64,
    /// Whether a macro in the declared sources confirms the version.
    pub abi_confirmed: bool,
    /// Its sources, relative to the manifest.
    pub sources: Vec<String>,
    /// The script that builds it, relative to the manifest.
    pub script: String,
    /// The file that the script writes.
    pub output: String,
    /// The architecture that the script builds for by default.
    pub default_arch: Option<u64>,
    /// The parity script, relative to the root.
    pub entrypoint: Option<String>,
}

/// Checks a manifest; answers with it if its form is right.
pub(crate) fn check(
    subject: &Subject,
    value: &Value,
    findings: &mut Vec<Finding>,
) -> Option<ScriptManifest> {
    let object = value.as_object()?;
    let mut rules = Rules { subject, findings };
    rules.file_name();
    rules.keys(
        object,
        "",
        &["name", "abi_version", "status", "sources", "build"],
        &["models", "numerics", "reference"],
    );
    let name = rules.name(object);
    let abi_version = rules.abi_version(object);
    let status = rules.status(object);
    let sources = rules.sources(object, status);
    let build = rules.build(object, status);
    rules.models(object);
    let tolerance = rules.tolerance(object);
    let entrypoint = rules.entrypoint(object, status);
    if status == Some(Status::Validated) && tolerance == Some(0) {
        let message = "a validated backend declares at least one number besides `note`";
        rules.report(Code::ToleranceMissing, "/numerics/tolerance", message);
    }
    let abi_confirmed = rules.abi_macro(abi_version, sources.as_deref().unwrap_or_default());
    let build = build?;
    Some(ScriptManifest {
        name: name?,
        status: status?,
        abi_version: abi_version?,
        abi_confirmed,
        sources: sources?,
        script: build.script,
        output: build.output,
        default_arch: build.default_arch,
        entrypoint,
    })
}

/// No loader can check one version where backends without a macro say different ones.
pub(crate) fn shared_abi(backends: &[Backend], findings: &mut Vec<Finding>) {
    let mut versions: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for backend in backends {
        if let Form::Script(manifest) = &backend.form
            && !manifest.abi_confirmed
        {
            versions
                .entry(manifest.abi_version)
                .or_default()
                .push(&backend.name);
        }
    }
    if versions.len() > 1 {
        let listed: Vec<_> = versions
            .iter()
            .map(|(version, names)| format!("{version} ({})", names.join(", ")))
            .collect();
        let message = format!(
            "backends whose sources define no _ABI_VERSION must agree on one abi_version: {}",
            listed.join(", ")
        );
        findings.push(Code::AbiDisagree.at("", "", message));
    }
}

/// The `build` object.
struct Build {
    script: String,
    output: String,
    default_arch: Option<u64>,
}

struct Rules<'a> {
    subject: &'a Subject<'a>,
    findings: &'a mut Vec<Finding>,
}

impl Rules<'_> {
    fn report(&mut self, code: Code, pointer: &str, message: impl Into<String>) {
        self.findings
            .push(code.at(&self.subject.path, pointer, message));
    }

    fn wrong_type(&mut self, pointer: &str, must: &str, value: &Value) {
        let message = format!("must be {must}, is {}: {value}", kind(value));
        self.report(Code::WrongType, pointer, message);
    }

    fn bad_value(&mut self, pointer: &str, must: &str, value: &Value) {
        self.report(
            Code::BadValue,
            pointer,
            format!("must be {must}, is {value}"),
        );
    }

    /// Whether the manifest lies beside the kernels of several backends instead of in a directory of its own.
    fn is_flat(&self) -> bool {
        self.subject.stem != self.subject.dir_name
    }

    /// A directory right below `backends/cuda` is one backend's, and its manifest is called after it.
    fn file_name(&mut self) {
        let parent = self.subject.dir.parent();
        let own_directory = parent.is_some_and(|parent| parent.ends_with("backends/cuda"));
        if self.is_flat() && own_directory {
            let message = format!(
                "must be called {}.backend.json, or nothing finds it",
                self.subject.dir_name
            );
            self.report(Code::ManifestMisnamed, "", message);
        }
    }

    fn keys(
        &mut self,
        object: &Map<String, Value>,
        pointer: &str,
        required: &[&str],
        optional: &[&str],
    ) {
        for key in required {
            if !object.contains_key(*key) {
                self.report(
                    Code::RequiredKey,
                    pointer,
                    format!("the key \"{key}\" is missing"),
                );
            }
        }
        for key in object.keys() {
            if !required.contains(&key.as_str()) && !optional.contains(&key.as_str()) {
                let finding = Code::UnknownKey.warning(
                    &self.subject.path,
                    child(pointer, key),
                    format!("the key {key:?} is unknown and ignored"),
                );
                self.findings.push(finding);
            }
        }
    }

    /// A string that is there and not empty.
    fn text(&mut self, pointer: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::String(_) => {
                self.bad_value(pointer, "a string that is not empty", value);
                None
            }
            _ => {
                self.wrong_type(pointer, "a string", value);
                None
            }
        }
    }

    /// A list of strings.
    fn texts(&mut self, pointer: &str, value: &Value) -> Option<Vec<String>> {
        let Some(items) = value.as_array() else {
            self.wrong_type(pointer, "a list of strings", value);
            return None;
        };
        let texts: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.text(&child(pointer, index), item))
            .collect();
        texts.into_iter().collect()
    }

    fn name(&mut self, object: &Map<String, Value>) -> Option<String> {
        let name = self.text("/name", object.get("name")?)?;
        let (must, what) = if self.is_flat() {
            (&self.subject.stem, "the file's stem")
        } else {
            (&self.subject.dir_name, "the directory's name")
        };
        if name != *must {
            let message = format!("must be {what}, {must:?}, is {name:?}");
            self.report(Code::NameMismatch, "/name", message);
        }
        Some(name)
    }

    fn abi_version(&mut self, object: &Map<String, Value>) -> Option<u64> {
        let value = object.get("abi_version")?;
        match value {
            Value::Number(number) if !number.is_f64() => {
                let version = number.as_u64().filter(|&version| version >= 1);
                if version.is_none() {
                    self.bad_value("/abi_version", "at least 1", value);
                }
                version
            }
            _ => {
                self.wrong_type("/abi_version", "an integer", value);
                None
            }
        }
    }

    fn status(&mut self, object: &Map<String, Value>) -> Option<Status> {
        let value = object.get("status")?;
        let status = serde_json::from_value(value.clone()).ok();
        if status.is_none() {
            if value.is_string() {
                self.bad_value("/status", "one of planned, experimental, validated", value);
            } else {
                self.wrong_type("/status", "a string", value);
            }
        }
        status
    }

    fn sources(
        &mut self,
        object: &Map<String, Value>,
        status: Option<Status>,
    ) -> Option<Vec<String>> {
        let sources = self.texts("/sources", object.get("sources")?)?;
        for (index, source) in sources.iter().enumerate() {
            let pointer = child("/sources", index);
            let must_be_there = status.is_some_and(|status| status != Status::Planned);
            if self.relative(&pointer, source)
                && must_be_there
                && !self.subject.dir.join(source).is_file()
            {
                self.report(
                    Code::SourceMissing,
                    &pointer,
                    format!("{source:?} is not there"),
                );
            }
        }
        Some(sources)
    }

    fn relative(&mut self, pointer: &str, path: &str) -> bool {
        let refusal = paths::refusal(path);
        if let Some(why) = refusal {
            let message = format!("must be a relative path without `..`; {path:?} {why}");
            self.report(Code::PathNotRelative, pointer, message);
        }
        refusal.is_none()
    }

    fn models(&mut self, object: &Map<String, Value>) {
        let Some(value) = object.get("models") else {
            return;
        };
        for (index, model) in self
            .texts("/models", value)
            .into_iter()
            .flatten()
            .enumerate()
        {
            self.findings
                .extend(model_finding(self.subject, child("/models", index), &model));
        }
    }

    /// The object at `key`, if it is one; `None` also where the key is absent.
    fn object<'v>(
        &mut self,
        parent: &'v Map<String, Value>,
        key: &str,
    ) -> Option<&'v Map<String, Value>> {
        let value = parent.get(key)?;
        if value.as_object().is_none() {
            self.wrong_type(&child("", key), "an object", value);
        }
        value.as_object()
    }

    /// How many numbers `numerics.tolerance` holds; `None` where its form is wrong, which is said then.
    fn tolerance(&mut self, object: &Map<String, Value>) -> Option<usize> {
        if !object.contains_key("numerics") {
            return Some(0);
        }
        let numerics = self.object(object, "numerics")?;
        self.keys(
            numerics,
            "/numerics",
            &[],
            &["precision", "accumulation", "tolerance", "note"],
        );
        let Some(value) = numerics.get("tolerance") else {
            return Some(0);
        };
        let Some(tolerance) = value.as_object() else {
            self.wrong_type("/numerics/tolerance", "an object", value);
            return None;
        };
        let mut numbers = 0;
        for (key, value) in tolerance.iter().filter(|(key, _)| *key != "note") {
            let pointer = child("/numerics/tolerance", key);
            match value.as_f64() {
                Some(number) if number >= 0.0 => {}
                Some(_) => {
                    let message = format!("must not be negative, is {value}");
                    self.report(Code::ToleranceValue, &pointer, message);
                }
                None => {
                    let message = format!("must be a number, is {}: {value}", kind(value));
                    self.report(Code::ToleranceValue, &pointer, message);
                }
            }
            numbers += 1;
        }
        Some(numbers)
    }

    fn entrypoint(
        &mut self,
        object: &Map<String, Value>,
        status: Option<Status>,
    ) -> Option<String> {
        let reference = self.object(object, "reference");
        let value = reference.and_then(|reference| reference.get("entrypoint"));
        if let Some(reference) = reference {
            self.keys(reference, "/reference", &[], &["entrypoint", "note"]);
        }
        let validated = status == Some(Status::Validated);
        let is_empty = value.is_some_and(|value| value == "");
        if value.is_none() || is_empty {
            // A `reference` of the wrong type is reported already.
            if validated && (reference.is_some() || !object.contains_key("reference")) {
                let message = "a validated backend names the script that gpu-parity runs";
                self.report(Code::EntrypointMissing, "/reference/entrypoint", message);
            }
            return None;
        }
        let entrypoint = self.text("/reference/entrypoint", value?)?;
        self.findings
            .extend(entrypoint_finding(self.subject, &entrypoint));
        Some(entrypoint)
    }

    fn build(&mut self, object: &Map<String, Value>, status: Option<Status>) -> Option<Build> {
        let build = self.object(object, "build")?;
        self.keys(
            build,
            "/build",
            &["script", "output", "architectures"],
            &["default_arch", "min_capability"],
        );
        let script = build
            .get("script")
            .and_then(|value| self.text("/build/script", value));
        let output = build
            .get("output")
            .and_then(|value| self.text("/build/output", value));
        let architectures = build
            .get("architectures")
            .and_then(|value| self.architectures(value));
        let mut capability = |key: &str| {
            let value = build.get(key)?;
            self.capability(&child("/build", key), value)
        };
        let (default_arch, min_capability) =
            (capability("default_arch"), capability("min_capability"));
        if let Some(archs) = &architectures {
            self.arch_rules(archs, default_arch, min_capability);
        }
        let script_file = script
            .as_deref()
            .filter(|script| self.relative("/build/script", script));
        if let Some(script) = script_file
            && status.is_some_and(|status| status != Status::Planned)
        {
            self.script(script, output.as_deref(), architectures.as_deref());
        }
        Some(Build {
            script: script?,
            output: output?,
            default_arch,
        })
    }

    fn capability(&mut self, pointer: &str, value: &Value) -> Option<u64> {
        const MUST: &str = "an integer compute capability from 50 to 200";
        match value {
            Value::Number(number) if !number.is_f64() => {
                let number = number.as_u64().filter(|number| (50..=200).contains(number));
                if number.is_none() {
                    self.bad_value(pointer, MUST, value);
                }
                number
            }
            _ => {
                self.wrong_type(pointer, MUST, value);
                None
            }
        }
    }

    fn architectures(&mut self, value: &Value) -> Option<Vec<u64>> {
        const POINTER: &str = "/build/architectures";
        let Some(items) = value.as_array() else {
            self.wrong_type(POINTER, "a list of compute capabilities", value);
            return None;
        };
        if items.is_empty() {
            self.bad_value(POINTER, "a list of at least one compute capability", value);
            return None;
        }
        let archs: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.capability(&child(POINTER, index), item))
            .collect();
        archs.into_iter().collect()
    }

    fn arch_rules(&mut self, archs: &[u64], default: Option<u64>, minimum: Option<u64>) {
        if let Some(default) = default
            && !archs.contains(&default)
        {
            let message = format!(
                "must be one of build.architectures ({}), is {default}",
                list(archs)
            );
            self.report(Code::DefaultArch, "/build/default_arch", message);
        }
        for (index, arch) in archs.iter().enumerate() {
            if minimum.is_some_and(|minimum| *arch < minimum) {
                let message = format!(
                    "{arch} is below build.min_capability, {}: the kernels do not run there",
                    minimum.unwrap_or_default()
                );
                self.report(
                    Code::MinCapability,
                    &child("/build/architectures", index),
                    message,
                );
            }
        }
    }

    /// The script is there, can be run, writes the output and reaches the architectures.
    fn script(&mut self, script: &str, output: Option<&str>, archs: Option<&[u64]>) {
        let file = self.subject.dir.join(script);
        if !file.is_file() {
            self.report(
                Code::ScriptMissing,
                "/build/script",
                format!("{script:?} is not there"),
            );
            return;
        }
        if !is_executable(&file) {
            let message = format!("{script:?} has no execute bit: git update-index --chmod=+x");
            self.report(Code::ScriptNotExecutable, "/build/script", message);
        }
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("{script:?} cannot be read: {error}");
                self.report(Code::ScriptMissing, "/build/script", message);
                return;
            }
        };
        let facts = script::read(&String::from_utf8_lossy(&bytes));
        if let Some(output) = output {
            self.output(script, output, &facts.output);
        }
        if let Some(archs) = archs {
            self.reach(script, archs, &facts);
        }
    }

    fn output(&mut self, script: &str, output: &str, written: &script::Output) {
        const POINTER: &str = "/build/output";
        match written {
            script::Output::Named(name) if name == output => {}
            script::Output::Named(name) => {
                let message = format!("is {output:?}, but the last -o of {script} writes {name:?}");
                self.report(Code::ScriptOutput, POINTER, message);
            }
            script::Output::Unknown(word) => {
                let message = format!(
                    "is {output:?}; what {word:?} behind the last -o of {script} stands for is known only at run time"
                );
                self.report(Code::ScriptOutputUnknown, POINTER, message);
            }
            script::Output::None => {
                let message = format!("is {output:?}, and no -o of {script} writes it");
                self.report(Code::ScriptOutput, POINTER, message);
            }
        }
    }

    fn reach(&mut self, script: &str, archs: &[u64], facts: &script::Facts) {
        const POINTER: &str = "/build/architectures";
        let unused: Vec<u64> = facts
            .assigned
            .iter()
            .copied()
            .filter(|arch| !facts.gencode.is_empty() && !facts.gencode.contains(arch))
            .collect();
        if !unused.is_empty() {
            let message = format!(
                "{script} assigns {}, which never reaches a -gencode flag; the flags pass {}",
                list(&unused),
                list(&facts.gencode)
            );
            self.report(Code::ScriptArchUnused, POINTER, message);
        }
        let reached = facts.reached();
        if reached.is_empty() {
            let message = format!("{script} names no architecture, so that the claim is unchecked");
            self.report(Code::ScriptArchNone, POINTER, message);
            return;
        }
        for (index, arch) in archs.iter().enumerate() {
            if !reached.contains(arch) {
                let message = format!("claims {arch}, but {script} reaches only {}", list(reached));
                self.report(Code::ScriptArchUnreached, &child(POINTER, index), message);
            }
        }
        let extra: Vec<u64> = reached
            .iter()
            .copied()
            .filter(|arch| !archs.contains(arch))
            .collect();
        if !extra.is_empty() {
            let message = format!(
                "{script} also builds for {}, which is not claimed",
                list(&extra)
            );
            self.report(Code::ScriptArchExtra, POINTER, message);
        }
    }

    /// Compares the version with the macros of the declared sources; whether there is one.
    fn abi_macro(&mut self, abi_version: Option<u64>, sources: &[String]) -> bool {
        const C_LIKE: [&str; 8] = ["h", "hpp", "hh", "cuh", "cu", "c", "cc", "cpp"];
        let mut found: BTreeMap<u64, String> = BTreeMap::new();
        for source in sources {
            let path = self.subject.dir.join(source);
            let extension = path.extension().and_then(|extension| extension.to_str());
            if paths::refusal(source).is_some() || !C_LIKE.contains(&extension.unwrap_or_default())
            {
                continue;
            }
            let Ok(bytes) = fs::read(&path) else { continue };
            for (name, version) in abi_macros(&String::from_utf8_lossy(&bytes)) {
                found
                    .entry(version)
                    .or_insert_with(|| format!("{source} defines {name}"));
            }
        }
        if found.len() > 1 {
            let all: Vec<_> = found
                .iter()
                .map(|(version, place)| format!("{place} as {version}"))
                .collect();
            let message = format!(
                "the sources define more than one ABI version: {}",
                all.join(", ")
            );
            self.report(Code::AbiConflict, "/abi_version", message);
        } else if let (Some((macro_version, place)), Some(version)) =
            (found.first_key_value(), abi_version)
            && *macro_version != version
        {
            let message = format!("is {version}, but {place} as {macro_version}");
            self.report(Code::AbiMismatch, "/abi_version", message);
        }
        !found.is_empty()
    }
}

fn list(archs: &[u64]) -> String {
    archs
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Elsewhere there is no such bit.
#[cfg(not(unix))]
fn is_executable(_file: &Path) -> bool {
    true
}
