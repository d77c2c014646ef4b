//! What every library must answer, whatever its kernels do.

use crate::{Library, Result};
use std::ffi::c_int;

/// Checks the functions that the contract asks of every library.
///
/// `codes` are the status codes that the header defines. Returns what is wrong, one sentence each.
///
/// # Errors
/// [`crate::Error::Symbol`] when one of the functions is not exported.
pub fn conformance(
    library: &Library,
    prefix: &str,
    abi_version: u32,
    codes: &[c_int],
) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let version = library.abi_version(prefix)?;
    if version != abi_version {
        wrong.push(format!(
            "{prefix}_abi_version: was {version}, must be {abi_version}"
        ));
    }
    // Success, a CUDA error, every code of the header, and codes that nobody defined.
    let always = [0, 1, 999, 1000, 100_000, -1, c_int::MIN, c_int::MAX];
    let mut texts = std::collections::BTreeMap::new();
    for &code in codes.iter().chain(&always) {
        match library.error_string(prefix, code)? {
            None => wrong.push(format!("{prefix}_error_string({code}): was null")),
            Some(text) if text.is_empty() => {
                wrong.push(format!("{prefix}_error_string({code}): was empty"));
            }
            Some(text) => {
                if codes.contains(&code)
                    && let Some(other) = texts.insert(text.clone(), code).filter(|o| *o != code)
                {
                    wrong.push(format!(
                        "{prefix}_error_string: {other} and {code} have one text, {text:?}"
                    ));
                }
            }
        }
    }
    match library.build_info(prefix)? {
        None => wrong.push(format!("{prefix}_build_info: was null")),
        Some(text) => match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(value) if value.is_object() => {}
            Ok(_) => wrong.push(format!("{prefix}_build_info: not a JSON object")),
            Err(error) => wrong.push(format!("{prefix}_build_info: not JSON: {error}")),
        },
    }
    Ok(wrong)
}
