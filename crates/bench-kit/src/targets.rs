//! Times to reach, floors and peers' times, measured elsewhere on the same kind of GPU.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::{Error, Mode, Result};

/// One row of a targets or peers file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The backend's name.
    pub backend: String,
    /// The case's id.
    pub case: String,
    /// Hot or cold.
    pub mode: Mode,
    /// The class, as in results.
    pub class: String,
    /// The time to reach; a peers file has none.
    #[serde(default)]
    pub target_us: Option<f64>,
    /// The measured ceiling for the row's bytes or arithmetic.
    #[serde(default)]
    pub floor_us: Option<f64>,
    /// Other implementations' times.
    #[serde(default)]
    pub peers: BTreeMap<String, f64>,
}

/// Whether a file's peer is a prototype of a design that the kernels replace, or a goal, and no
/// implementation that anyone uses: the crates' own baselines stand for these, measured in the same
/// run.
fn is_prototype(peer: &str) -> bool {
    peer.starts_with("seed") || matches!(peer, "one block design" | "scalar 1024")
}

/// All rows of one or more files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// In the files' order.
    pub rows: Vec<Target>,
}

impl Targets {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Content`] naming what is wrong in it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let wrong = |what: String| Error::Content {
            path: path.into(),
            what,
        };
        let mut rows: Vec<Target> =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for row in &rows {
            let times = row
                .peers
                .values()
                .chain(&row.target_us)
                .chain(&row.floor_us);
            if times.clone().any(|us| !us.is_finite() || *us <= 0.0) {
                return Err(wrong(format!(
                    "{} {} {}: a time is not above 0",
                    row.backend, row.case, row.mode
                )));
            }
        }
        for row in &mut rows {
            row.peers.retain(|peer, _| !is_prototype(peer));
        }
        Ok(Self { rows })
    }

    /// The row of a result.
    pub fn find(&self, backend: &str, case: &str, mode: Mode, class: &str) -> Option<&Target> {
        self.rows
            .iter()
            .find(|row| row.is(backend, case, mode, class))
    }

    /// Adds another file's rows: its peers and times win where both have them.
    pub fn merge(&mut self, other: Self) {
        for new in other.rows {
            let old = self
                .rows
                .iter_mut()
                .find(|old| old.is(&new.backend, &new.case, new.mode, &new.class));
            match old {
                Some(old) => {
                    old.peers.extend(new.peers);
                    old.target_us = new.target_us.or(old.target_us);
                    old.floor_us = new.floor_us.or(old.floor_us);
                }
                None => self.rows.push(new),
            }
        }
    }
}

impl Target {
    fn is(&self, backend: &str, case: &str, mode: Mode, class: &str) -> bool {
        self.backend == backend && self.case == case && self.mode == mode && self.class == class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Targets {
        Targets {
            rows: serde_json::from_str(text).unwrap(),
        }
    }

    #[test]
    fn a_peers_file_adds_peers_and_keeps_the_target() {
        let mut all = targets(
            r#"[{"backend":"b","case":"c","mode":"hot","class":"exact","target_us":2.0,
                 "floor_us":1.0,"peers":{"x":3.0,"y":4.0}}]"#,
        );
        all.merge(targets(
            r#"[{"backend":"b","case":"c","mode":"hot","class":"exact","peers":{"y":5.0,"z":6.0}},
                {"backend":"b","case":"d","mode":"cold","class":"fast"}]"#,
        ));
        assert_eq!(all.rows.len(), 2);
        let row = all.find("b", "c", Mode::Hot, "exact").unwrap();
        assert_eq!(row.target_us, Some(2.0));
        let peers: Vec<_> = row
            .peers
            .iter()
            .map(|(name, us)| (name.as_str(), *us))
            .collect();
        assert_eq!(peers, [("x", 3.0), ("y", 5.0), ("z", 6.0)]);
        assert!(all.find("b", "c", Mode::Cold, "exact").is_none());
    }

    #[test]
    fn prototypes_of_replaced_designs_are_no_peers() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let all = Targets::read(&path).unwrap();
        let row = all
            .find("scoring", "clm-cosine-5x512", Mode::Hot, "exact")
            .unwrap();
        assert_eq!(
            row.peers.keys().collect::<Vec<_>>(),
            ["torch compile", "torch eager"]
        );
        assert!(
            all.rows
                .iter()
                .all(|row| row.peers.keys().all(|peer| !peer.contains("seed")))
        );
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let dir = std::env::temp_dir().join(format!("bench-kit-targets-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("targets.json");
        let message = |text: &str| {
            fs::write(&path, text).unwrap();
            Targets::read(&path).unwrap_err().to_string()
        };
        assert!(message("[").contains("EOF"));
        assert!(message(r#"[{"backend":"b"}]"#).contains("missing field `case`"));
        let row = r#"{"backend":"b","case":"c","mode":"hot","class":"exact","target_us":-1.0}"#;
        assert!(message(&format!("[{row}]")).contains("b c hot: a time is not above 0"));
        let odd = row.replace("target_us", "targets_us");
        assert!(message(&format!("[{odd}]")).contains("unknown field `targets_us`"));
        fs::remove_dir_all(&dir).unwrap();
        assert!(matches!(Targets::read(&path), Err(Error::File { .. })));
    }
}
