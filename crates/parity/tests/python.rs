//! The C ABI is enough for a caller without Rust: Python's ctypes drives a library.

mod host_library;

use std::path::Path;
use std::process::{Command, Output};

fn python(code: &str) -> Output {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    Command::new("python3")
        .args(["-B", "-c", code])
        .arg(host_library::path())
        .env("PYTHONPATH", modules)
        .output()
        .expect("python3 runs")
}

fn passes(code: &str) {
    let output = python(code);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn python_loads_a_library_and_calls_it() {
    passes(
        "import array, ctypes, sys, kernel_library as kl\n\
         library = kl.KernelLibrary(sys.argv[1], 'kb', 1)\n\
         assert library.check()['name'] == 'known_bad'\n\
         x = array.array('f', [1.0, -2.5, 3.0])\n\
         y = array.array('f', [0.0] * 3)\n\
         address = lambda a: ctypes.c_void_p(a.buffer_info()[0])\n\
         library.call('kb_good', address(x), address(y), ctypes.c_longlong(3), None)\n\
         assert list(y) == [2.0, -5.0, 6.0], y\n",
    );
}

#[test]
fn a_refusal_reaches_python_with_its_text() {
    passes(
        "import ctypes, sys, kernel_library as kl\n\
         library = kl.KernelLibrary(sys.argv[1], 'kb', 1)\n\
         try:\n\
         \x20   library.call('kb_good', None, None, ctypes.c_longlong(3), None)\n\
         except kl.StatusError as error:\n\
         \x20   assert error.code == 1001, error\n\
         \x20   assert error.text == 'known_bad: x: must not be null', error\n\
         else:\n\
         \x20   raise AssertionError('a null pointer was taken')\n",
    );
}

#[test]
fn another_abi_version_is_noticed() {
    let output = python(
        "import sys, kernel_library as kl\n\
         kl.KernelLibrary(sys.argv[1], 'kb', 2).check()\n",
    );
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("ABI version: was 1, must be 2"), "{stderr}");
}

#[test]
fn without_a_device_python_gets_one_sentence() {
    passes(
        "import kernel_library as kl\n\
         try:\n\
         \x20   kl.Gpu().__exit__()\n\
         except kl.NoDevice as error:\n\
         \x20   assert str(error), 'a reason'\n",
    );
}
