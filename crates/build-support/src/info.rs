//! What a library says about how it was made: the JSON behind `<prefix>_build_info()`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Baked into every library at build time; evidence copies it and a check recomputes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInfo {
    /// The backend's name.
    pub name: String,
    /// The C ABI's number.
    pub abi: u32,
    /// The manifest's `numerics_version`.
    pub numerics_version: u32,
    /// Architectures whose machine code is inside, e.g. `90`.
    pub archs: Vec<String>,
    /// Architectures whose PTX is inside.
    pub ptx: Vec<String>,
    /// nvcc's version, e.g. `13.0.88`.
    pub nvcc: String,
    /// The flags that every translation unit is compiled with.
    pub flags: Vec<String>,
    /// Further flags of single translation units, by source.
    pub file_flags: BTreeMap<String, Vec<String>>,
    /// Digest of every file in the include closure, by path from the repository's root.
    pub sources: BTreeMap<String, String>,
}

impl BuildInfo {
    /// The JSON that the library answers, on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and maps of strings always serialise")
    }

    /// A C file that defines `<prefix>_build_info`.
    pub(crate) fn to_c(&self, prefix: &str) -> String {
        let mut literal = String::new();
        // One literal a line of modest length: compilers need not take longer ones.
        for (index, c) in self.to_json().chars().enumerate() {
            if index % 80 == 0 && index > 0 {
                literal.push_str("\"\n    \"");
            }
            match c {
                '"' | '\\' => literal.extend(['\\', c]),
                c => literal.push(c),
            }
        }
        format!(
            "/* Written by the build. */\n\
             const char *{prefix}_build_info(void);\n\
             __attribute__((visibility(\"default\"))) const char *{prefix}_build_info(void) {{\n  \
             return\n    \"{literal}\";\n}}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_literal_holds_the_json() {
        let info = BuildInfo {
            name: "quo\"te\\".to_owned(),
            abi: 1,
            numerics_version: 2,
            archs: vec!["90a".to_owned()],
            ptx: vec![],
            nvcc: "13.0.88".to_owned(),
            flags: vec!["-O3".to_owned()],
            file_flags: BTreeMap::new(),
            sources: BTreeMap::from([("crates/x/cuda/x.cu".to_owned(), "0".repeat(64))]),
        };
        let c = info.to_c("cx");
        let literal: String = c
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"'))
            .filter_map(|line| line.trim_end_matches(';').strip_suffix('"'))
            .collect();
        let mut chars = literal.chars();
        let mut unescaped = String::new();
        while let Some(c) = chars.next() {
            unescaped.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        assert_eq!(serde_json::from_str::<BuildInfo>(&unescaped).unwrap(), info);
        assert!(c.contains("const char *cx_build_info(void) {"), "{c}");
    }
}
