//! `new`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::output::{Document, Exit, Failure, Output};
use crate::workspace;

/// Scaffold a backend that passes check-contract as planned.
///
/// Writes crates/NAME: manifest, C header, kernel, launch, oracle and build script of a small working example.
#[derive(clap::Args)]
pub struct Args {
    /// The backend's name: lower-case letters, digits and single hyphens.
    pub name: String,
    /// What every exported symbol begins with; default: the name without hyphens.
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<String>,
    /// The tree to work on; default: the workspace.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// What is written, below the crate's directory: path and template.
const FILES: [(&str, &str); 8] = [
    (
        "Cargo.toml",
        include_str!("../../templates/Cargo.toml.tmpl"),
    ),
    (
        "@name@.backend.json",
        include_str!("../../templates/backend.json.tmpl"),
    ),
    ("build.rs", include_str!("../../templates/build.rs.tmpl")),
    (
        "include/@library@.h",
        include_str!("../../templates/header.h.tmpl"),
    ),
    (
        "cuda/@library@.cuh",
        include_str!("../../templates/kernel.cuh.tmpl"),
    ),
    (
        "cuda/@library@.cu",
        include_str!("../../templates/kernel.cu.tmpl"),
    ),
    ("src/lib.rs", include_str!("../../templates/lib.rs.tmpl")),
    (
        "src/oracle.rs",
        include_str!("../../templates/oracle.rs.tmpl"),
    ),
];

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root_or(args.root.as_deref())?;
    if !root.is_dir() {
        anyhow::bail!("{} is not a directory", root.display());
    }
    let names = Names::of(&args.name, args.prefix.as_deref())?;
    names.refuse_taken(&root)?;
    let dir = root.join("crates").join(&names.name);
    if dir.exists() {
        return Err(Failure::Usage(format!("{} is there already", dir.display())).into());
    }
    for (path, template) in FILES {
        let path = dir.join(names.fill(path));
        let parent = path.parent().unwrap_or(&dir);
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        fs::write(&path, names.fill(template))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    out.say(format_args!("wrote {}", dir.display()));
    out.say(
        "next: the formula in its header and oracle, its kernels and cases, its line in xtask/src/backends.rs; \
         then the status experimental",
    );
    if out.is_json() {
        out.finish(&Document::new(Vec::new(), Vec::new()));
    }
    Ok(Exit::Ok)
}

/// The names that a template holds.
struct Names {
    name: String,
    library: String,
    prefix: String,
}

impl Names {
    fn of(name: &str, prefix: Option<&str>) -> Result<Self, Failure> {
        let words_are_plain = name.split('-').all(|word| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        });
        if !words_are_plain || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(Failure::Usage(format!(
                "the name must be lower-case letters, digits and single hyphens and begin with a letter, is {name:?}"
            )));
        }
        let library = name.replace('-', "_");
        if RESERVED.contains(&library.as_str()) {
            return Err(Failure::Usage(format!(
                "{name:?} means something to Rust, C++ or cargo"
            )));
        }
        let prefix = prefix.map_or_else(|| name.replace('-', ""), str::to_owned);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if !prefix.starts_with(|c: char| c.is_ascii_lowercase()) || !prefix.chars().all(is_plain) {
            return Err(Failure::Usage(format!(
                "the prefix must be lower-case letters and digits and begin with a letter, is {prefix:?}"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            library,
            prefix,
        })
    }

    /// No other backend of the tree may have the name or the prefix.
    fn refuse_taken(&self, root: &Path) -> Result<(), Failure> {
        for backend in contract::check(root).backends {
            if backend.name == self.name {
                return Err(Failure::Usage(format!(
                    "{:?} is the name of {}",
                    self.name, backend.path
                )));
            }
            if backend
                .manifest()
                .is_some_and(|manifest| manifest.prefix == self.prefix)
            {
                return Err(Failure::Usage(format!(
                    "{:?} is the prefix of {}: choose another with --prefix",
                    self.prefix, backend.path
                )));
            }
        }
        Ok(())
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("@name@", &self.name)
            .replace("@library@", &self.library)
            .replace("@LIBRARY@", &self.library.to_uppercase())
            .replace("@prefix@", &self.prefix)
            .replace("@PREFIX@", &self.prefix.to_uppercase())
    }
}

/// Names that a crate and a C++ namespace cannot have, and that the shared prelude has.
const RESERVED: [&str; 60] = [
    "alloc",
    "as",
    "async",
    "auto",
    "await",
    "bool",
    "box",
    "break",
    "case",
    "catch",
    "char",
    "ck",
    "class",
    "const",
    "continue",
    "core",
    "crate",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "fn",
    "for",
    "friend",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "namespace",
    "new",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "template",
    "test",
    "trait",
    "true",
    "type",
];
