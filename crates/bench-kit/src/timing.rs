//! Medians over graph replays.

use std::ffi::c_int;

use crate::device::{Device, Graph};
use crate::{Error, Launch, Result};

/// How much is run for one time.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Fewest calls a graph.
    pub min_calls: usize,
    /// Most calls a graph: more only makes capture slower.
    pub max_calls: usize,
    /// A replay lasts about this, so that the gap between two graphs (about 1 us) is lost in it.
    pub replay_us: f64,
    /// Replays that are not counted, at the least.
    pub warmups: usize,
    /// Replays that are.
    pub replays: usize,
    /// A slow variant gets fewer calls and replays, down to 1 and 5, to stay near this.
    pub budget_us: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            min_calls: 20,
            max_calls: 200,
            replay_us: 300.0,
            warmups: 3,
            replays: 30,
            budget_us: 5e5,
        }
    }
}

/// The times of one variant, a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The middle replay.
    pub median_us: f64,
    /// The fastest replay.
    pub min_us: f64,
    /// (90th percentile - 10th percentile) / median over replays.
    pub spread: f64,
    /// Calls in one replay.
    pub calls: usize,
    /// Replays counted.
    pub replays: usize,
    /// Graph nodes a call; 0 where no graph was used.
    pub nodes: usize,
    /// The set that the last call of all used.
    pub last_set: usize,
}

/// Sets that one graph goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    first: usize,
    sets: usize,
}

impl Chunk {
    fn set(self, call: usize) -> usize {
        self.first + call % self.sets
    }
}

/// Splits `sets` into runs of nearly equal length, at most `longest` each.
fn chunks(sets: usize, longest: usize) -> Vec<Chunk> {
    let count = sets.div_ceil(longest);
    let start = |index: usize| index * sets / count;
    (0..count)
        .map(|i| Chunk {
            first: start(i),
            sets: start(i + 1) - start(i),
        })
        .collect()
}

impl Plan {
    /// Calls a graph for a call of `us` that goes through `sets` sets: all of them equally often.
    fn calls(&self, us: f64, sets: usize) -> usize {
        let affordable = (self.budget_us / 10.0 / us).max(1.0) as usize;
        if affordable < self.min_calls {
            return affordable.max(sets.min(self.min_calls));
        }
        let wanted = (self.replay_us / us).ceil().min(self.max_calls as f64) as usize;
        let up = wanted.max(self.min_calls).next_multiple_of(sets);
        if up <= self.max_calls {
            up
        } else {
            (self.max_calls / sets).max(1) * sets
        }
    }

    /// Replays for a graph of `us`.
    fn replays(&self, us: f64) -> usize {
        let affordable = (self.budget_us / us) as usize;
        self.replays.min(affordable.max(5))
    }
}

/// Times `call(set)`, which queues one call on the device's stream and returns its status.
/// `failed` makes an error of a status that is not 0.
///
/// # Errors
/// What `failed` makes, and the device's own.
pub fn time(
    device: &dyn Device,
    plan: &Plan,
    launch: Launch,
    sets: usize,
    call: &dyn Fn(usize) -> c_int,
    failed: &dyn Fn(c_int) -> Error,
) -> Result<Timing> {
    let queue = |set: usize| match call(set) {
        0 => Ok(()),
        code => Err(failed(code)),
    };
    // The first call outside any graph: it loads the module, and a refusal shows as itself.
    queue(0)?;
    device.synchronize()?;

    let chunks = chunks(sets, plan.max_calls);
    let longest = chunks.iter().map(|chunk| chunk.sets).max().unwrap_or(1);
    let pilot_calls = longest.clamp(1, plan.min_calls);
    let mut queue_pilot = || (0..pilot_calls).try_for_each(|i| queue(chunks[0].set(i)));
    let pilot = match launch {
        Launch::Direct => device.timed(2, &mut |_| queue_pilot())?,
        Launch::Replayed => {
            let graph = Graph::capture(device, &mut queue_pilot)?;
            device.timed(2, &mut |_| graph.replay())?
        }
    };
    let estimate = (pilot[1] / pilot_calls as f64).max(0.01);
    let calls: Vec<usize> = chunks
        .iter()
        .map(|c| plan.calls(estimate, c.sets))
        .collect();
    let replays = plan.replays(estimate * calls[0] as f64);

    let queue_chunk = |index: usize| {
        let chunk = chunks[index];
        (0..calls[index]).try_for_each(|i| queue(chunk.set(i)))
    };
    let mut nodes = 0;
    let mut graphs = Vec::new();
    if launch == Launch::Replayed {
        for (index, count) in calls.iter().enumerate() {
            let graph = Graph::capture(device, &mut || queue_chunk(index))?;
            nodes = graph.nodes() / count;
            graphs.push(graph);
        }
    }
    // Warm-ups lead into the counted replays without a wait, so that the device never idles before
    // the first counted one. Every graph gets one: its first launch also uploads it.
    let warmups = plan.warmups.max(chunks.len());
    let total = warmups + replays;
    let times = device.timed(total, &mut |index| {
        let index = index % chunks.len();
        match launch {
            Launch::Replayed => graphs[index].replay(),
            Launch::Direct => queue_chunk(index),
        }
    })?;
    let mut samples: Vec<f64> = (warmups..total)
        .map(|index| times[index] / calls[index % chunks.len()] as f64)
        .collect();
    samples.sort_by(f64::total_cmp);
    let last = (total - 1) % chunks.len();
    Ok(Timing {
        median_us: median(&samples),
        min_us: samples[0],
        spread: spread(&samples),
        calls: calls[0],
        replays,
        nodes,
        last_set: chunks[last].set(calls[last] - 1),
    })
}

/// The middle of sorted samples, or the mean of the middle two.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

fn spread(sorted: &[f64]) -> f64 {
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.9) - at(0.1)) / median(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_two() {
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
    }

    #[test]
    fn the_spread_leaves_single_outliers_out() {
        let mut samples = vec![10.0; 29];
        samples.push(1000.0);
        assert_eq!(spread(&samples), 0.0);
        let ramp: Vec<f64> = (0..=10).map(f64::from).collect();
        assert_eq!(spread(&ramp), 8.0 / 5.0);
    }

    #[test]
    fn chunks_cover_every_set_once_and_none_is_longer_than_a_graph() {
        for sets in [1, 2, 199, 200, 201, 512, 4001] {
            let chunks = chunks(sets, 200);
            let mut next = 0;
            for chunk in &chunks {
                assert_eq!(chunk.first, next);
                assert!((1..=200).contains(&chunk.sets));
                next += chunk.sets;
            }
            assert_eq!(next, sets);
        }
    }

    #[test]
    fn a_graph_holds_20_to_200_calls_and_goes_through_its_sets_equally_often() {
        let plan = Plan::default();
        assert_eq!(plan.calls(2.0, 1), 150);
        assert_eq!(plan.calls(0.5, 1), 200);
        assert_eq!(plan.calls(60.0, 2), 20);
        assert_eq!(plan.calls(3.0, 64), 128);
        assert_eq!(plan.calls(1.0, 150), 150);
        assert_eq!(plan.calls(10.0, 33), 33);
    }

    #[test]
    fn a_slow_call_is_run_less_often() {
        let plan = Plan::default();
        assert_eq!(plan.calls(152_000.0, 1), 1);
        assert_eq!(plan.replays(50_000.0), 10);
        assert_eq!(plan.replays(152_000.0), 5);
        assert_eq!(plan.replays(300.0), 30);
    }
}
