//! Runs cases: everything the harness does with an instance.

use crate::case::{Case, Expect, Instance, Path, Role, Tags};
use crate::device::{Device, Kind, OwnedGraph, OwnedStream, Stream};
use crate::placement::{Placement, Pool, Verdict};
use crate::report::{CaseReport, Check, Failure, Outcome, PathReport};
use crate::{Error, Library, Result, Worst};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// How cases are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds the contents of every instance.
    pub seed: u64,
    /// Fill outputs with a pattern before each call. Off only for initcheck, which looks for
    /// reads of memory nobody wrote.
    pub poison: bool,
    /// Bytes of guard zone on either side of every buffer, a multiple of 256. None under a tool
    /// that watches the ends of allocations itself.
    pub guard: usize,
    /// What is done with each instance.
    pub checks: Vec<Check>,
    /// Do each thing fewer times, as with large cases: for tools that slow the device down.
    pub brief: bool,
    /// Threads that draw instances and compute oracles while the device works.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0x5eed,
            poison: true,
            guard: 4096,
            checks: Check::ALL.to_vec(),
            brief: false,
            threads: std::thread::available_parallelism()
                .map_or(1, NonZeroUsize::get)
                .min(8),
        }
    }
}

impl Options {
    /// For a run under a compute sanitizer: no guard zones, so that the tool sees the real ends
    /// of allocations, and no errors made on purpose.
    pub fn sanitizer(poison: bool) -> Options {
        let checks = [
            Check::Setup,
            Check::Direct,
            Check::Replay,
            Check::Offsets,
            Check::Refusal,
        ];
        Options {
            poison,
            guard: 0,
            checks: checks.to_vec(),
            brief: true,
            ..Options::default()
        }
    }
}

/// Runs cases of one library on one device.
pub struct Runner<'a> {
    device: &'a dyn Device,
    library: &'a Library,
    options: Options,
    pool: Pool<'a>,
}

/// Two instances of a case that fit the same memory.
type Pair = (Instance, Instance);

/// How much is done with a case on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Everything.
    Whole,
    /// Everything, with fewer placements and replays: large cases.
    Large,
    /// What could differ from path to path: the simulator takes seconds for what a GPU does in
    /// microseconds, and how a library treats streams and threads does not depend on the path.
    Further,
}

impl Depth {
    fn includes(self, check: Check) -> bool {
        match self {
            Depth::Whole | Depth::Large => true,
            Depth::Further => !matches!(
                check,
                Check::FreshContents | Check::TwoStreams | Check::FreshThread
            ),
        }
    }
}

/// One thing done with a pair of instances.
type Scene<'a> = fn(&Runner<'a>, &Pair, Depth, &mut Record) -> Result<()>;

/// What is being found out about a case on one path.
#[derive(Default)]
struct Record {
    checks: Vec<Check>,
    failures: Vec<Failure>,
    worst: Worst,
}

impl Record {
    fn fail(&mut self, check: Check, message: impl Into<String>) {
        self.failures.push(Failure {
            check,
            message: message.into(),
        });
    }

    fn verdict(&mut self, check: Check, verdict: Verdict) {
        self.worst.merge(&verdict.worst);
        verdict
            .wrong
            .into_iter()
            .for_each(|message| self.fail(check, message));
    }

    /// Turns what the device reported after a call into a failure of the kernel.
    fn device(&mut self, check: Check, result: Result<()>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) => {
                self.fail(check, error.to_string());
                false
            }
        }
    }
}

impl<'a> Runner<'a> {
    /// A runner for `library` on `device`.
    pub fn new(device: &'a dyn Device, library: &'a Library, options: Options) -> Runner<'a> {
        Runner {
            device,
            library,
            options,
            pool: Pool::default(),
        }
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Runs one case on all its paths.
    pub fn run(&self, case: &Case) -> CaseReport {
        let paths = case.paths.iter().map(|path| {
            let pair = case.pair(self.options.seed, path.value);
            self.run_path(case, path, pair)
        });
        CaseReport {
            id: case.id.clone(),
            entry: case.entry,
            class: case.class,
            paths: paths.collect(),
        }
    }

    /// Runs many cases, drawing the next instances on other threads meanwhile. `each` gets every
    /// report as soon as it is there, in the order of `cases`; a `false` from it ends the run.
    pub fn run_all(
        &self,
        cases: &[Case],
        mut each: impl FnMut(&CaseReport) -> bool,
    ) -> Vec<CaseReport> {
        let jobs: Vec<(usize, usize)> = cases
            .iter()
            .enumerate()
            .flat_map(|(case, c)| (0..c.paths.len()).map(move |path| (case, path)))
            .collect();
        let mut reports: Vec<CaseReport> = Vec::with_capacity(cases.len());
        let next = AtomicUsize::new(0);
        // Few instances in flight: some hold gigabytes.
        let (send, receive) = mpsc::sync_channel::<(usize, Result<Pair>)>(1);
        std::thread::scope(|scope| {
            for _ in 0..self.options.threads.clamp(1, jobs.len().max(1)) {
                let (send, next, jobs, seed) = (send.clone(), &next, &jobs, self.options.seed);
                scope.spawn(move || {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&(case, path)) = jobs.get(index) else {
                            break;
                        };
                        let pair = cases[case].pair(seed, cases[case].paths[path].value);
                        if send.send((index, pair)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            // Owned here, so that ending early unblocks the threads.
            let receive = receive;
            let mut early = BTreeMap::new();
            let mut paths = Vec::new();
            for (index, &(case, path)) in jobs.iter().enumerate() {
                let pair = loop {
                    if let Some(pair) = early.remove(&index) {
                        break pair;
                    }
                    match receive.recv() {
                        Ok((arrived, pair)) => early.insert(arrived, pair),
                        // A thread ended without sending: its oracle panicked.
                        Err(_) => {
                            break Err(Error::Case {
                                case: cases[case].id.clone(),
                                message: "its oracle panicked".into(),
                            });
                        }
                    };
                };
                let case = &cases[case];
                paths.push(self.run_path(case, &case.paths[path], pair));
                if paths.len() == case.paths.len() {
                    reports.push(CaseReport {
                        id: case.id.clone(),
                        entry: case.entry,
                        class: case.class,
                        paths: std::mem::take(&mut paths),
                    });
                    if reports.last().is_some_and(|report| !each(report)) {
                        next.store(jobs.len(), Ordering::Relaxed);
                        break;
                    }
                }
            }
        });
        reports
    }

    /// Runs a case on one path, its instances already drawn.
    fn run_path(&self, case: &Case, path: &Path, pair: Result<Pair>) -> PathReport {
        let mut record = Record::default();
        let capability = self.device.info().capability;
        let stopped = if capability < path.min_capability {
            Err(format!(
                "the path needs capability {} and the device has {capability}",
                path.min_capability
            ))
        } else {
            match pair {
                Ok(pair) => self
                    .scenes(self.depth(case, path), &pair, &mut record)
                    .or_else(|error| match error {
                        // A case or a library that is wrong is found, not unchecked.
                        Error::Case { .. } | Error::Symbol { .. } => {
                            record.fail(Check::Setup, error.to_string());
                            Ok(())
                        }
                        error => Err(error.to_string()),
                    }),
                Err(error) => {
                    record.fail(Check::Setup, error.to_string());
                    Ok(())
                }
            }
        };
        let outcome = match &stopped {
            _ if !record.failures.is_empty() => Outcome::Fail,
            Ok(()) => Outcome::Pass,
            Err(_) => Outcome::CouldNotCheck,
        };
        PathReport {
            path: path.name.into(),
            outcome,
            checks: record.checks,
            failures: record.failures,
            why: stopped.err(),
            worst: record.worst,
        }
    }

    fn depth(&self, case: &Case, path: &Path) -> Depth {
        let emulated = self.device.info().kind == Kind::Emulated;
        if emulated && case.paths.first() != Some(path) {
            Depth::Further
        } else if self.options.brief || case.tags.contains(Tags::LARGE) {
            Depth::Large
        } else {
            Depth::Whole
        }
    }

    fn scenes(&self, depth: Depth, pair: &Pair, record: &mut Record) -> Result<()> {
        self.device.bind()?;
        self.device.findings();
        let accepted: [(Check, Scene<'a>); 9] = [
            (Check::Direct, Runner::direct),
            (Check::SameAddresses, Runner::same_addresses),
            (Check::FreshContents, Runner::fresh_contents),
            (Check::Replay, Runner::capture_and_replay),
            (Check::Offsets, Runner::offsets),
            (Check::TwoStreams, Runner::two_streams),
            (Check::FreshThread, Runner::fresh_thread),
            (Check::ForeignError, Runner::foreign_error),
            (Check::FailedLaunch, Runner::failed_launch),
        ];
        let refused: [(Check, Scene<'a>); 1] = [(Check::Refusal, Runner::refusal)];
        let scenes = match pair.0.expect {
            Expect::Success => &accepted[..],
            Expect::Code(_) => &refused[..],
        };
        for (check, scene) in scenes {
            if !self.options.checks.contains(check) || !depth.includes(*check) {
                continue;
            }
            let failures = record.failures.len();
            scene(self, pair, depth, record)?;
            if let Some(finding) = self.device.findings() {
                record.fail(*check, finding);
            }
            // The first thing that goes wrong is the one to look at, and after a crash of the
            // context everything else would be noise.
            if record.failures.len() > failures {
                break;
            }
        }
        Ok(())
    }

    fn place(
        &self,
        instance: &Instance,
        round: usize,
        offset: impl Fn(usize) -> usize,
    ) -> Result<Placement<'a>> {
        Placement::new(
            self.device,
            &self.pool,
            instance,
            &self.options,
            round,
            offset,
        )
    }

    fn call(&self, placed: &Placement<'_>, instance: &Instance, stream: Stream) -> Result<c_int> {
        (instance.call)(self.library, &placed.pointers(), stream.0)
    }

    /// Calls, and records a failure unless the status is 0.
    fn succeed(
        &self,
        check: Check,
        placed: &Placement<'_>,
        instance: &Instance,
        stream: Stream,
        record: &mut Record,
    ) -> Result<bool> {
        let code = self.call(placed, instance, stream)?;
        if code != 0 {
            record.fail(check, format!("the call returned {code}, must return 0"));
        }
        Ok(code == 0)
    }

    /// Waits for the stream and looks at the buffers.
    fn finish(
        &self,
        check: Check,
        placed: &Placement<'_>,
        instance: &Instance,
        stream: Stream,
        record: &mut Record,
    ) -> Result<()> {
        if record.device(check, self.device.synchronize(stream)) {
            record.verdict(check, placed.verify(instance)?);
        }
        Ok(())
    }

    /// One placement, one call, one look.
    fn once(
        &self,
        check: Check,
        instance: &Instance,
        round: usize,
        offset: impl Fn(usize) -> usize,
        record: &mut Record,
    ) -> Result<()> {
        let placed = self.place(instance, round, offset)?;
        let stream = OwnedStream::new(self.device)?;
        if self.succeed(check, &placed, instance, stream.stream, record)? {
            self.finish(check, &placed, instance, stream.stream, record)?;
        }
        Ok(())
    }

    fn direct(&self, (first, _): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        record.checks.push(Check::Direct);
        self.once(Check::Direct, first, 0, |_| 0, record)
    }

    fn same_addresses(&self, (first, second): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        let check = Check::SameAddresses;
        record.checks.push(check);
        let mut placed = self.place(first, 2, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        for (round, instance) in [(2, first), (3, second)] {
            placed.refresh(instance, round)?;
            if !self.succeed(check, &placed, instance, stream.stream, record)? {
                break;
            }
            self.finish(check, &placed, instance, stream.stream, record)?;
        }
        Ok(())
    }

    fn fresh_contents(&self, (first, second): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        record.checks.push(Check::FreshContents);
        // The first stays placed, so that the second cannot get its addresses.
        let _occupied = self.place(first, 0, |_| 0)?;
        self.once(Check::FreshContents, second, 1, |_| 0, record)
    }

    fn capture_and_replay(&self, pair: &Pair, depth: Depth, record: &mut Record) -> Result<()> {
        let (first, second) = pair;
        record.checks.push(Check::Capture);
        let mut placed = self.place(second, 2, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        let stream = stream.stream;
        self.device.begin_capture(stream)?;
        let called = self.call(&placed, second, stream);
        let captured = self.device.end_capture(stream);
        match called? {
            0 => {}
            code => {
                record.fail(
                    Check::Capture,
                    format!("the call returned {code} while captured"),
                );
                return Ok(());
            }
        }
        let graph = match captured {
            Ok(graph) => OwnedGraph::new(self.device, graph),
            Err(error) => {
                record.fail(
                    Check::Capture,
                    format!("the call broke the capture: {error}"),
                );
                return Ok(());
            }
        };
        let (nodes, must_be) = (graph.graph.nodes, second.nodes);
        if nodes != must_be {
            let kernels = graph.graph.kernels;
            record.fail(
                Check::Capture,
                format!("the call made {nodes} graph nodes ({kernels} kernels), must be {must_be}"),
            );
        }
        record.verdict(Check::Capture, placed.verify_untouched(second)?);
        if !record.failures.is_empty() {
            return Ok(());
        }
        record.checks.push(Check::Replay);
        let replays = [(3, first), (0, second), (2, first)];
        let wanted = match depth {
            Depth::Whole => &replays[..],
            Depth::Large | Depth::Further => &replays[..1],
        };
        for &(round, instance) in wanted {
            placed.refresh(instance, round)?;
            if !record.device(Check::Replay, self.device.launch(graph.graph, stream)) {
                return Ok(());
            }
            self.finish(Check::Replay, &placed, instance, stream, record)?;
        }
        Ok(())
    }

    fn offsets(&self, (first, second): &Pair, depth: Depth, record: &mut Record) -> Result<()> {
        record.checks.push(Check::Offsets);
        // Each buffer by another number, because a check of one pointer's alignment must not
        // decide for the others.
        self.once(Check::Offsets, first, 1, |buffer| (buffer + 1) % 4, record)?;
        if depth != Depth::Whole {
            return Ok(());
        }
        for by in 1..=3 {
            let instance = if by == 2 { first } else { second };
            self.once(Check::Offsets, instance, by, |_| by, record)?;
        }
        Ok(())
    }

    fn two_streams(&self, (first, second): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        record.checks.push(Check::TwoStreams);
        let check = Check::TwoStreams;
        let streams = [
            OwnedStream::new(self.device)?,
            OwnedStream::new(self.device)?,
        ];
        let placed = [self.place(first, 0, |_| 0)?, self.place(second, 1, |_| 0)?];
        let instances = [first, second];
        // A call that updates its buffers cannot be repeated; others are, so that the streams'
        // kernels really run at the same time. The simulator runs one kernel at a time anyway.
        let updates = first
            .buffers
            .iter()
            .any(|buffer| buffer.role == Role::InOut);
        let emulated = self.device.info().kind == Kind::Emulated;
        let rounds = if updates || emulated { 1 } else { 8 };
        for _ in 0..rounds {
            for index in 0..2 {
                let stream = streams[index].stream;
                if !self.succeed(check, &placed[index], instances[index], stream, record)? {
                    return Ok(());
                }
            }
        }
        for index in 0..2 {
            self.finish(
                check,
                &placed[index],
                instances[index],
                streams[index].stream,
                record,
            )?;
        }
        Ok(())
    }

    fn fresh_thread(&self, (_, second): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        record.checks.push(Check::FreshThread);
        let check = Check::FreshThread;
        let placed = self.place(second, 3, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        let (stream, library, call) = (stream.stream, self.library, &second.call);
        let pointers: Vec<usize> = placed.pointers().iter().map(|p| p.addr()).collect();
        // Nothing is bound on the new thread: the library's runtime has to find its own way.
        let called = std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let pointers: Vec<_> = pointers
                    .iter()
                    .map(|p| std::ptr::without_provenance_mut(*p))
                    .collect();
                call(library, &pointers, { stream }.0)
            });
            thread.join()
        });
        match called {
            Ok(Ok(0)) => self.finish(check, &placed, second, stream, record)?,
            Ok(Ok(code)) => {
                record.fail(check, format!("the call returned {code}, must return 0"));
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => record.fail(check, "the call panicked"),
        }
        Ok(())
    }

    fn foreign_error(&self, (first, _): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        let placed = self.place(first, 0, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        let Some(error) = self.device.leave_error() else {
            return Ok(());
        };
        let check = Check::ForeignError;
        record.checks.push(check);
        if self.succeed(check, &placed, first, stream.stream, record)? {
            if !error.is_pending() {
                record.fail(check, "another library's pending error was cleared");
            }
            self.finish(check, &placed, first, stream.stream, record)?;
        }
        Ok(())
    }

    fn failed_launch(&self, (first, second): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        if first.nodes == 0 {
            return Ok(());
        }
        let check = Check::FailedLaunch;
        let placed = self.place(first, 0, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        if !self.device.break_capture(stream.stream)? {
            return Ok(());
        }
        record.checks.push(check);
        let code = self.call(&placed, first, stream.stream);
        // The broken capture has to end; its error is the one made on purpose.
        if let Ok(graph) = self.device.end_capture(stream.stream) {
            drop(OwnedGraph::new(self.device, graph));
        }
        let code = code?;
        if !(1..1000).contains(&code) {
            record.fail(
                check,
                format!(
                    "the launch could not work and the call returned {code}, must be a CUDA error"
                ),
            );
        }
        self.once(check, second, 1, |_| 0, record)
    }

    fn refusal(&self, (first, _): &Pair, _: Depth, record: &mut Record) -> Result<()> {
        let check = Check::Refusal;
        record.checks.push(check);
        let Expect::Code(must_be) = first.expect else {
            return Ok(());
        };
        let placed = self.place(first, 0, |_| 0)?;
        let stream = OwnedStream::new(self.device)?;
        let stream = stream.stream;
        let code = self.call(&placed, first, stream)?;
        if code != must_be {
            record.fail(
                check,
                format!("the call returned {code}, must return {must_be}"),
            );
        }
        if record.device(check, self.device.synchronize(stream)) {
            record.verdict(check, placed.verify_untouched(first)?);
        }
        if !record.failures.is_empty() {
            return Ok(());
        }
        self.device.begin_capture(stream)?;
        let called = self.call(&placed, first, stream);
        let captured = self.device.end_capture(stream);
        let code = called?;
        if code != must_be {
            record.fail(
                check,
                format!("captured, the call returned {code}, must return {must_be}"),
            );
        }
        match captured {
            Ok(graph) if graph.nodes == 0 => drop(OwnedGraph::new(self.device, graph)),
            Ok(graph) => {
                record.fail(
                    check,
                    format!("a refused call queued {} graph nodes", graph.nodes),
                );
                drop(OwnedGraph::new(self.device, graph));
            }
            Err(error) => record.fail(check, format!("the call broke the capture: {error}")),
        }
        Ok(())
    }
}
