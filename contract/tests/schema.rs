//! The schemas that are checked in are those of the types.

use std::fs;
use std::path::Path;

use contract::schema;

/// Compares the generated text with the file, as `cargo xtask codegen --check` does.
fn assert_checked_in(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("schema")
        .join(name);
    let text = fs::read_to_string(&path)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    assert_eq!(
        text,
        generated,
        "{} is out of date: cargo xtask codegen",
        path.display()
    );
}

#[test]
fn the_manifest_schema_is_checked_in() {
    assert_checked_in("backend.schema.json", &schema::manifest());
    insta::assert_snapshot!(schema::manifest());
}

#[test]
fn the_evidence_schema_is_checked_in() {
    assert_checked_in("evidence.schema.json", &schema::evidence());
}

#[test]
fn the_schemas_are_schemas() {
    for text in [schema::manifest(), schema::evidence()] {
        let value = serde_json::from_str(&text).unwrap();
        if let Err(error) = jsonschema::meta::validate(&value) {
            panic!("{error}");
        }
    }
}

#[test]
fn no_schema_accepts_what_it_does_not_name() {
    // A tree of alternatives would tell its reader nothing about what is wrong.
    for text in [schema::manifest(), schema::evidence()] {
        assert!(!text.contains("oneOf") && !text.contains("anyOf"));
        assert!(!text.contains("\"null\""));
    }
}
