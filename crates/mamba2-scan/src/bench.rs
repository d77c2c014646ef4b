//! The cases of the bench.

mod state_update;
mod temporal_scan;

use bench_kit::Bench;

/// Every case, in the order of the results.
pub fn benches() -> Vec<Bench> {
    let mut benches = temporal_scan::benches();
    benches.extend(state_update::benches());
    benches
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use bench_kit::bench::class_name;
    use bench_kit::targets::Targets;

    #[test]
    fn every_measured_row_is_one_of_the_targets() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/targets.json");
        let targets = Targets::read(&path).unwrap();
        let wanted: BTreeSet<_> = targets
            .rows
            .iter()
            .filter(|row| row.backend == "mamba2-scan")
            .map(|row| (row.case.clone(), row.mode, row.class.clone()))
            .collect();
        let measured: BTreeSet<_> = benches()
            .iter()
            .flat_map(|b| {
                b.modes
                    .iter()
                    .map(|m| (b.id.clone(), *m, class_name(b.class).to_owned()))
            })
            .collect();
        let unknown: Vec<_> = measured.difference(&wanted).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
