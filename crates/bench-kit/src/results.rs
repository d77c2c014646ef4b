//! Results: a row a case and mode, a file a backend and GPU.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bench::class_name;
use crate::floors::Floors;
use crate::targets::Target;
use crate::timing::Timing;
use crate::{Bench, Error, Measured, Mode, Result};

/// A time this far under its floor is measured wrong, or the floor is: refused until explained.
pub const UNDER_FLOOR: f64 = 0.03;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The backend's name.
    pub backend: String,
    /// The case's id.
    pub case: String,
    /// The entry point.
    pub entry: String,
    /// `exact`, `fast` or `tolerance`.
    pub class: String,
    /// Hot or cold.
    pub mode: Mode,
    /// The kernel's median time a call.
    pub median_us: f64,
    /// Its fastest replay.
    pub min_us: f64,
    /// (90th percentile - 10th percentile) / median.
    pub spread: f64,
    /// The ceiling for the row's bytes or arithmetic, measured in the same run.
    pub floor_us: f64,
    /// The same from the targets file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_floor_us: Option<f64>,
    /// The time to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_us: Option<f64>,
    /// Whether it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_met: Option<bool>,
    /// Bytes read and written by a call.
    pub bytes: u64,
    /// Those over the median.
    pub gb_per_s: f64,
    /// Graph nodes a call.
    pub nodes: usize,
    /// Calls a graph.
    pub calls: usize,
    /// Replays counted.
    pub replays: usize,
    /// Input sets that rotated.
    pub sets: usize,
    /// The designs that the kernel replaces, same run, same inputs.
    pub baselines: BTreeMap<String, f64>,
    /// Other ways into the kernel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, f64>,
    /// Other implementations, measured elsewhere on such a GPU.
    pub peers: BTreeMap<String, f64>,
    /// Why the time is not to be believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Why a time under the floor is right, or what bounds a target that was missed. Written by
    /// hand; a new run keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// SHA-256 of the library's build info.
    pub library: String,
    /// The driver.
    pub driver: String,
    /// The day, UTC.
    pub date: String,
}

/// What all rows of a run share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// SHA-256 of the library's build info.
    pub library: String,
    /// The driver.
    pub driver: String,
    /// The day, UTC.
    pub date: String,
}

impl Run {
    /// A run of a library that says this of itself.
    pub fn of(build_info: &str, driver: &str, date: &str) -> Self {
        let digest = Sha256::digest(build_info.as_bytes());
        let library = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            library,
            driver: driver.into(),
            date: date.into(),
        }
    }
}

impl Row {
    /// Puts a measurement beside its floor, target and peers.
    pub fn new(
        backend: &str,
        bench: &Bench,
        mode: Mode,
        measured: &Measured,
        floors: &Floors,
        target: Option<&Target>,
        run: &Run,
    ) -> Self {
        let Timing {
            median_us,
            min_us,
            spread,
            calls,
            replays,
            nodes,
            ..
        } = measured.kernel;
        let floor_us = floors.floor_us(bench.work, mode);
        let target_floor_us = target.and_then(|target| target.floor_us);
        let target_us = target.and_then(|target| target.target_us);
        let bytes = bench.work.read + bench.work.written;
        let times = |baseline: bool| {
            let others = measured.others.iter();
            let of_kind = others.filter(move |(_, kind, _)| *kind == baseline);
            of_kind
                .map(|(name, _, timing)| (name.clone(), rounded(timing.median_us)))
                .collect()
        };
        let lowest = target_floor_us.unwrap_or(f64::INFINITY).min(floor_us);
        let refused = (median_us < lowest * (1.0 - UNDER_FLOOR) && bench.under_floor.is_none())
            .then(|| {
                format!(
                    "{median_us:.3} us is {:.1} % under the floor of {lowest:.3} us",
                    (1.0 - median_us / lowest) * 100.0
                )
            });
        Self {
            backend: backend.into(),
            case: bench.id.clone(),
            entry: bench.entry.into(),
            class: class_name(bench.class).into(),
            mode,
            median_us: rounded(median_us),
            min_us: rounded(min_us),
            spread: rounded(spread),
            floor_us: rounded(floor_us),
            target_floor_us,
            target_us,
            target_met: target_us.map(|target| median_us <= target && refused.is_none()),
            bytes,
            gb_per_s: (bytes as f64 / median_us / 1e3 * 10.0).round() / 10.0,
            nodes,
            calls,
            replays,
            sets: measured.sets,
            baselines: times(true),
            variants: times(false),
            peers: target
                .map(|target| target.peers.clone())
                .unwrap_or_default(),
            refused,
            note: bench.under_floor.map(String::from),
            library: run.library.clone(),
            driver: run.driver.clone(),
            date: run.date.clone(),
        }
    }

    /// The fastest peer.
    pub fn best_peer(&self) -> Option<(&str, f64)> {
        let peers = self.peers.iter().map(|(name, us)| (name.as_str(), *us));
        peers.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What makes a row the same row in another run.
    fn key(&self) -> (&str, &str, Mode, &str) {
        (&self.backend, &self.case, self.mode, &self.class)
    }
}

/// Nanosecond thirds are noise.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The results of one backend on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// 1.
    pub schema_version: u32,
    /// The GPU's name.
    pub gpu: String,
    /// In the bench's order.
    pub rows: Vec<Row>,
}

impl Results {
    /// No rows yet.
    pub fn new(gpu: &str) -> Self {
        Self {
            schema_version: 1,
            gpu: gpu.into(),
            rows: Vec::new(),
        }
    }

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
        let results: Self =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if results.schema_version != 1 {
            return Err(wrong(format!(
                "schema_version is {}, must be 1",
                results.schema_version
            )));
        }
        Ok(results)
    }

    /// Puts new rows in the place of the same rows of an earlier run, and after them what is new. A
    /// note on a row outlives the run, unless the new row has its own.
    pub fn merge(&mut self, rows: Vec<Row>) {
        for mut new in rows {
            match self.rows.iter_mut().find(|old| old.key() == new.key()) {
                Some(old) => {
                    new.note = new.note.or(old.note.take());
                    *old = new;
                }
                None => self.rows.push(new),
            }
        }
    }

    /// The document.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("rows have string keys");
        text.push('\n');
        text
    }

    /// Writes the document, making the folder.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, path: &Path) -> Result<()> {
        write(path, &self.to_json())
    }
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(Error::file(dir))?;
    }
    fs::write(path, text).map_err(Error::file(path))
}

/// The floors of one GPU as a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorsFile {
    /// 1.
    pub schema_version: u32,
    /// The GPU's name.
    pub gpu: String,
    /// The driver.
    pub driver: String,
    /// The day, UTC.
    pub date: String,
    /// What was measured.
    #[serde(flatten)]
    pub floors: Floors,
}

impl FloorsFile {
    /// Writes the document, making the folder.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = self.clone();
        for point in &mut file.floors.points {
            point.us = rounded(point.us);
        }
        for latency in &mut file.floors.latencies {
            latency.us = rounded(latency.us);
        }
        file.floors.fmas_per_us = file.floors.fmas_per_us.round();
        let mut text = serde_json::to_string_pretty(&file).expect("floors have string keys");
        text.push('\n');
        write(path, &text)
    }
}

/// The result files below a benchmarks folder, `<gpu>/<name>.json`, sorted. Floors are not results.
///
/// # Errors
/// [`Error::File`] for a folder that cannot be read; one that is not there has no results.
pub fn files(benchmarks: &Path) -> Result<Vec<PathBuf>> {
    let entries = |dir: &Path| -> Result<Vec<PathBuf>> {
        let read = fs::read_dir(dir).map_err(Error::file(dir))?;
        let paths = read.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(Error::file(dir))?;
        paths.sort();
        Ok(paths)
    };
    if !benchmarks.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for gpu in entries(benchmarks)?
        .into_iter()
        .filter(|path| path.is_dir())
    {
        files.extend(entries(&gpu)?.into_iter().filter(|path| {
            path.extension().is_some_and(|e| e == "json")
                && path.file_stem().is_some_and(|stem| stem != "floors")
        }));
    }
    Ok(files)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use parity::Class;

    use super::*;
    use crate::floors::{Access, Latency, Point};
    use crate::{Variant, Work};

    /// 1 us and 4 TB/s.
    fn floors() -> Floors {
        let point = |access, bytes: u64, us| Point {
            access,
            mode: Mode::Cold,
            bytes,
            us,
            blocks: 1,
            threads: 32,
            pdl: false,
        };
        Floors {
            points: vec![
                point(Access::Read, 4_000_000, 2.0),
                point(Access::Update, 4_000_000, 3.0),
            ],
            latencies: vec![Latency {
                name: "one load and store".into(),
                us: 1.0,
            }],
            fmas_per_us: 1e6,
        }
    }

    fn timing(median_us: f64) -> Timing {
        Timing {
            median_us,
            min_us: median_us * 0.98,
            spread: 0.0123456,
            calls: 100,
            replays: 30,
            nodes: 1,
            last_set: 0,
        }
    }

    fn bench() -> Bench {
        Bench {
            id: "dot-4x8".into(),
            entry: "ex_dot",
            class: Class::Exact,
            modes: vec![Mode::Cold],
            work: Work {
                read: 4_000_000,
                written: 0,
                fmas: 0,
            },
            cold_bytes: 0,
            build: Arc::new(|_, _| Vec::new()),
            kernel: Variant::kernel(|_| unreachable!("never called")),
            others: Vec::new(),
            under_floor: None,
        }
    }

    fn target() -> Target {
        serde_json::from_str(
            r#"{"backend":"dots","case":"dot-4x8","mode":"cold","class":"exact","target_us":2.5,
                "floor_us":1.9,"peers":{"slow peer":9.0,"fast peer":3.0}}"#,
        )
        .unwrap()
    }

    fn run() -> Run {
        Run {
            library: "ab".repeat(32),
            driver: "580.1".into(),
            date: "2026-01-31".into(),
        }
    }

    fn row_of(bench: &Bench, median_us: f64) -> Row {
        let measured = Measured {
            kernel: timing(median_us),
            others: vec![
                ("one block".into(), true, timing(13.333_333)),
                ("direct".into(), false, timing(6.0)),
            ],
            sets: 68,
        };
        Row::new(
            "dots",
            bench,
            Mode::Cold,
            &measured,
            &floors(),
            Some(&target()),
            &run(),
        )
    }

    /// Two rows: one that met its target, one that is too fast to be true.
    pub(crate) fn sample() -> Results {
        let mut results = Results::new("Fake One");
        let fast = Bench {
            id: "dot-too-fast".into(),
            ..bench()
        };
        results.merge(vec![row_of(&bench(), 2.4), row_of(&fast, 1.5)]);
        results
    }

    #[test]
    fn the_document_has_the_form_that_readers_rely_on() {
        insta::assert_snapshot!(sample().to_json());
    }

    #[test]
    fn the_table_puts_every_time_beside_the_kernels() {
        insta::assert_snapshot!(crate::table::table(&sample().rows));
    }

    #[test]
    fn a_time_just_under_the_floor_passes_and_further_under_it_is_refused() {
        // The lower of the measured floor (2.0) and the file's (1.9) counts.
        assert_eq!(row_of(&bench(), 1.9 * 0.975).refused, None);
        let refused = row_of(&bench(), 1.9 * 0.965).refused.unwrap();
        assert_eq!(refused, "1.833 us is 3.5 % under the floor of 1.900 us");
        let explained = Bench {
            under_floor: Some("rows repeat"),
            ..bench()
        };
        let row = row_of(&explained, 1.0);
        assert_eq!(
            (row.refused, row.note.as_deref()),
            (None, Some("rows repeat"))
        );
    }

    #[test]
    fn a_target_is_met_at_the_target_and_missed_above_it() {
        assert_eq!(row_of(&bench(), 2.5).target_met, Some(true));
        assert_eq!(row_of(&bench(), 2.501).target_met, Some(false));
        // A time that is not believed reaches nothing.
        assert_eq!(row_of(&bench(), 0.1).target_met, Some(false));
    }

    #[test]
    fn a_new_run_replaces_its_rows_and_keeps_their_notes_and_the_others() {
        let mut results = sample();
        results.rows[0].note = Some("bounded by latency".into());
        let other = Bench {
            id: "new".into(),
            ..bench()
        };
        results.merge(vec![row_of(&bench(), 2.2), row_of(&other, 2.0)]);
        let cases: Vec<_> = results.rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases, ["dot-4x8", "dot-too-fast", "new"]);
        assert_eq!(results.rows[0].median_us, 2.2);
        assert_eq!(results.rows[0].note.as_deref(), Some("bounded by latency"));
    }

    #[test]
    fn files_are_read_back_and_found_and_floors_are_not_among_them() {
        let dir = std::env::temp_dir().join(format!("bench-kit-results-{}", std::process::id()));
        let path = dir.join("fake-one/dots.json");
        sample().write(&path).unwrap();
        let floors = FloorsFile {
            schema_version: 1,
            gpu: "Fake One".into(),
            driver: "1".into(),
            date: "2026-01-31".into(),
            floors: floors(),
        };
        floors.write(&dir.join("fake-one/floors.json")).unwrap();
        fs::write(dir.join("fake-one/dots.svg"), "").unwrap();
        assert_eq!(files(&dir).unwrap(), std::slice::from_ref(&path));
        assert_eq!(Results::read(&path).unwrap(), sample());
        fs::write(&path, r#"{"schema_version":2,"gpu":"g","rows":[]}"#).unwrap();
        let error = Results::read(&path).unwrap_err().to_string();
        assert!(error.ends_with("schema_version is 2, must be 1"), "{error}");
        fs::write(&path, "nonsense").unwrap();
        assert!(matches!(Results::read(&path), Err(Error::Content { .. })));
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(files(&dir).unwrap(), [] as [PathBuf; 0]);
        assert!(matches!(Results::read(&path), Err(Error::File { .. })));
    }

    #[test]
    fn a_run_names_its_library_by_digest() {
        let run = Run::of("{}", "580", "2026-01-31");
        assert!(
            run.library.starts_with("44136fa355b3678a1146ad16f7e8649e"),
            "{}",
            run.library
        );
    }
}
