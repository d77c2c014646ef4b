//! The same instance on two devices: do both leave the same bytes?

use crate::case::{Case, Expect, Instance, Role, Variation};
use crate::device::{Device, OwnedStream};
use crate::placement::{Placement, Pool};
use crate::{Error, Library, Options, Result};

/// A device and the library that runs on it.
#[derive(Clone, Copy)]
pub struct Twin<'a> {
    /// Where.
    pub device: &'a dyn Device,
    /// What.
    pub library: &'a Library,
}

/// Runs `case` on both, on every path that both can take: what differs, and on how many paths it
/// was looked for. No oracle takes part.
///
/// # Errors
/// A case that cannot be drawn, a call that fails, the devices' own.
pub fn same_bytes(case: &Case, seed: u64, [a, b]: [Twin<'_>; 2]) -> Result<(Vec<String>, usize)> {
    let least = [a, b]
        .iter()
        .map(|twin| twin.device.info().capability)
        .min()
        .unwrap_or(0);
    let mut differ = Vec::new();
    let mut paths = 0;
    for path in case
        .paths
        .iter()
        .filter(|path| path.min_capability <= least)
    {
        let variation = Variation {
            seed,
            path: path.value,
        };
        let instance = case.instance(variation)?;
        if instance.expect != Expect::Success {
            continue;
        }
        paths += 1;
        let [left, right] = [results(case, &instance, a)?, results(case, &instance, b)?];
        for (buffer, (left, right)) in instance.buffers.iter().zip(left.iter().zip(&right)) {
            if let Some(byte) = left.iter().zip(right).position(|(a, b)| a != b) {
                let element = byte / buffer.element.size();
                let (name, path) = (buffer.name, path.name);
                differ.push(format!("{name} on path {path} from element {element} on"));
            }
        }
    }
    Ok((differ, paths))
}

/// What every buffer that a kernel may write holds after one call; of the others nothing.
fn results(case: &Case, instance: &Instance, twin: Twin<'_>) -> Result<Vec<Vec<u8>>> {
    twin.device.bind()?;
    twin.device.findings();
    let options = Options::default();
    let placed = Placement::new(twin.device, &Pool::default(), instance, &options, 0, |_| 0)?;
    let stream = OwnedStream::new(twin.device)?;
    let failed = |message: String| Error::Case {
        case: case.id.clone(),
        message: format!("on {}: {message}", twin.device.info().name),
    };
    match (instance.call)(twin.library, &placed.pointers(), stream.stream.0)? {
        0 => twin.device.synchronize(stream.stream)?,
        code => return Err(failed(format!("the call returned {code}, must return 0"))),
    }
    if let Some(finding) = twin.device.findings() {
        return Err(failed(finding));
    }
    placed.contents(instance, |role| matches!(role, Role::Output | Role::InOut))
}
