//! first
mod support;
use simulator::Flavor;
use std::ffi::{c_int, c_void};
use support::{ORDERS, Simulator};

type BlockSum =
    unsafe extern "C" fn(*const f32, *mut f32, c_int, c_int, c_int, *mut c_void) -> c_int;

#[test]
fn sums() {
    let sim = Simulator::load(Flavor::Plain);
    let f: BlockSum = sim.symbol("simk_block_sum");
    let x: Vec<f32> = (0..4 * 1000).map(|i| (i % 7) as f32).collect();
    for order in ORDERS {
        sim.order(order);
        let mut out = vec![f32::NAN; 4];
        sim.input(&x);
        sim.output(&mut out);
        // SAFETY: buffers are as large as the arguments say.
        let code = unsafe { f(x.as_ptr(), out.as_mut_ptr(), 1000, 4, 256, sim.stream) };
        assert_eq!(code, 0);
        assert_eq!(sim.take_report(), None);
        for b in 0..4 {
            assert_eq!(out[b], x[b * 1000..(b + 1) * 1000].iter().sum::<f32>());
        }
    }
    for m in support::all_mutants() {
        assert_eq!(sim.mutant(Some(&m)), 0);
        sim.order(ORDERS[0]);
        let mut out = vec![f32::NAN; 4];
        let code = unsafe { f(x.as_ptr(), out.as_mut_ptr(), 1000, 4, 256, sim.stream) };
        println!(
            "{m}: {code} {out:?} {}",
            sim.take_report().unwrap_or_default()
        );
    }
}
