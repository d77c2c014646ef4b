//! The table for a person: times, and how many times slower everything else is.

use crate::results::Row;

const HEAD: [&str; 11] = [
    "case",
    "mode",
    "class",
    "us",
    "spread",
    "floor",
    "target",
    "GB/s",
    "best peer",
    "baselines",
    "variants",
];

/// Rows as aligned text, a line each. Floor: the row's time over it. Peers, baselines, variants:
/// their time over the row's, so that above 1 the kernel is faster.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(String::from)];
    lines.extend(rows.iter().map(cells));
    let widths: [usize; HEAD.len()] = std::array::from_fn(|column| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let mut text = String::new();
    for line in lines {
        let padded: Vec<String> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    for row in rows {
        if let Some(reason) = &row.refused {
            text.push_str(&format!("refused: {} {}: {reason}\n", row.case, row.mode));
        }
    }
    text
}

fn cells(row: &Row) -> [String; HEAD.len()] {
    let floor = row
        .floor_us
        .min(row.target_floor_us.unwrap_or(f64::INFINITY));
    let target = match (row.target_us, row.target_met) {
        (Some(target), Some(true)) => format!("{} met", short(target)),
        (Some(target), _) => format!("{} missed", short(target)),
        _ => "-".into(),
    };
    let ratio = |name: &str, us: f64| format!("{name} {} ({:.2}x)", short(us), us / row.median_us);
    let ratios = |times: &std::collections::BTreeMap<String, f64>| {
        let all: Vec<String> = times.iter().map(|(name, us)| ratio(name, *us)).collect();
        if all.is_empty() {
            "-".into()
        } else {
            all.join(", ")
        }
    };
    [
        row.case.clone(),
        row.mode.to_string(),
        row.class.clone(),
        short(row.median_us),
        format!("{:.1}%", row.spread * 100.0),
        format!("{} ({:.2}x)", short(floor), row.median_us / floor),
        target,
        format!("{:.0}", row.gb_per_s),
        row.best_peer()
            .map_or_else(|| "-".into(), |(name, us)| ratio(name, us)),
        ratios(&row.baselines),
        ratios(&row.variants),
    ]
}

/// Three digits that count.
pub(crate) fn short(us: f64) -> String {
    match us {
        us if us < 10.0 => format!("{us:.2}"),
        us if us < 100.0 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}
