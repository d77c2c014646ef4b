//! known_bad.cu, compiled against the host stand-in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The library; compiled once a process, into a file of its own.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("known_bad");
        let name = format!("libknown_bad_host_{}.so", std::process::id());
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let status = Command::new(&compiler)
            .args([
                "-x",
                "c++",
                "-std=c++17",
                "-O1",
                "-fPIC",
                "-shared",
                "-Wall",
                "-Werror",
            ])
            .arg("-I")
            .arg(source.join("host"))
            // What the stand-in lacks (status.h) comes from the real prelude.
            .arg("-idirafter")
            .arg(source.join("../../build-support/include"))
            .arg(source.join("known_bad.cu"))
            .arg("-o")
            .arg(&output)
            .status();
        let status = status.unwrap_or_else(|error| panic!("{compiler} does not run: {error}"));
        assert!(status.success(), "known_bad.cu does not compile");
        output
    })
}
