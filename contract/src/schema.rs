//! The JSON schemas made from the types, and findings made from their violations.

use std::sync::LazyLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::code::Code;
use crate::evidence::Evidence;
use crate::json;
use crate::manifest::Manifest;

/// contract/schema/backend.schema.json: the manifest's schema.
pub fn manifest() -> String {
    text::<Manifest>()
}

/// contract/schema/evidence.schema.json: the evidence's schema.
pub fn evidence() -> String {
    text::<Evidence>()
}

fn text<T: JsonSchema>() -> String {
    let schema = value::<T>();
    format!("{schema:#}\n")
}

fn value<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<T>().into()
}

fn validator<T: JsonSchema>() -> Validator {
    jsonschema::validator_for(&value::<T>()).expect("a schema made from a type is valid")
}

static MANIFEST: LazyLock<Validator> = LazyLock::new(validator::<Manifest>);
static EVIDENCE: LazyLock<Validator> = LazyLock::new(validator::<Evidence>);

/// One way in which a value breaks a schema.
#[derive(Debug)]
pub(crate) struct Violation {
    /// Which kind of rule.
    pub code: Code,
    /// Where.
    pub pointer: String,
    /// What is there and what must be.
    pub message: String,
}

/// How `value` breaks the manifest's schema.
pub(crate) fn manifest_violations(value: &Value) -> Vec<Violation> {
    violations(&MANIFEST, value)
}

/// How `value` breaks the evidence's schema.
pub(crate) fn evidence_violations(value: &Value) -> Vec<Violation> {
    violations(&EVIDENCE, value)
}

fn violations(validator: &Validator, value: &Value) -> Vec<Violation> {
    validator.iter_errors(value).flat_map(explain).collect()
}

/// A violation in our words; an unknown key is named at its own place.
fn explain(error: ValidationError<'_>) -> Vec<Violation> {
    let pointer = error.instance_path().as_str();
    let is = || shorten(error.instance());
    let one = |code, message| {
        vec![Violation {
            code,
            pointer: pointer.to_owned(),
            message,
        }]
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            one(Code::RequiredKey, format!("the key {property} is missing"))
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|key| Violation {
                code: Code::UnknownKey,
                pointer: json::child(pointer, key),
                message: format!("the key {key:?} is unknown"),
            })
            .collect(),
        ValidationErrorKind::Type { kind } => {
            let kinds = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                TypeKind::Multiple(kinds) => kinds
                    .iter()
                    .map(|kind| kind.to_string())
                    .collect::<Vec<_>>()
                    .join(" or "),
            };
            let found = json::kind(error.instance());
            one(
                Code::WrongType,
                format!("must be of type {kinds}, is {found}: {}", is()),
            )
        }
        ValidationErrorKind::Enum { options } => {
            let options = options
                .as_array()
                .into_iter()
                .flatten()
                .map(Value::to_string);
            let options = options.collect::<Vec<_>>().join(", ");
            one(
                Code::BadValue,
                format!("must be one of {options}, is {}", is()),
            )
        }
        ValidationErrorKind::Pattern { pattern } => {
            one(Code::BadValue, format!("must match {pattern}, is {}", is()))
        }
        ValidationErrorKind::Minimum { limit } => one(
            Code::BadValue,
            format!("must be at least {limit}, is {}", is()),
        ),
        ValidationErrorKind::Maximum { limit } => one(
            Code::BadValue,
            format!("must be at most {limit}, is {}", is()),
        ),
        ValidationErrorKind::MinItems { limit } => one(
            Code::BadValue,
            format!("must have at least {limit} item, has {}", is()),
        ),
        ValidationErrorKind::UniqueItems => one(
            Code::BadValue,
            format!("must not repeat an item, is {}", is()),
        ),
        _ => one(Code::BadValue, error.to_string()),
    }
}

/// A value as a message shows it.
fn shorten(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
