//! `<name>.backend.json` as this workspace writes it. The JSON schema is made from these types.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// What a backend is, what it promises and how it is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this form.
    #[schemars(range(min = 1, max = 1))]
    pub schema_version: u32,
    /// The crate's and its directory's name.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"))]
    pub name: String,
    /// What `<prefix>_abi_version()` returns and `<PREFIX>_ABI_VERSION` in the header says.
    #[schemars(range(min = 1))]
    pub abi_version: u32,
    /// How far the backend is.
    pub status: Status,
    /// What every exported symbol begins with, without the underscore.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9]*$"))]
    pub prefix: String,
    /// The library is `lib<library>.so`: the name, with hyphens as underscores.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9_]*$"))]
    pub library: String,
    /// The C header, relative to the manifest.
    pub header: String,
    /// Every .cu and .cuh file, relative to the manifest. Each .cu is a translation unit.
    #[schemars(extend("uniqueItems" = true))]
    pub sources: Vec<String>,
    /// Rises when a tree or a polynomial changes, and with it the bytes of a result.
    #[schemars(range(min = 1))]
    pub numerics_version: u32,
    /// Directories of the repository that use the backend, each ending in `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("uniqueItems" = true))]
    pub models: Vec<String>,
    /// How it is compiled.
    pub build: Build,
    /// The claim about its results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Numerics")]
    pub numerics: Option<Numerics>,
    /// What proves the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reference")]
    pub reference: Option<Reference>,
    /// The operations.
    pub entry_points: Vec<EntryPoint>,
    /// Exported functions that are no operation, beside `<prefix>_abi_version`, `<prefix>_error_string` and
    /// `<prefix>_build_info`, which every library has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("uniqueItems" = true))]
    pub exports: Vec<String>,
    /// Ids of the cases that evidence and benchmarks must hold.
    #[serde(default)]
    pub cases: Cases,
    /// The directory of the evidence files, relative to the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub evidence: Option<String>,
}

/// How far a backend is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Status {
    /// Declared; nothing need be there yet.
    Planned,
    /// Builds; makes no claim about its results.
    Experimental,
    /// Its claim is proven by evidence.
    Validated,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Planned => "planned",
            Self::Experimental => "experimental",
            Self::Validated => "validated",
        })
    }
}

/// How a backend is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// What `xtask compile` builds for, e.g. `90` or `90a`.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    #[schemars(inner(regex(pattern = r"^([5-9][0-9]|1[0-9][0-9]|200)[af]?$")))]
    pub architectures: Vec<String>,
    /// The one built for where no other is asked for.
    pub default_arch: String,
    /// The lowest compute capability that the kernels run on, e.g. 75.
    #[schemars(range(min = 50, max = 200))]
    pub min_capability: u32,
    /// The oldest driver, e.g. `580.65`.
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+){0,2}$"))]
    pub min_driver: String,
    /// The oldest toolkit, e.g. `12.9`.
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]+$"))]
    pub min_toolkit: String,
    /// Further flags of single translation units, by source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: BTreeMap<String, Vec<String>>,
}

/// The claim about a backend's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Numerics {
    /// Number format of inputs and outputs, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub precision: Option<String>,
    /// What sums are made in, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub accumulation: Option<String>,
    /// Bounds, declared before anything is compared with them.
    #[serde(default)]
    pub tolerance: Tolerance,
}

/// Bounds by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = {"type": "number", "minimum": 0}))]
pub struct Tolerance {
    /// What the numbers mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub note: Option<String>,
    /// The numbers, none negative.
    #[serde(flatten)]
    pub bounds: BTreeMap<String, f64>,
}

/// What proves a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The suite that gpu-parity runs, relative to the repository.
    pub entrypoint: String,
    /// What it compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub note: Option<String>,
}

/// One operation of the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryPoint {
    /// The exported function.
    pub name: String,
    /// What it promises about its results.
    pub class: Class,
    /// The combinations of element types that it accepts, in the order of its arguments.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    #[schemars(inner(length(min = 1)))]
    pub dtypes: Vec<Vec<Dtype>>,
}

/// What an operation promises about its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
pub enum Class {
    /// The bytes of its oracle.
    Exact,
    /// A derived bound around the f64 oracle, for speed.
    Fast,
    /// A derived bound around the f64 oracle, because another library's bytes come in.
    Tolerance,
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = plain_enum)]
#[allow(missing_docs, reason = "each name says it all")]
pub enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    E4m3,
    E5m2,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
}

/// Ids of the cases that evidence and benchmarks must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    /// Cases that every evidence file must hold, each passed.
    #[serde(default)]
    #[schemars(extend("uniqueItems" = true))]
    #[schemars(inner(regex(pattern = r"^[!-~]+$")))]
    pub parity: Vec<String>,
    /// Cases of the benchmark.
    #[serde(default)]
    #[schemars(extend("uniqueItems" = true))]
    #[schemars(inner(regex(pattern = r"^[!-~]+$")))]
    pub bench: Vec<String>,
}

impl Manifest {
    /// The three functions that every library exports.
    pub fn standard_symbols(&self) -> [String; 3] {
        ["abi_version", "error_string", "build_info"].map(|name| format!("{}_{name}", self.prefix))
    }

    /// Every function that the library exports, sorted.
    pub fn symbols(&self) -> Vec<String> {
        let mut symbols: Vec<String> = self.standard_symbols().into();
        symbols.extend(self.entry_points.iter().map(|entry| entry.name.clone()));
        symbols.extend(self.exports.iter().cloned());
        symbols.sort_unstable();
        symbols
    }

    /// `lib<library>.so`.
    pub fn library_file(&self) -> String {
        format!("lib{}.so", self.library)
    }

    /// The macro that the header must define as `abi_version`.
    pub fn abi_macro(&self) -> String {
        format!("{}_ABI_VERSION", self.prefix.to_uppercase())
    }

    /// Its translation units.
    pub fn units(&self) -> impl Iterator<Item = &str> {
        self.sources
            .iter()
            .map(String::as_str)
            .filter(|source| source.ends_with(".cu"))
    }
}

/// Documented variants become a `oneOf` of constants, whose violation says nothing of use; a plain `enum` does.
pub(crate) fn plain_enum(schema: &mut Schema) {
    let Some(variants) = schema.remove("oneOf") else {
        return;
    };
    let names = variants
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|variant| {
            let documented = variant.get("const").cloned();
            let bare = variant
                .get("enum")
                .and_then(|names| names.as_array())
                .cloned();
            documented
                .into_iter()
                .chain(bare.into_iter().flatten())
                .collect::<Vec<_>>()
        });
    let names: Vec<_> = names.collect();
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), names.into());
}
