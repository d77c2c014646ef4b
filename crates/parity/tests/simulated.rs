//! The same known-bad source in the real simulator.

use parity::known_bad::{GOOD, KNOWN_BAD, case};
use parity::twins::{self, Twin};
use parity::{
    Case, CaseReport, Instance, Library, Model, Options, Order, Outcome, Runner, Simulator,
};
use simulator::Flavor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn library(flavor: Flavor) -> Arc<Library> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join("known_bad/known_bad.cu");
    let sources = simulator::Library {
        name: "known_bad".into(),
        prefix: "kb".into(),
        units: vec![source.clone()],
        sources: vec![source],
        include_dirs: vec![here.join("known_bad")],
        root: here.to_path_buf(),
        build_info: None,
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("known_bad");
    let path = simulator::build_library(&sources, flavor, &directory).unwrap();
    Arc::new(Library::open(path).unwrap())
}

fn run(library: &Arc<Library>, order: Order, entry: &'static str, refusal: bool) -> CaseReport {
    let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
    device.set_order(order);
    Runner::new(&device, library, Options::default()).run(&case(entry, refusal))
}

#[test]
fn a_good_kernel_passes_in_every_order_and_with_everything_watched() {
    let plain = library(Flavor::Plain);
    for order in Order::ALL {
        let report = run(&plain, order, GOOD, false);
        assert_eq!(
            report.outcome(),
            Outcome::Pass,
            "{}: {report:?}",
            order.name()
        );
    }
    let report = run(&library(Flavor::Checked), Order::Forward, GOOD, false);
    assert_eq!(report.outcome(), Outcome::Pass, "checked: {report:?}");
    assert_eq!(
        run(&plain, Order::Forward, GOOD, true).outcome(),
        Outcome::Pass
    );
}

#[test]
fn every_known_bad_kernel_fails_in_the_simulator() {
    let plain = library(Flavor::Plain);
    for bad in KNOWN_BAD.iter().filter(|bad| !bad.gpu_only) {
        let report = run(&plain, Order::Forward, bad.entry, bad.refusal);
        assert_eq!(report.outcome(), Outcome::Fail, "{} passed", bad.entry);
    }
}

#[test]
fn an_access_beyond_a_buffer_is_found_by_the_simulator_itself() {
    let checked = library(Flavor::Checked);
    let report = run(&checked, Order::Forward, "kb_past_end", false);
    let failure = report
        .failures()
        .map(|(_, failure)| failure.message.clone())
        .last();
    let message = failure.expect("a failure");
    assert!(
        message.contains("known_bad.cu:"),
        "no source line in: {message}"
    );
}

#[test]
fn twins_agree_and_where_they_do_not_the_place_is_named() {
    let library = library(Flavor::Plain);
    let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
    let twin = Twin {
        device: &device,
        library: &library,
    };
    let (differ, paths) = twins::same_bytes(&case(GOOD, false), 1, [twin, twin]).unwrap();
    assert_eq!((differ.len(), paths), (0, 1));

    // Right on the first device, nothing written on the second.
    let calls = Arc::new(AtomicUsize::new(0));
    let unlike = Case::exact("unlike", GOOD, move |variation| {
        let good = case(GOOD, false).instance(*variation).unwrap();
        let idle = case("kb_noop", false).instance(*variation).unwrap();
        let calls = calls.clone();
        Instance::new(good.buffers, move |library, pointers, stream| {
            match calls.fetch_add(1, Ordering::Relaxed) {
                0 => (good.call)(library, pointers, stream),
                _ => (idle.call)(library, pointers, stream),
            }
        })
    });
    let (differ, _) = twins::same_bytes(&unlike, 1, [twin, twin]).unwrap();
    assert_eq!(differ.len(), 1, "{differ:?}");
    assert!(
        differ[0].contains("on path automatic from element 0"),
        "{differ:?}"
    );
}
