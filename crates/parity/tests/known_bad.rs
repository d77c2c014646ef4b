//! The harness is only worth something if it fails what is wrong. No GPU is needed here: the
//! known-bad source is compiled for the host and driven through the same C ABI.

mod host_library;

use parity::known_bad::{GOOD, KNOWN_BAD, case};
use parity::{
    CaseReport, Check, Device, Kind, Library, Model, Options, Outcome, Runner, Simulator,
    conformance,
};
use std::sync::Arc;

fn library() -> Arc<Library> {
    Arc::new(Library::open(host_library::path()).unwrap())
}

fn run(entry: &'static str, refusal: bool, options: Options) -> CaseReport {
    let library = library();
    let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
    Runner::new(&device, &library, options).run(&case(entry, refusal))
}

#[test]
fn a_good_kernel_passes_every_check_that_the_host_can_make() {
    let report = run(GOOD, false, Options::default());
    assert_eq!(report.outcome(), Outcome::Pass, "{report:?}");
    let done = &report.paths[0].checks;
    for check in [
        Check::Direct,
        Check::FreshContents,
        Check::Capture,
        Check::Replay,
        Check::Offsets,
        Check::TwoStreams,
        Check::FreshThread,
    ] {
        assert!(done.contains(&check), "{check} was not made: {done:?}");
    }
    assert!(report.worst().elements > 0, "nothing was compared");
    assert_eq!(run(GOOD, true, Options::default()).outcome(), Outcome::Pass);
}

#[test]
fn every_known_bad_kernel_fails_at_the_check_made_for_it() {
    for bad in KNOWN_BAD.iter().filter(|bad| !bad.gpu_only) {
        let report = run(bad.entry, bad.refusal, Options::default());
        assert_eq!(report.outcome(), Outcome::Fail, "{} passed", bad.entry);
        let (_, first) = report.failures().next().unwrap();
        assert_eq!(
            first.check, bad.caught_by,
            "{}: {}",
            bad.entry, first.message
        );
    }
}

#[test]
fn the_list_and_the_source_name_the_same_kernels() {
    let source = include_str!("../known_bad/known_bad.cu");
    let exported: std::collections::BTreeSet<&str> = source
        .split("KB_EXPORT int ")
        .skip(1)
        .map(|rest| rest.split('(').next().unwrap())
        .collect();
    let listed: std::collections::BTreeSet<&str> = KNOWN_BAD
        .iter()
        .map(|bad| bad.entry)
        .chain([GOOD])
        .collect();
    assert_eq!(exported, listed);
}

#[test]
fn without_poison_a_no_op_can_pass_so_poison_is_the_default() {
    assert!(Options::default().poison);
    let report = run(
        "kb_reads_output",
        false,
        Options {
            poison: true,
            ..Options::default()
        },
    );
    assert_eq!(report.outcome(), Outcome::Fail);
}

#[test]
fn many_cases_come_back_in_order_and_can_be_ended_early() {
    let library = library();
    let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
    assert_eq!(device.info().kind, Kind::Emulated);
    let runner = Runner::new(
        &device,
        &library,
        Options {
            threads: 3,
            ..Options::default()
        },
    );
    let cases: Vec<_> = (0..20)
        .map(|number| {
            let mut case = case(GOOD, number % 3 == 0);
            case.id = format!("case-{number}");
            case
        })
        .collect();
    let reports = runner.run_all(&cases, |_| true);
    let ids: Vec<_> = reports.iter().map(|report| report.id.clone()).collect();
    assert_eq!(
        ids,
        (0..20).map(|n| format!("case-{n}")).collect::<Vec<_>>()
    );
    assert!(
        reports
            .iter()
            .all(|report| report.outcome() == Outcome::Pass)
    );

    let mut seen = 0;
    let reports = runner.run_all(&cases, |_| {
        seen += 1;
        seen < 3
    });
    assert_eq!((seen, reports.len()), (3, 3));
}

#[test]
fn a_missing_entry_and_a_path_the_device_lacks_are_told_apart() {
    let library = library();
    let device = Simulator::open(library.clone(), Model::AMPERE).unwrap();
    let runner = Runner::new(&device, &library, Options::default());
    let missing = runner.run(&case("kb_not_there", false));
    assert_eq!(missing.outcome(), Outcome::Fail);
    let (_, failure) = missing.failures().next().unwrap();
    assert_eq!(failure.check, Check::Setup);
    assert!(
        failure.message.ends_with("does not export `kb_not_there`"),
        "{}",
        failure.message
    );

    let clusters = case(GOOD, false).on_paths(&[parity::Path::needing("cluster", 1, 90)]);
    let report = runner.run(&clusters);
    assert_eq!(report.outcome(), Outcome::CouldNotCheck);
    let why = report.paths[0].why.as_deref();
    assert_eq!(
        why,
        Some("the path needs capability 90 and the device has 80")
    );
}

#[test]
fn conformance_says_what_a_library_answers_wrongly() {
    let library = library();
    assert_eq!(
        conformance(&library, "kb", 1, &[0, 1001]).unwrap(),
        Vec::<String>::new()
    );
    let wrong = conformance(&library, "kb", 2, &[1001, 1002, 1003]).unwrap();
    assert_eq!(wrong[0], "kb_abi_version: was 1, must be 2");
    assert_eq!(
        wrong[1],
        r#"kb_error_string: 1002 and 1003 have one text, "an unknown code""#
    );
    assert_eq!(wrong.len(), 2);
    assert!(conformance(&library, "zz", 1, &[]).is_err());
}

#[test]
fn islands_see_what_happens_on_them_and_in_the_guard_zones_around_the_whole() {
    const COUNT: usize = 1003;
    let run = |entry: &'static str| {
        let islands = vec![0..10, 500..501, 990..COUNT];
        let case = parity::Case::exact(entry, entry, move |variation| {
            let count = islands.iter().map(|island| island.len()).sum();
            let x = parity::Random::named(variation.seed, "x").normals(count, 1.0);
            let y: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
            let buffers = vec![
                parity::Buffer::input("x", &x).islands(COUNT, islands.clone()),
                parity::Buffer::output("y", &y).islands(COUNT, islands.clone()),
            ];
            parity::Instance::new(buffers, move |library, pointers, stream| {
                type Entry = unsafe extern "C" fn(
                    *const std::ffi::c_void,
                    *mut std::ffi::c_void,
                    i64,
                    *mut std::ffi::c_void,
                ) -> std::ffi::c_int;
                // SAFETY: every entry of known_bad.cu has this prototype.
                let function = unsafe { library.function::<Entry>(entry) }?;
                // SAFETY: the runner passes live buffers of COUNT elements.
                Ok(unsafe { function(pointers[0], pointers[1], COUNT as i64, stream) })
            })
        });
        let library = library();
        let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
        Runner::new(&device, &library, Options::default()).run(&case)
    };
    let good = run(GOOD);
    assert_eq!(good.outcome(), Outcome::Pass, "{good:?}");
    for bad in [
        "kb_noop",
        "kb_short_tail",
        "kb_past_end",
        "kb_mutates_input",
    ] {
        assert_eq!(run(bad).outcome(), Outcome::Fail, "{bad} passed");
    }
}

#[test]
fn an_unwritten_index_is_not_taken_for_minus_one() {
    let case = parity::Case::exact("unwritten", "kb_noop", |_| {
        let buffers = vec![
            parity::Buffer::input("x", &[1.0f32]),
            parity::Buffer::output("index", &[-1i32]),
        ];
        parity::Instance::new(buffers, |_, _, _| Ok(0))
    });
    let library = library();
    let device = Simulator::open(library.clone(), Model::HOPPER).unwrap();
    let report = Runner::new(&device, &library, Options::default()).run(&case);
    let (_, failure) = report.failures().next().unwrap();
    assert_eq!(failure.check, Check::Direct, "{}", failure.message);
}
