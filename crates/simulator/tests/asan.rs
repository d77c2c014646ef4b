//! The AddressSanitizer flavor: built, loaded into a process that has the sanitizer's runtime, and
//! right in every order. An overrun ends that process with the sanitizer's own report.

mod support;

use std::ffi::{c_int, c_void};
use std::process::{Command, Output};

use simulator::Flavor;
use support::{ORDERS, Simulator};

/// Runs one of the ignored tests below in a process with the sanitizer's runtime; none where the
/// compiler has no such runtime.
fn with_sanitizer(test: &str) -> Option<Output> {
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let answer = Command::new(compiler)
        .arg("-print-file-name=libasan.so")
        .output()
        .ok()?;
    let runtime = String::from_utf8(answer.stdout).ok()?.trim().to_owned();
    // A name without a directory is the compiler's way of saying that it has none.
    runtime.contains('/').then(|| {
        support::library_path(Flavor::Asan);
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("LD_PRELOAD", runtime)
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .unwrap()
    })
}

type BlockSum =
    unsafe extern "C" fn(*const f32, *mut f32, c_int, c_int, c_int, *mut c_void) -> c_int;

fn sum(mutant: Option<&str>) {
    let sim = Simulator::load(Flavor::Asan);
    let f: BlockSum = sim.symbol("simk_block_sum");
    assert_eq!(sim.mutant(mutant), 0);
    for order in ORDERS {
        sim.order(order);
        let x = vec![1.0f32; 1000];
        let mut out = vec![0.0f32; 4];
        // SAFETY: four blocks of 250; the mutant that writes behind is stopped by the sanitizer.
        let code = unsafe { f(x.as_ptr(), out.as_mut_ptr(), 250, 4, 128, sim.stream) };
        assert_eq!((code, out), (0, vec![250.0; 4]));
    }
}

#[test]
#[ignore = "started by the test below with the sanitizer preloaded"]
fn child_right() {
    sum(None);
}

#[test]
#[ignore = "started by the test below with the sanitizer preloaded"]
fn child_overrun() {
    sum(Some("sum_writes_one_behind"));
}

#[test]
fn a_right_kernel_passes_under_the_sanitizer_and_an_overrun_does_not() {
    let Some(right) = with_sanitizer("child_right") else {
        println!("could not check: the compiler has no libasan.so");
        return;
    };
    let text = |output: &Output| {
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    assert!(right.status.success(), "{}", text(&right));
    let overrun = with_sanitizer("child_overrun").unwrap();
    assert!(!overrun.status.success());
    assert!(
        text(&overrun).contains("heap-buffer-overflow"),
        "{}",
        text(&overrun)
    );
    assert!(
        text(&overrun).contains("reduction.cu"),
        "{}",
        text(&overrun)
    );
}
