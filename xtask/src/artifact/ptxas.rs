//! What ptxas says about each kernel: `-Xptxas=-v`.

/// The resources of one kernel on one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The mangled name.
    pub kernel: String,
    /// E.g. `90a`.
    pub arch: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of stack a thread.
    pub stack: u32,
    /// Bytes spilled to memory, stores and loads together.
    pub spills: u32,
    /// Named barriers a block.
    pub barriers: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
}

/// Reads a compiler's output. Device functions that were not inlined count into no kernel.
pub fn parse(log: &str) -> Vec<Usage> {
    let mut found: Vec<Usage> = Vec::new();
    let mut about_kernel = false;
    for line in log.lines() {
        if let Some(rest) = after(line, "Compiling entry function '") {
            if let Some((kernel, rest)) = rest.split_once('\'') {
                let arch = after(rest, "for 'sm_").and_then(|arch| arch.split('\'').next());
                found.push(Usage {
                    kernel: kernel.to_owned(),
                    arch: arch.unwrap_or_default().to_owned(),
                    ..Usage::default()
                });
            }
            continue;
        }
        let Some(current) = found.last_mut() else {
            continue;
        };
        if let Some(function) = after(line, "Function properties for ") {
            about_kernel = function.trim() == current.kernel;
        } else if line.contains("bytes stack frame") && about_kernel {
            current.stack = number_before(line, " bytes stack frame");
            current.spills = number_before(line, " bytes spill stores")
                + number_before(line, " bytes spill loads");
        } else if let Some(used) = after(line, ": Used ") {
            current.registers = number_before(used, " registers");
            current.barriers = number_before(used, " barriers");
            current.shared = number_before(used, " bytes smem");
        }
    }
    found
}

fn after<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.find(marker).map(|at| &line[at + marker.len()..])
}

/// The number right before `marker`, 0 where it does not stand: ptxas leaves out what is none.
fn number_before(line: &str, marker: &str) -> u32 {
    let before = line.find(marker).map_or("", |at| &line[..at]);
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[before.len() - digits..].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_of_each_architecture_is_read() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN1aL1kEv' for 'sm_80'
ptxas info    : Function properties for _ZN1aL1kEv
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN1aL1kEv' for 'sm_90a'
ptxas info    : Function properties for _ZN1aL1kEv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 380 bytes cmem[0]
ptxas info    : Function properties for helper
    64 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
";
        let kernel = "_ZN1aL1kEv".to_owned();
        let first = Usage {
            kernel: kernel.clone(),
            arch: "80".into(),
            registers: 40,
            stack: 16,
            spills: 20,
            barriers: 1,
            shared: 512,
        };
        let second = Usage {
            kernel,
            arch: "90a".into(),
            registers: 8,
            ..Usage::default()
        };
        assert_eq!(parse(log), [first, second]);
    }

    #[test]
    fn other_text_holds_no_kernel() {
        assert_eq!(
            parse("warning: nothing\nptxas info : Used 3 registers\n"),
            []
        );
    }
}
