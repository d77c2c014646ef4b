//! docs/contract.md lists the codes that the code has.

use std::fs;
use std::path::Path;

use contract::{Code, Manifest};

#[test]
fn every_code_is_documented_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract.md");
    let text = fs::read_to_string(path).unwrap();
    let table: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let codes: Vec<&str> = table
        .iter()
        .copied()
        .skip_while(|line| !line.starts_with("| `root-missing`"))
        .take(Code::ALL.len())
        .collect();
    let expected: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            format!(
                "| `{}` | {} | {} |",
                code.name(),
                code.severity(),
                code.text()
            )
        })
        .collect();
    assert_eq!(
        codes,
        expected,
        "the table of docs/contract.md must read:\n{}",
        expected.join("\n")
    );
}

#[test]
fn the_manifest_shown_has_the_form_it_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("## The manifest").nth(1).unwrap();
    let block: String = section
        .lines()
        .skip_while(|line| !line.starts_with("    {"))
        .take_while(|line| line.starts_with("    "))
        .collect();
    let manifest: Manifest = serde_json::from_str(&block).unwrap();
    assert_eq!(manifest.library_file(), "libscoring.so");
}
