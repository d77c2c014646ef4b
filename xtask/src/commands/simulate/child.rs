//! What runs in a process of its own: a backend's cases under one order, or against one mutant.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use parity::{
    Case, CaseReport, Check, Library, Model, Options, Order, Outcome, Runner, Simulator, Tags,
};

use super::Args;
use super::job::Line;
use crate::output::Exit;
use crate::suite::{self, Tally, Target};

/// One run of a backend's cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Stage {
    /// Threads in forward order, with everything the harness does.
    Forward,
    /// Threads in reverse order.
    Reverse,
    /// Threads in a seeded random order.
    Random,
    /// Warps step by step in turn.
    WarpInterleaved,
    /// Forward, on a device without clusters.
    Ampere,
    /// Forward, with races, bounds and uninitialised reads watched.
    Checked,
}

impl Stage {
    /// All of them; the slowest first, so that side by side they end together.
    pub const ALL: [Stage; 6] = [
        Stage::Checked,
        Stage::Forward,
        Stage::Reverse,
        Stage::Random,
        Stage::WarpInterleaved,
        Stage::Ampere,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Forward => "forward",
            Stage::Reverse => "reverse",
            Stage::Random => "random",
            Stage::WarpInterleaved => "warp-interleaved",
            Stage::Ampere => "ampere",
            Stage::Checked => "checked",
        }
    }

    fn order(self) -> Order {
        match self {
            Stage::Forward | Stage::Ampere | Stage::Checked => Order::Forward,
            Stage::Reverse => Order::Reverse,
            Stage::Random => Order::Random(0x5eed),
            Stage::WarpInterleaved => Order::WarpInterleaved,
        }
    }

    fn model(self) -> Model {
        match self {
            Stage::Ampere => Model::AMPERE,
            _ => Model::HOPPER,
        }
    }

    /// Leaves every other of a case's forced paths to the stages of the other parity, so that each
    /// is run in two or three orders, with races watched or with everything the harness does.
    fn thin(self, place: usize, case: &mut Case) {
        let stage = Stage::ALL.iter().position(|stage| *stage == self);
        let parity = place + stage.unwrap_or(0);
        let mut path = 0;
        case.paths.retain(|_| {
            path += 1;
            path == 1 || (parity + path).is_multiple_of(2)
        });
    }

    /// Forward does everything with every third case, whose shapes stand for the rest; what another
    /// order could change shows in one call.
    fn options(self, place: usize) -> Options {
        let checks = match self {
            Stage::Forward if place.is_multiple_of(3) => Check::ALL.to_vec(),
            Stage::Forward => vec![Check::Direct, Check::SameAddresses, Check::Refusal],
            _ => vec![Check::Direct, Check::Refusal],
        };
        Options {
            checks,
            threads: 1,
            ..Options::default()
        }
    }
}

/// A mutant that makes a case take longer than this hangs: whole cases take seconds.
const HANGS: Duration = Duration::from_secs(120);

fn print(line: &Line) {
    let text = serde_json::to_string(line).unwrap_or_default();
    let mut stdout = std::io::stdout().lock();
    // The parent reads this; if it is gone, so is the reason to go on.
    if writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .is_err()
    {
        std::process::exit(1);
    }
}

/// Makes the run that the arguments ask for.
pub fn run(args: &Args, targets: &[Target]) -> anyhow::Result<Exit> {
    let result = match (targets, &args.mutants, &args.child[..], &args.order[..]) {
        ([target], Some(mutants), [plain, checked], _) => mutants
            .iter()
            .try_for_each(|mutant| self::mutant(target, mutant, plain, checked, args)),
        ([target], None, [library], [stage]) => {
            self::stage(target, *stage, library, args.case.as_deref())
        }
        _ => Err(anyhow::anyhow!(
            "a run is of one backend, under one order or one mutant"
        )),
    };
    if let Err(error) = result {
        print(&Line::Broken(format!("{error:#}")));
    }
    Ok(Exit::Ok)
}

fn stage(target: &Target, stage: Stage, library: &Path, case: Option<&str>) -> anyhow::Result<()> {
    let library = Arc::new(Library::open(library)?);
    let device = Simulator::open(library.clone(), stage.model())?;
    device.set_order(stage.order());
    let mut reports = Vec::new();
    // In the suite's order here: a person reads this.
    for (place, mut case) in target.cases(Tags::SIMULATE, case).into_iter().enumerate() {
        stage.thin(place, &mut case);
        print(&Line::Begin(case.id.clone()));
        let report = Runner::new(&device, &library, stage.options(place)).run(&case);
        print(&Line::Row(suite::row(&report)));
        if let Some(message) = first_failure(&report) {
            print(&Line::Failure(message));
        }
        reports.push(report);
    }
    print(&Line::End(Tally::of(&reports)));
    Ok(())
}

fn first_failure(report: &CaseReport) -> Option<String> {
    let (path, failure) = report.failures().next()?;
    Some(format!(
        "{} on path {path}, {}: {}",
        report.id, failure.check, failure.message
    ))
}

/// Looks for a case that notices the mutant: samples of the suite first, each in the ways that
/// notice different things: results, races, another thread order.
fn mutant(
    target: &Target,
    mutant: &str,
    plain: &Path,
    checked: &Path,
    args: &Args,
) -> anyhow::Result<()> {
    let cases = target.cases(Tags::SIMULATE, args.case.as_deref());
    let results = [
        Check::Direct,
        Check::SameAddresses,
        Check::Offsets,
        Check::Refusal,
    ];
    let short = [Check::Direct, Check::SameAddresses];
    // Kept open: each keeps its fibers' stacks from run to run.
    let plain = &Arc::new(Library::open(plain)?);
    let checked = &Arc::new(Library::open(checked)?);
    let ways: [(&Arc<Library>, Model, Order, &[Check]); 4] = [
        (plain, Model::HOPPER, Order::Forward, &results),
        (checked, Model::HOPPER, Order::Forward, &short),
        (plain, Model::HOPPER, Order::Reverse, &short),
        (plain, Model::AMPERE, Order::WarpInterleaved, &short),
    ];
    let watchdog = Watchdog::start();
    let mut tally = Tally::default();
    for group in groups(&cases, args.hint.as_deref()) {
        for (library, model, order, checks) in ways {
            let device = Simulator::open(library.clone(), model)?;
            device.set_mutant(Some(mutant))?;
            device.set_order(order);
            let options = Options {
                checks: checks.to_vec(),
                threads: 1,
                ..Options::default()
            };
            let runner = Runner::new(&device, library, options);
            for &case in &group {
                print(&Line::Begin(case.id.clone()));
                watchdog.begin(&case.id);
                let report = runner.run(case);
                watchdog.end();
                if report.outcome() == Outcome::Fail {
                    let message = first_failure(&report).unwrap_or_default();
                    print(&Line::Failure(message));
                    print(&Line::End(tally));
                    return Ok(());
                }
                tally.pass += 1;
            }
        }
    }
    print(&Line::End(tally));
    Ok(())
}

/// The cases in groups: the one that noticed the mutant last time, every 32nd, every 8th of the
/// others, the rest. Neighbours in a suite are alike, so a sample meets most kinds of shape; a
/// mutant that only a race shows meets them in every way before the whole suite has run in one.
fn groups<'a>(cases: &'a [Case], hint: Option<&str>) -> [Vec<&'a Case>; 4] {
    let mut groups = [const { Vec::new() }; 4];
    for (index, case) in cases.iter().enumerate() {
        let group = match index {
            _ if hint == Some(&case.id) => 0,
            _ if index % 32 == 0 => 1,
            _ if index % 8 == 0 => 2,
            _ => 3,
        };
        groups[group].push(case);
    }
    groups
}

/// Ends the process, the mutant killed, when one case does not end.
struct Watchdog {
    started: Instant,
    /// Milliseconds after the start at which the case began; 0 for none.
    began: AtomicU64,
    case: Mutex<String>,
}

impl Watchdog {
    fn start() -> Arc<Watchdog> {
        let watchdog = Arc::new(Watchdog {
            started: Instant::now(),
            began: AtomicU64::new(0),
            case: Mutex::default(),
        });
        let watching = watchdog.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let began = watching.began.load(Ordering::Acquire);
                let now = watching.started.elapsed().as_millis() as u64;
                if began != 0 && now.saturating_sub(began) > HANGS.as_millis() as u64 {
                    let case = watching
                        .case
                        .lock()
                        .map(|case| case.clone())
                        .unwrap_or_default();
                    print(&Line::Failure(format!("{case}: does not end")));
                    print(&Line::End(Tally::default()));
                    std::process::exit(0);
                }
            }
        });
        watchdog
    }

    fn begin(&self, case: &str) {
        if let Ok(mut name) = self.case.lock() {
            case.clone_into(&mut name);
        }
        let now = self.started.elapsed().as_millis() as u64;
        self.began.store(now.max(1), Ordering::Release);
    }

    fn end(&self) {
        self.began.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_run_with_races_watched_or_with_all_checks_and_in_two_orders() {
        let paths: Vec<parity::Path> = (0..9).map(|value| parity::Path::new("x", value)).collect();
        for place in 0..2 {
            let mut seen = [0; 9];
            for stage in Stage::ALL {
                let mut case = Case::exact("x", "x", |_| unreachable!("only counted"));
                case = case.on_paths(&paths);
                stage.thin(place, &mut case);
                case.paths
                    .iter()
                    .for_each(|path| seen[path.value as usize] += 1);
            }
            assert_eq!(seen[0], Stage::ALL.len());
            assert!(seen.iter().all(|&times| times >= 2), "{seen:?}");
        }
    }

    #[test]
    fn groups_hold_every_case_once_and_samples_come_first() {
        let case =
            |index: usize| Case::exact(format!("{index}"), "x", |_| unreachable!("only counted"));
        let cases: Vec<Case> = (0..150).map(case).collect();
        let counts = |hint| groups(&cases, hint).map(|group| group.len());
        assert_eq!(counts(None), [0, 5, 14, 131]);
        assert_eq!(counts(Some("77")), [1, 5, 14, 130]);
        assert_eq!(counts(Some("gone")), [0, 5, 14, 131]);
    }
}
