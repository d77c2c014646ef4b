//! Which files are generated, and from what.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use contract::{Finding, Severity, schema};
use parity::Tags;
use serde_json::{Value, json};

use super::{Args, Part, bindings, support_table, toolkits};
use crate::artifact::resources;
use crate::commands::compile::Work;
use crate::output::{Document, Exit, Output};
use crate::{suite, toolkit, workspace};

/// A file as it should be.
pub struct Generated {
    /// Relative to the root.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
}

/// Runs the command.
pub fn run(args: &Args, out: &Output) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let mut findings = Vec::new();
    for &part in Part::value_variants().iter().filter(|&&part| wanted(part)) {
        for file in generate(part, &root, out)? {
            if args.check {
                findings.extend(compare(&root, &file, part));
            } else if write(&root, &file)? {
                out.say(format_args!("wrote {}", file.path.display()));
            }
        }
    }
    Ok(out.finish(&Document::new(Vec::new(), findings)))
}

fn generate(part: Part, root: &Path, out: &Output) -> anyhow::Result<Vec<Generated>> {
    let file = |path: &str, text| Generated {
        path: path.into(),
        text,
    };
    match part {
        Part::Schema => Ok(vec![
            file("contract/schema/backend.schema.json", schema::manifest()),
            file("contract/schema/evidence.schema.json", schema::evidence()),
        ]),
        Part::Ffi => bindings::generate(root, out),
        Part::Lock => locks(root, out),
        Part::Cases => case_lists(root),
        Part::Readme => between(
            root,
            "README.md",
            ["<!-- support:begin -->", "<!-- support:end -->"],
            &support_table::render(root),
        ),
        Part::Matrix => between(
            root,
            ".github/workflows/compile.yml",
            ["# toolkits:begin", "# toolkits:end"],
            &toolkits::render(root)?,
        ),
    }
}

/// The manifests, with the ids of the cases that their crates' suites and benches have.
fn case_lists(root: &Path) -> anyhow::Result<Vec<Generated>> {
    let mut files = Vec::new();
    for target in suite::targets(root, None)? {
        let text = fs::read_to_string(root.join(&target.path))
            .with_context(|| format!("cannot read {}", target.path))?;
        let mut manifest: Value = serde_json::from_str(&text)?;
        let parity: Vec<_> = target
            .cases(Tags::NONE, None)
            .iter()
            .map(|case| case.id.clone())
            .collect();
        // One case may have a row for each class.
        let mut bench: Vec<String> = Vec::new();
        for row in (target.backend.benches)() {
            if !bench.contains(&row.id) {
                bench.push(row.id.clone());
            }
        }
        manifest["cases"] = json!({"parity": parity, "bench": bench});
        files.push(Generated {
            path: PathBuf::from(&target.path),
            text: serde_json::to_string_pretty(&manifest)? + "\n",
        });
    }
    Ok(files)
}

/// The resources of every kernel, which only the pinned compiler tells.
fn locks(root: &Path, out: &Output) -> anyhow::Result<Vec<Generated>> {
    let work = Work::plan(root, None, &[], out)?;
    let pinned = toolkit::pinned_nvcc(root)?;
    if work.toolkit.version.to_string() != pinned {
        out.log(format_args!(
            "the resource locks stay: they are from nvcc {pinned}, this machine's is {}",
            work.toolkit.version
        ));
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for (target, result) in work.targets.iter().zip(work.compile(out)) {
        let path = target.crate_dir.join(resources::FILE);
        let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
        files.push(Generated {
            path,
            text: result?.lock().render(),
        });
    }
    Ok(files)
}

/// A file whose part between two marks is generated. A file that has no such part has none to
/// generate.
fn between(
    root: &Path,
    path: &str,
    marks: [&str; 2],
    text: &str,
) -> anyhow::Result<Vec<Generated>> {
    let Ok(old) = fs::read_to_string(root.join(path)) else {
        return Ok(Vec::new());
    };
    let text = replace_between(&old, marks, text).with_context(|| {
        format!(
            "{path} must have the marks {:?} and {:?}",
            marks[0], marks[1]
        )
    })?;
    Ok(vec![Generated {
        path: path.into(),
        text,
    }])
}

/// `old` with `text` between the line that holds the first mark and the line that holds the second.
fn replace_between(old: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let after_begin = old.find(begin)? + begin.len();
    let line_end = after_begin + old[after_begin..].find('\n')? + 1;
    let end_at = line_end + old[line_end..].find(end)?;
    let end_line = old[..end_at].rfind('\n')? + 1;
    Some([&old[..line_end], text, &old[end_line..]].concat())
}

fn compare(root: &Path, file: &Generated, part: Part) -> Option<Finding> {
    let old = fs::read_to_string(root.join(&file.path)).unwrap_or_default();
    if old == file.text {
        return None;
    }
    let line = old
        .lines()
        .zip(file.text.lines())
        .take_while(|(a, b)| a == b)
        .count()
        + 1;
    let part = part.to_possible_value()?;
    let message = format!(
        "is not what would be generated, first in line {line}; `cargo xtask codegen --only {}` writes it",
        part.get_name()
    );
    let path = file.path.display().to_string();
    Some(Finding::new(
        Severity::Error,
        "codegen-differs",
        path,
        "",
        message,
    ))
}

/// Answers whether the file was another before.
fn write(root: &Path, file: &Generated) -> anyhow::Result<bool> {
    let path = root.join(&file.path);
    if fs::read(&path).is_ok_and(|old| old == file.text.as_bytes()) {
        return Ok(false);
    }
    let dir = path.parent().context("a generated file lies in a folder")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let marks = ["<!-- a -->", "<!-- b -->"];
        let old = "x\n<!-- a -->\nold\nolder\n  <!-- b -->\ny\n";
        let new = replace_between(old, marks, "new\n").unwrap();
        assert_eq!(new, "x\n<!-- a -->\nnew\n  <!-- b -->\ny\n");
        assert_eq!(replace_between(&new, marks, "new\n").unwrap(), new);
        assert_eq!(replace_between("no marks\n", marks, "new\n"), None);
    }
}
