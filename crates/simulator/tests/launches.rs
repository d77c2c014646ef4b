//! Launches as a GPU would take or refuse them, streams, captures, and what ends a launch early.

mod support;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use simulator::Flavor;
use support::Simulator;

type Count = unsafe extern "C" fn(*mut u32, c_uint, c_uint, c_uint, c_uint, *mut c_void) -> c_int;
type Add = unsafe extern "C" fn(*const f32, *mut f32, f32, *mut c_void) -> c_int;
type Fault = unsafe extern "C" fn(c_int, *mut i32, *mut u32, c_int, *mut c_void) -> c_int;

fn count(sim: &Simulator, shape: [c_uint; 4]) -> (c_int, u32) {
    let f: Count = sim.symbol("simk_count");
    let mut total = 0u32;
    sim.in_out(std::slice::from_mut(&mut total));
    // SAFETY: one counter.
    let code = unsafe {
        f(
            &mut total, shape[0], shape[1], shape[2], shape[3], sim.stream,
        )
    };
    sim.unregister_all();
    (code, total)
}

#[test]
fn every_thread_of_a_launch_runs_once() {
    let sim = Simulator::load(Flavor::Plain);
    for (shape, threads) in [
        ([1, 1, 0, 1], 1),
        ([3, 33, 0, 1], 99),
        ([2, 1024, 0, 1], 2048),
        ([32, 1024, 0, 16], 32 * 1024),
        ([70_000, 32, 0, 1], 70_000 * 32),
        ([4, 64, 227 * 1024, 2], 256),
    ] {
        for order in support::ORDERS {
            sim.order(order);
            assert_eq!(
                count(&sim, shape),
                (0, threads),
                "{shape:?} in order {order:?}"
            );
        }
    }
    assert_eq!(sim.take_report(), None);
}

#[test]
fn shapes_that_a_gpu_refuses_are_refused_with_its_code() {
    let sim = Simulator::load(Flavor::Plain);
    for (shape, code) in [
        ([0, 32, 0, 1], 9),
        ([1, 0, 0, 1], 9),
        ([1, 1025, 0, 1], 9),
        ([1 << 31, 32, 0, 1], 9),
        ([1, 32, 227 * 1024 + 1, 1], 1),
        ([16, 32, 0, 3], 9),
        ([17, 32, 0, 17], 9),
        ([1, 32, 0, 0], 1),
    ] {
        assert_eq!(count(&sim, shape), (code, 0), "{shape:?}");
    }
    sim.device(8, 6, 20);
    assert_eq!(count(&sim, [1, 32, 99 * 1024, 1]), (0, 32));
    assert_eq!(count(&sim, [1, 32, 100 * 1024, 1]), (1, 0));
    assert_eq!(count(&sim, [2, 32, 0, 2]), (801, 0), "clusters need 9.0");
    let device: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int =
        sim.symbol("simk_device");
    let mut d = [0; 4];
    let [a, b, c, e] = &mut d;
    // SAFETY: four integers.
    assert_eq!(unsafe { device(a, b, c, e) }, 0);
    assert_eq!(d, [8, 6, 20, 99 * 1024]);
    let text: unsafe extern "C" fn(c_int) -> *const c_char = sim.symbol("simk_error_string");
    // SAFETY: answers a constant string.
    let text = unsafe { CStr::from_ptr(text(9)) };
    assert_eq!(text.to_str().unwrap(), "invalid configuration argument");
}

#[test]
fn a_captured_launch_replays_with_its_arguments_and_new_contents() {
    let sim = Simulator::load(Flavor::Checked);
    let begin: unsafe extern "C" fn(*mut c_void) -> c_int = sim.symbol("sim_capture_begin");
    let end: unsafe extern "C" fn(*mut c_void) -> *mut c_void = sim.symbol("sim_capture_end");
    let nodes: unsafe extern "C" fn(*mut c_void) -> usize = sim.symbol("sim_graph_nodes");
    let replay: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int =
        sim.symbol("sim_graph_launch");
    let destroy: unsafe extern "C" fn(*mut c_void) = sim.symbol("sim_graph_destroy");
    let add: Add = sim.symbol("simk_add");
    let clear: unsafe extern "C" fn(*mut f32, *mut c_void) -> c_int = sim.symbol("simk_memset");
    let mut x = vec![1.0f32; 32];
    let mut out = vec![-1.0f32; 32];
    sim.in_out(&mut x);
    sim.output(&mut out);
    // SAFETY: 32 floats each, alive to the end of the test; the graph is destroyed once.
    unsafe {
        assert_eq!(begin(sim.stream), 0);
        assert_ne!(begin(sim.stream), 0, "it is being captured already");
        assert_eq!(clear(out.as_mut_ptr(), sim.stream), 0);
        assert_eq!(add(x.as_ptr(), out.as_mut_ptr(), 2.0, sim.stream), 0);
        assert_eq!(out[0], -1.0, "a captured launch does not run");
        let graph = end(sim.stream);
        assert!(!graph.is_null());
        assert_eq!(nodes(graph), 2);
        assert_eq!(replay(graph, sim.stream), 0);
        assert_eq!(out, vec![3.0; 32]);
        x.fill(5.0);
        assert_eq!(replay(graph, sim.stream), 0);
        assert_eq!(out, vec![7.0; 32]);
        destroy(graph);
        assert_eq!(replay(graph, sim.stream), 400, "it is gone");
        assert_eq!(nodes(std::ptr::null_mut()), 0);
        assert!(end(sim.stream).is_null(), "nothing is being captured");
        let mut elsewhere = 0u64;
        let unknown = std::ptr::from_mut(&mut elsewhere).cast();
        assert_eq!(
            add(x.as_ptr(), out.as_mut_ptr(), 2.0, unknown),
            400,
            "no such stream"
        );
    }
    assert_eq!(sim.take_report(), None);
}

#[test]
fn the_default_stream_is_a_finding_and_spoils_a_capture() {
    let sim = Simulator::load(Flavor::Plain);
    let begin: unsafe extern "C" fn(*mut c_void) -> c_int = sim.symbol("sim_capture_begin");
    let end: unsafe extern "C" fn(*mut c_void) -> *mut c_void = sim.symbol("sim_capture_end");
    let add: Add = sim.symbol("simk_add");
    let x = [1.0f32; 32];
    let mut out = vec![0.0f32; 32];
    let null = std::ptr::null_mut();
    // SAFETY: 32 floats each.
    unsafe {
        assert_eq!(add(x.as_ptr(), out.as_mut_ptr(), 1.0, null), 0);
        assert_eq!(out[31], 2.0);
        let report = sim.take_report().unwrap();
        assert!(report.starts_with("default_stream: "), "{report}");
        assert_eq!(begin(sim.stream), 0);
        assert_eq!(add(x.as_ptr(), out.as_mut_ptr(), 1.0, null), 906);
        assert!(end(sim.stream).is_null());
    }
    assert!(sim.take_report().is_some());
}

#[test]
fn an_unknown_mutant_is_refused_and_the_known_ones_are_listed() {
    let sim = Simulator::load(Flavor::Plain);
    assert_ne!(sim.mutant(Some("sum_no_such_thing")), 0);
    assert_ne!(sim.mutant(Some("")), 0);
    assert_eq!(sim.mutant(None), 0);
    let name: unsafe extern "C" fn(usize) -> *const c_char = sim.symbol("sim_mutant_name");
    let mut listed = Vec::new();
    // SAFETY: the names are constants; null ends them.
    unsafe {
        loop {
            let text = name(listed.len());
            if text.is_null() {
                break;
            }
            listed.push(CStr::from_ptr(text).to_str().unwrap().to_owned());
        }
    }
    assert_eq!(listed, support::all_mutants());
}

/// Runs a kernel that goes wrong and gives back the code and the first line of the report.
fn fault(sim: &Simulator, kind: c_int, threads: c_int) -> (c_int, String) {
    let f: Fault = sim.symbol("simk_fault");
    let mut memory = vec![40i32, 1];
    let mut flags = vec![0u32, 1];
    sim.in_out(&mut memory);
    sim.in_out(&mut flags);
    // SAFETY: two integers each; what the kernel does beyond them is what is tested.
    let code = unsafe {
        f(
            kind,
            memory.as_mut_ptr(),
            flags.as_mut_ptr(),
            threads,
            sim.stream,
        )
    };
    sim.unregister_all();
    (code, sim.take_report().unwrap_or_default())
}

#[test]
fn a_kernel_that_goes_wrong_ends_the_launch_and_not_the_process() {
    for flavor in [Flavor::Plain, Flavor::Checked] {
        let sim = Simulator::load(flavor);
        let checked = flavor == Flavor::Checked;
        for (kind, finding) in [
            (1, if checked { "out_of_bounds" } else { "fault" }),
            (2, "stack_overflow"),
            (3, "trap"),
            (4, "assertion"),
            (5, "livelock"),
            (6, "livelock"),
            (8, if checked { "division_by_zero" } else { "fault" }),
            (9, "deadlock"),
            (10, if checked { "null_pointer" } else { "fault" }),
        ] {
            let (code, report) = fault(&sim, kind, 96);
            assert_eq!(code, 719, "{flavor:?} {kind}: {report}");
            assert!(
                report.contains(&format!("{finding}: ")),
                "{flavor:?} {kind}: {report}"
            );
            assert!(report.contains("faults.cu:"), "the source line: {report}");
            // The next launch is sound.
            assert_eq!(count(&sim, [4, 96, 0, 1]), (0, 384));
            assert_eq!(sim.take_report(), None);
        }
    }
}

#[test]
fn the_checked_build_sees_between_arrays_and_wide_shifts() {
    let sim = Simulator::load(Flavor::Checked);
    let (code, report) = fault(&sim, 7, 1);
    assert_eq!(code, 719);
    assert!(
        report.starts_with("out_of_bounds: ") && report.contains("byte 16 of shared array #1"),
        "{report}"
    );
    let (code, report) = fault(&sim, 11, 1);
    assert_eq!(code, 0);
    assert!(report.starts_with("shift: "), "{report}");
}

#[test]
fn a_report_names_kernel_threads_buffer_and_both_lines() {
    let sim = Simulator::load(Flavor::Checked);
    let name: unsafe extern "C" fn(*mut c_void, *const c_char) = sim.symbol("sim_name");
    assert_eq!(sim.mutant(Some("ticket_no_release_fence")), 0);
    let f: unsafe extern "C" fn(
        *const f32,
        *mut f32,
        *mut u32,
        *mut f32,
        c_int,
        *mut c_void,
    ) -> c_int = sim.symbol("simk_ticket");
    let x = vec![1.0f32; 128];
    let mut parts = vec![0.0f32; 128];
    let mut ticket = vec![0u32];
    let mut out = vec![0.0f32; 64];
    sim.input(&x);
    sim.output(&mut parts);
    sim.output(&mut out);
    sim.in_out(&mut ticket);
    // SAFETY: the buffers are those of two blocks, and outlive the simulator's use of them.
    let code = unsafe {
        name(parts.as_mut_ptr().cast(), c"parts".as_ptr());
        f(
            x.as_ptr(),
            parts.as_mut_ptr(),
            ticket.as_mut_ptr(),
            out.as_mut_ptr(),
            2,
            sim.stream,
        )
    };
    assert_eq!(code, 0);
    let report = sim.take_report().unwrap();
    let lines: Vec<&str> = report.lines().collect();
    assert!(
        lines[0].starts_with("race: kernel sim_kernels::ticket_sum: byte ")
            && lines[0].contains(" of buffer parts is used by two threads"),
        "{report}"
    );
    let file = "crates/simulator/tests/kernels/ticket.cu:";
    assert!(lines[1].contains(&format!(" reads at {file}")), "{report}");
    assert!(lines[1].starts_with("    block 1 thread "), "{report}");
    assert!(lines[2].starts_with("    block 0 thread "), "{report}");
    assert!(lines[2].contains(&format!(" wrote at {file}")), "{report}");
}

#[test]
fn blocks_of_a_cooperative_launch_meet_and_too_many_are_refused() {
    type Meeting = unsafe extern "C" fn(*mut u32, *mut u32, c_uint, *mut c_void) -> c_int;
    let sim = Simulator::load(Flavor::Plain);
    let meeting: Meeting = sim.symbol("simk_meeting");
    let resident: unsafe extern "C" fn(c_uint) -> c_int = sim.symbol("simk_meeting_resident");
    // SAFETY: takes a number alone.
    unsafe {
        assert_eq!(resident(0), 32, "2048 threads a multiprocessor");
        assert_eq!(resident(100 * 1024), 2);
    }
    for order in support::ORDERS {
        sim.order(order);
        // More blocks than a launch without the promise would keep alive: 700 * 64 threads.
        let blocks = 700;
        let mut arrived = vec![0u32; blocks];
        let mut out = 0u32;
        sim.in_out(&mut arrived);
        sim.in_out(std::slice::from_mut(&mut out));
        // SAFETY: a word for each block, and one.
        let code = unsafe { meeting(arrived.as_mut_ptr(), &mut out, blocks as u32, sim.stream) };
        sim.unregister_all();
        assert_eq!((code, out), (0, blocks as u32), "{order:?}");
    }
    assert_eq!(sim.take_report(), None);
    sim.device(9, 0, 2);
    let mut word = 0u32;
    // SAFETY: refused before anything is read.
    let code = unsafe { meeting(&mut word, &mut word, 65, sim.stream) };
    assert_eq!(code, 720);
}
