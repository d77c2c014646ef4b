//! The functions that a checked-in `ffi.rs` declares.

/// The names of the functions in `extern "C"` blocks, sorted.
pub fn functions(ffi: &str) -> Vec<String> {
    let mut found: Vec<String> = signatures(ffi).map(|(name, _)| name.to_owned()).collect();
    found.sort_unstable();
    found
}

/// Each declared function: its name, and what follows the name up to the semicolon.
pub fn signatures(ffi: &str) -> impl Iterator<Item = (&str, &str)> {
    ffi.split("pub fn ").skip(1).filter_map(|rest| {
        let (declaration, _) = rest.split_once(';')?;
        let open = declaration.find('(')?;
        // A function with a body is none of C's.
        (!declaration.contains('{')).then(|| (declaration[..open].trim(), &declaration[open..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_and_functions_with_bodies_are_not() {
        let ffi = "pub fn helper() -> u32 { 1; }\nunsafe extern \"C\" {\n    pub fn cx_b(\n        a: *const f32,\n    ) -> i32;\n    pub fn cx_a();\n}\n";
        assert_eq!(functions(ffi), ["cx_a", "cx_b"]);
        let of_b = signatures(ffi).find(|(name, _)| *name == "cx_b").unwrap().1;
        assert_eq!(
            of_b.split_whitespace().collect::<String>(),
            "(a:*constf32,)->i32"
        );
    }
}
