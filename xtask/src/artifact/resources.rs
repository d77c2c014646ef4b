//! `resources.lock.json`: what each kernel may use, written by `codegen`, compared by `compile`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ptxas::Usage;

/// Its name in a kernel crate.
pub const FILE: &str = "resources.lock.json";

/// The resources of every kernel of a crate, as the pinned compiler makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The compiler that the figures are from; another one's may differ.
    pub nvcc: String,
    /// By translation unit, mangled kernel name and architecture.
    pub units: BTreeMap<String, BTreeMap<String, BTreeMap<String, Figures>>>,
}

/// One kernel on one architecture. Spills and stack are not among them: they must be 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Registers a thread.
    pub registers: u32,
    /// Named barriers a block.
    pub barriers: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
}

impl Lock {
    /// The lock that fits what ptxas said, by translation unit.
    pub fn of(nvcc: &str, usage: &BTreeMap<String, Vec<Usage>>) -> Lock {
        let mut lock = Lock {
            nvcc: nvcc.to_owned(),
            ..Lock::default()
        };
        for (unit, kernels) in usage {
            let unit = lock.units.entry(unit.clone()).or_default();
            for kernel in kernels {
                let Usage {
                    registers,
                    barriers,
                    shared,
                    ..
                } = *kernel;
                unit.entry(kernel.kernel.clone()).or_default().insert(
                    kernel.arch.clone(),
                    Figures {
                        registers,
                        barriers,
                        shared,
                    },
                );
            }
        }
        lock
    }

    /// As it is checked in: one kernel and architecture a line, so that a diff is readable.
    #[cfg_attr(
        not(feature = "bindgen"),
        allow(dead_code, reason = "codegen alone calls it")
    )]
    pub fn render(&self) -> String {
        let mut text = format!("{{\n  \"nvcc\": {:?},\n  \"units\": {{\n", self.nvcc);
        let units = self.units.iter().map(|(unit, kernels)| {
            let kernels = kernels.iter().map(|(kernel, archs)| {
                let archs = archs.iter().map(|(arch, f)| {
                    format!(
                        "        {arch:?}: {{ \"registers\": {}, \"barriers\": {}, \"shared\": {} }}",
                        f.registers, f.barriers, f.shared
                    )
                });
                format!("      {kernel:?}: {{\n{}\n      }}", join(archs))
            });
            format!("    {unit:?}: {{\n{}\n    }}", join(kernels))
        });
        text.push_str(&join(units));
        text.push_str("\n  }\n}\n");
        text
    }

    /// How `built` differs from this lock, on the architectures that were built; each a pointer
    /// into the lock and a sentence.
    pub fn differences(&self, built: &Lock, archs: &[String]) -> Vec<(String, String)> {
        let (locked, built) = (self.entries(archs), built.entries(archs));
        let mut found = Vec::new();
        for (place, now) in &built {
            let pointer = pointer(place);
            match locked.get(place) {
                Some(then) if then == now => {}
                Some(then) => found.push((
                    pointer,
                    format!(
                        "uses {} registers, {} barriers and {} bytes of shared memory; locked are {}, {} and {}",
                        now.registers, now.barriers, now.shared, then.registers, then.barriers, then.shared
                    ),
                )),
                None => found.push((pointer, "this kernel was built and is not in the lock".into())),
            }
        }
        for place in locked.keys().filter(|place| !built.contains_key(*place)) {
            found.push((
                pointer(place),
                "this kernel is in the lock and was not built".into(),
            ));
        }
        found
    }

    fn entries(&self, archs: &[String]) -> BTreeMap<[&str; 3], Figures> {
        let mut entries = BTreeMap::new();
        for (unit, kernels) in &self.units {
            for (kernel, figures) in kernels {
                for (arch, figures) in figures.iter().filter(|(arch, _)| archs.contains(arch)) {
                    entries.insert([unit.as_str(), kernel, arch], *figures);
                }
            }
        }
        entries
    }
}

#[cfg_attr(
    not(feature = "bindgen"),
    allow(dead_code, reason = "codegen alone calls it")
)]
fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",\n")
}

fn pointer(place: &[&str; 3]) -> String {
    let [unit, kernel, arch] = place.map(|part| part.replace('~', "~0").replace('/', "~1"));
    format!("/units/{unit}/{kernel}/{arch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(registers: u32) -> Lock {
        let usage = |arch: &str| Usage {
            kernel: "k".into(),
            arch: arch.into(),
            registers,
            ..Usage::default()
        };
        let units = BTreeMap::from([("cuda/a.cu".to_owned(), vec![usage("80"), usage("90")])]);
        Lock::of("13.0.88", &units)
    }

    #[test]
    fn a_rendered_lock_reads_back() {
        let lock = lock(32);
        assert_eq!(serde_json::from_str::<Lock>(&lock.render()).unwrap(), lock);
    }

    #[test]
    fn a_changed_figure_is_found_on_the_architectures_that_were_built() {
        let archs = ["90".to_owned()];
        assert_eq!(lock(32).differences(&lock(32), &archs), []);
        let found = lock(32).differences(&lock(40), &archs);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "/units/cuda~1a.cu/k/90");
        assert!(found[0].1.contains("uses 40 registers"), "{}", found[0].1);
    }

    #[test]
    fn kernels_that_came_or_went_are_found() {
        let archs = ["80".to_owned(), "90".to_owned()];
        assert_eq!(Lock::default().differences(&lock(32), &archs).len(), 2);
        let gone = lock(32).differences(&Lock::default(), &archs);
        assert!(
            gone.iter()
                .all(|(_, message)| message.contains("was not built")),
            "{gone:?}"
        );
        assert_eq!(gone.len(), 2);
    }
}
