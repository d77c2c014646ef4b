//! The test kernels give the same right results in every thread order, without a finding; every
//! mutant of theirs is noticed, and the checked build says why.

mod support;

use std::ffi::{c_int, c_void};

use simulator::Flavor;
use support::{ORDERS, Simulator};

/// What a run wrote, and what it should have.
struct Outcome {
    code: c_int,
    right: bool,
}

type Run = fn(&Simulator) -> Outcome;

/// Every kernel, by the word that its mutants begin with.
const KERNELS: &[(&str, Run)] = &[
    ("sum", block_sum),
    ("ticket", ticket),
    ("cluster", cluster),
    ("staging", staging),
    ("exchange", exchange),
    ("bulk", bulk),
    ("vector", vector),
    ("warp", warp),
];

fn floats(n: usize) -> Vec<f32> {
    // Small integers: every sum is exact, whatever its order.
    (0..n).map(|i| ((i * 7 + 3) % 23) as f32).collect()
}

fn poisoned(n: usize) -> Vec<f32> {
    vec![f32::from_bits(u32::MAX); n]
}

/// 16-byte aligned storage.
fn aligned(values: &[f32]) -> Vec<[f32; 4]> {
    #[repr(align(16))]
    struct Aligned;
    let _ = Aligned;
    let mut storage = vec![[0.0; 4]; values.len().div_ceil(4) + 1];
    for (i, v) in values.iter().enumerate() {
        storage[i / 4][i % 4] = *v;
    }
    storage
}

fn block_sum(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const f32, *mut f32, c_int, c_int, c_int, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_block_sum");
    let (n, blocks) = (250, 4);
    let x = floats(n * blocks);
    let mut out = poisoned(blocks + 1);
    sim.input(&x);
    sim.output(&mut out[..blocks]);
    // SAFETY: the buffers are as large as the arguments say, with one float to spare.
    let code = unsafe { f(x.as_ptr(), out.as_mut_ptr(), 250, 4, 128, sim.stream) };
    let right = (0..blocks).all(|b| out[b] == x[b * n..(b + 1) * n].iter().sum::<f32>())
        && out[blocks].to_bits() == u32::MAX;
    Outcome { code, right }
}

fn ticket(sim: &Simulator) -> Outcome {
    type F =
        unsafe extern "C" fn(*const f32, *mut f32, *mut u32, *mut f32, c_int, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_ticket");
    let blocks = 6;
    let x = floats(64 * blocks);
    let mut parts = poisoned(64 * blocks);
    let mut out = poisoned(64);
    let mut tickets = vec![0u32];
    sim.input(&x);
    sim.output(&mut parts);
    sim.output(&mut out);
    sim.in_out(&mut tickets);
    // SAFETY: the buffers are as large as the kernel expects for six blocks.
    let code = unsafe {
        f(
            x.as_ptr(),
            parts.as_mut_ptr(),
            tickets.as_mut_ptr(),
            out.as_mut_ptr(),
            6,
            sim.stream,
        )
    };
    let right = (0..64).all(|t| out[t] == (0..blocks).map(|b| x[b * 64 + t]).sum::<f32>())
        && tickets[0] == 0;
    Outcome { code, right }
}

fn cluster(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const f32, *mut f32, c_int, c_int, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_cluster");
    let (blocks, size) = (8, 4);
    let x = floats(64 * blocks);
    let mut out = poisoned(64 * blocks);
    sim.input(&x);
    sim.output(&mut out);
    // SAFETY: 64 floats a block.
    let code = unsafe { f(x.as_ptr(), out.as_mut_ptr(), 8, 4, sim.stream) };
    let right = (0..64 * blocks).all(|i| {
        let first = i / 64 / size * size;
        out[i]
            == (first..first + size)
                .map(|b| x[b * 64 + 63 - i % 64])
                .sum::<f32>()
    });
    Outcome { code, right }
}

fn staging(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const f32, *mut f32, c_int, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_staging");
    let tiles = 5;
    let x = floats(256 * tiles);
    let storage = aligned(&x);
    let mut out = poisoned(64);
    sim.input(&storage);
    sim.output(&mut out);
    // SAFETY: five tiles of 256 floats.
    let code = unsafe { f(storage.as_ptr().cast(), out.as_mut_ptr(), 5, sim.stream) };
    let right = (0..64).all(|t| {
        let own = |tile: usize| (0..4).map(move |i| 256 * tile + 4 * (63 - t) + i);
        out[t] == (0..tiles).flat_map(own).map(|i| x[i]).sum::<f32>()
    });
    Outcome { code, right }
}

fn exchange(sim: &Simulator) -> Outcome {
    type Ring = unsafe extern "C" fn(*mut u64, *mut f32, *mut f32, c_int, *mut c_void) -> c_int;
    type Release = unsafe extern "C" fn(*mut u32, *mut f32, *mut f32, c_int, *mut c_void) -> c_int;
    let ring: Ring = sim.symbol("simk_exchange");
    let release: Release = sim.symbol("simk_exchange_release");
    let blocks = 5;
    let mut mailbox = vec![0u64; 32 * blocks];
    let mut plain = poisoned(32 * blocks);
    let mut out = poisoned(32 * blocks);
    sim.in_out(&mut mailbox);
    sim.output(&mut plain);
    sim.output(&mut out);
    // SAFETY: 32 elements a block.
    let mut code = unsafe {
        ring(
            mailbox.as_mut_ptr(),
            plain.as_mut_ptr(),
            out.as_mut_ptr(),
            5,
            sim.stream,
        )
    };
    let mut right = (0..32 * blocks).all(|i| out[i] == (i % 32 + i / 32 + 1) as f32);
    let mut flags = vec![0u32];
    let mut values = poisoned(32);
    let mut out = poisoned(32 * blocks);
    sim.in_out(&mut flags);
    sim.output(&mut values);
    sim.output(&mut out);
    if code == 0 {
        // SAFETY: one flag, 32 values, 32 results a block.
        code = unsafe {
            release(
                flags.as_mut_ptr(),
                values.as_mut_ptr(),
                out.as_mut_ptr(),
                5,
                sim.stream,
            )
        };
    }
    right = right && (32..32 * blocks).all(|i| out[i] == (i % 32) as f32);
    Outcome { code, right }
}

fn bulk(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const f32, *mut f32, c_int, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_bulk");
    let x = floats(256 * 3);
    let storage = aligned(&x);
    let mut out = aligned(&poisoned(256 * 3));
    sim.input(&storage);
    sim.output(&mut out);
    // SAFETY: three blocks of 256 floats, 16-byte aligned.
    let code = unsafe {
        f(
            storage.as_ptr().cast(),
            out.as_mut_ptr().cast(),
            3,
            sim.stream,
        )
    };
    let right = (0..x.len()).all(|i| out[i / 4][i % 4] == 2.0 * x[i]);
    Outcome { code, right }
}

fn vector(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const f32, *mut f32, c_int, *mut c_void) -> c_int;
    type Halves = unsafe extern "C" fn(*const u16, *mut u16, *mut c_void) -> c_int;
    let f: F = sim.symbol("simk_vector");
    let halves: Halves = sim.symbol("simk_vector_halves");
    let n = 301;
    let x = floats(n);
    let mut code = 0;
    let mut right = true;
    for offset in 0..2 {
        let mut input = vec![0.0; offset];
        input.extend(&x);
        let mut storage = aligned(&input);
        let mut out = aligned(&poisoned(n + offset + 1));
        // SAFETY: the storage holds `offset` floats before the ones that the kernel is given.
        let (from, to) = unsafe {
            (
                storage.as_mut_ptr().cast::<f32>().add(offset),
                out.as_mut_ptr().cast::<f32>().add(offset),
            )
        };
        // SAFETY: `n` floats lie at both.
        unsafe {
            sim.input(std::slice::from_raw_parts(from, n));
            sim.output(std::slice::from_raw_parts_mut(to, n));
        }
        if code == 0 {
            // SAFETY: as above, and a float behind the output.
            code = unsafe { f(from, to, n as c_int, sim.stream) };
        }
        let at = |i: usize| out[(i + offset) / 4][(i + offset) % 4];
        right = right && (0..n).all(|i| at(i) == x[i]) && at(n).to_bits() == u32::MAX;
    }
    let x: Vec<u16> = (0..64).map(|i| i * 3).collect();
    let mut out = vec![u16::MAX; 64];
    sim.input(&x);
    sim.output(&mut out);
    if code == 0 {
        // SAFETY: 64 elements each.
        code = unsafe { halves(x.as_ptr(), out.as_mut_ptr(), sim.stream) };
    }
    right = right && (0..64).all(|i| out[i] == x[63 - i]);
    Outcome { code, right }
}

fn warp(sim: &Simulator) -> Outcome {
    type F = unsafe extern "C" fn(*const i32, *mut i32, *mut c_void) -> c_int;
    let x: Vec<i32> = (0..32).map(|i| (i * 11 + 5) % 32).collect();
    let run = |name: &str, rows: usize| -> (c_int, Vec<i32>) {
        let f: F = sim.symbol(name);
        let mut out = vec![-1; 32 * rows];
        sim.input(&x);
        sim.output(&mut out);
        // SAFETY: 32 inputs, 32 outputs a row.
        (unsafe { f(x.as_ptr(), out.as_mut_ptr(), sim.stream) }, out)
    };
    let (mut code, out) = run("simk_warp", 11);
    let ballot = (0..32)
        .filter(|&l| x[l] % 3 == 0)
        .fold(0u32, |b, l| b | 1 << l);
    let mut right = (0..32).all(|l| {
        let wanted = [
            x[(l + 5) % 32],
            x[if l % 8 >= 3 { l - 3 } else { l }],
            x[if l % 16 + 3 < 16 { l + 3 } else { l }],
            x[l ^ 9],
            ballot as i32,
            2,
            x.iter().sum::<i32>() - 16 + 31,
            (0..32)
                .filter(|&m| x[m] % 4 == x[l] % 4)
                .fold(0u32, |b, m| b | 1 << m) as i32,
            if l < 16 {
                x[l ^ 1]
            } else {
                x[if l + 2 < 32 { l + 2 } else { l }]
            },
            x[31 - l],
            x[l ^ 1],
        ];
        (0..11).all(|row| out[row * 32 + l] == wanted[row])
    });
    for name in ["simk_warp_named", "simk_warp_dependent"] {
        if code == 0 {
            let (next, out) = run(name, 1);
            code = next;
            right = right
                && (0..32).all(|l| out[l] == x[if name.ends_with("named") { 31 - l } else { l }]);
        }
    }
    Outcome { code, right }
}

fn kernel_of(mutant: &str) -> Run {
    let word = mutant.split('_').next().unwrap();
    KERNELS
        .iter()
        .find(|(name, _)| *name == word)
        .unwrap_or_else(|| panic!("no kernel has mutants named {word}_..."))
        .1
}

fn every_order_is_right_and_clean(flavor: Flavor) {
    let sim = Simulator::load(flavor);
    for (name, run) in KERNELS {
        for order in ORDERS {
            sim.order(order);
            let outcome = run(&sim);
            let report = sim.take_report();
            sim.unregister_all();
            assert_eq!(report, None, "{name} in order {order:?}");
            assert_eq!(outcome.code, 0, "{name} in order {order:?}");
            assert!(outcome.right, "{name} in order {order:?}: wrong results");
        }
    }
}

#[test]
fn kernels_are_right_in_every_order() {
    every_order_is_right_and_clean(Flavor::Plain);
}

#[test]
fn correct_kernels_have_no_findings_in_any_order() {
    every_order_is_right_and_clean(Flavor::Checked);
}

/// What the checked build must say of each mutant, in every order. Those with an empty word only
/// make results wrong.
const EXPECTED: &[(&str, &str)] = &[
    ("bulk_expects_more", "deadlock"),
    (
        "bulk_no_barrier_after_init",
        "mbarrier_not_initialised|race",
    ),
    ("bulk_no_barrier_before_store", "race"),
    ("bulk_no_proxy_fence", "proxy_fence"),
    ("bulk_no_store_wait", "bulk_store_not_waited"),
    ("bulk_no_wait", "uninitialised_read|race"),
    ("cluster_arrives_twice", "cluster_arrive_twice"),
    ("cluster_no_first_barrier", "race|uninitialised_read"),
    ("cluster_no_last_barrier", "cluster_exit"),
    ("cluster_no_last_wait", "cluster_exit"),
    ("cluster_own_rank", ""),
    ("cluster_relaxed", "race"),
    ("exchange_never_sent", "livelock"),
    ("exchange_no_syncwarp", "race"),
    ("exchange_relaxed_flag", "race"),
    ("exchange_value_apart", "race"),
    ("staging_no_barrier_after_wait", "race|uninitialised_read"),
    ("staging_no_barrier_before_reuse", "race"),
    ("staging_no_wait", "uninitialised_read"),
    ("staging_one_stage", "out_of_bounds"),
    ("staging_waits_for_too_few", "uninitialised_read"),
    ("sum_barrier_skipped_by_some", "barrier_not_reached_by_all"),
    ("sum_divergent_barrier", "barrier_divergent"),
    ("sum_half_mask", "mask_without_caller"),
    ("sum_no_barrier", "race"),
    ("sum_partial_not_written", "uninitialised_read"),
    ("sum_reads_one_more", "out_of_bounds"),
    ("sum_writes_one_behind", "out_of_bounds"),
    ("ticket_block_fence", "race"),
    ("ticket_no_acquire_fence", "race"),
    ("ticket_no_barrier", "race"),
    ("ticket_no_release_fence", "race"),
    ("vector_at_any_alignment", "misaligned"),
    ("vector_halves_no_barrier", "race"),
    ("vector_reads_output", ""),
    ("vector_tail_too_long", "out_of_bounds"),
    ("vector_through_pointer", "misaligned"),
    ("vector_writes_input", "write_to_input"),
    ("warp_exits_before_sync", "mask_names_absent_lane"),
    ("warp_mask_of_the_other_half", "mask_without_caller"),
    ("warp_named_barrier_count", "named_barrier|race"),
    ("warp_no_dependency_wait", "before_dependency_wait"),
    ("warp_no_named_barrier", "race"),
    ("warp_no_pair_sync", "race"),
    ("warp_no_sync", "race"),
    ("warp_reads_outside_mask", "shuffle_source"),
    ("warp_shuffle_as_barrier", "race"),
    (
        "warp_sync_in_branch",
        "mask_names_absent_lane|deadlock|warp_masks_differ",
    ),
];

#[test]
fn every_mutant_dies_in_every_order_and_is_named_for_what_it_is() {
    let sim = Simulator::load(Flavor::Checked);
    let names: Vec<&str> = EXPECTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        support::all_mutants(),
        "the table lists every mutant, sorted"
    );
    let mut survivors = Vec::new();
    for (name, codes) in EXPECTED {
        assert_eq!(sim.mutant(Some(name)), 0);
        for order in ORDERS {
            sim.order(order);
            let outcome = kernel_of(name)(&sim);
            let report = sim.take_report();
            sim.unregister_all();
            let text = report.clone().unwrap_or_default();
            let named = codes.is_empty()
                || codes.split('|').any(|code| {
                    text.lines()
                        .any(|line| line.starts_with(&format!("{code}:")))
                });
            let died = report.is_some() || outcome.code != 0 || !outcome.right;
            if !died || !named {
                survivors.push(format!(
                    "{name} in order {order:?}: code {}, right {}, report: {text}",
                    outcome.code, outcome.right
                ));
            }
        }
    }
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}
