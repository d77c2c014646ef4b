//! Cases as data: what to call, on which buffers, and what must come back.

use crate::compare::{Against, Compare, Comparison, compare};
use crate::element::{Element, Scalar, bytes_of};
use crate::{Error, Library, Result};
use serde::Serialize;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ops::{BitOr, Range};
use std::sync::Arc;

/// What an entry point promises about its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The bytes of the oracle.
    Exact,
    /// Within a derived bound of the f64 oracle.
    Tolerance,
    /// Tensor cores or hardware approximations, within a derived bound.
    Fast,
}

/// Which runs a case takes part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags(u8);

impl Tags {
    /// None of the below.
    pub const NONE: Tags = Tags(0);
    /// Small enough for the sanitizers, and worth it.
    pub const SANITIZE: Tags = Tags(1);
    /// Small enough for the simulator.
    pub const SIMULATE: Tags = Tags(2);
    /// Takes much memory or a slow oracle: run once per path, with fewer placements.
    pub const LARGE: Tags = Tags(4);

    /// Whether all of `other` are in `self`.
    pub const fn contains(self, other: Tags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Tags {
    type Output = Tags;

    fn bitor(self, other: Tags) -> Tags {
        Tags(self.0 | other.0)
    }
}

/// A code path that the params struct's `path` field can force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Its name in reports.
    pub name: &'static str,
    /// The value of the `path` field. 0 chooses automatically.
    pub value: i32,
    /// The lowest compute capability it runs on, as 10 * major + minor. Below it the path could
    /// not be checked, which is neither a pass nor a failure.
    pub min_capability: i32,
}

impl Path {
    /// The path that the host code chooses by itself.
    pub const AUTOMATIC: Path = Path::new("automatic", 0);

    /// A path that every device has.
    pub const fn new(name: &'static str, value: i32) -> Path {
        Path {
            name,
            value,
            min_capability: 0,
        }
    }

    /// A path that needs a device of at least this capability (90 for clusters).
    pub const fn needing(name: &'static str, value: i32, min_capability: i32) -> Path {
        Path {
            name,
            value,
            min_capability,
        }
    }
}

/// What distinguishes one instance of a case from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variation {
    /// Seeds the contents. Shapes must not depend on it.
    pub seed: u64,
    /// The forced path: goes into the params struct.
    pub path: i32,
}

/// What the call must return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Status 0 and the expected buffers.
    Success,
    /// This status, no graph node, and every buffer as it was.
    Code(c_int),
}

/// How the kernel may use a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Role {
    /// Read only: must be the same bytes afterwards.
    Input,
    /// Written without being read: poisoned before the call.
    Output,
    /// Read and written.
    InOut,
    /// Zeroed once when it is allocated, then kept from call to call; contents are not compared.
    Workspace,
}

/// One device buffer of an instance.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// The argument's name.
    pub name: &'static str,
    /// How the kernel may use it.
    pub role: Role,
    /// The type of its elements.
    pub element: Element,
    /// Its contents before the call. For an output only the length counts.
    pub initial: Vec<u8>,
    /// The oracle's bytes. `None` for inputs, workspaces and for bounds.
    pub expected: Option<Vec<u8>>,
    /// How an output is compared.
    pub compare: Compare,
    /// Elements of an output that the call must leave alone: the gaps between strided rows, rows
    /// that bad device-side values skip.
    pub untouched: Vec<Range<usize>>,
    /// Where a buffer that is mostly not looked at has its contents. `None`: it is its contents.
    pub islands: Option<Islands>,
}

/// The contents of a buffer of gigabytes in which few elements count: `initial`, `expected` and
/// `compare` have those alone, one island after another. What lies between is never compared; in
/// an input it is NaN as any float type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Islands {
    /// Elements of the whole buffer.
    pub count: usize,
    /// The elements that count, in ascending order.
    pub ranges: Vec<Range<usize>>,
}

impl Buffer {
    fn new(name: &'static str, role: Role, element: Element, initial: Vec<u8>) -> Buffer {
        Buffer {
            name,
            role,
            element,
            initial,
            expected: None,
            compare: Compare::Bytes,
            untouched: Vec::new(),
            islands: None,
        }
    }

    /// A buffer that the kernel only reads.
    pub fn input<T: Scalar>(name: &'static str, values: &[T]) -> Buffer {
        Buffer::new(name, Role::Input, T::ELEMENT, bytes_of(values))
    }

    /// A buffer that the kernel fills with exactly these values.
    pub fn output<T: Scalar>(name: &'static str, expected: &[T]) -> Buffer {
        let bytes = bytes_of(expected);
        let mut buffer = Buffer::new(name, Role::Output, T::ELEMENT, vec![0; bytes.len()]);
        buffer.expected = Some(bytes);
        buffer
    }

    /// A buffer that the kernel fills to within `bound[i]` of `reference[i]`.
    pub fn output_bound(
        name: &'static str,
        element: Element,
        reference: Vec<f64>,
        bound: Vec<f64>,
    ) -> Buffer {
        let bytes = vec![0; reference.len() * element.size()];
        let mut buffer = Buffer::new(name, Role::Output, element, bytes);
        buffer.compare = Compare::Bound { reference, bound };
        buffer
    }

    /// A buffer that a rejected call must not write, of `count` elements.
    pub fn output_unwritten<T: Scalar>(name: &'static str, count: usize) -> Buffer {
        let mut buffer = Buffer::new(
            name,
            Role::Output,
            T::ELEMENT,
            vec![0; count * T::ELEMENT.size()],
        );
        buffer.expected = Some(buffer.initial.clone());
        buffer.untouched.push(0..count);
        buffer
    }

    /// A buffer that the kernel updates from `initial` to exactly `expected`.
    pub fn in_out<T: Scalar>(name: &'static str, initial: &[T], expected: &[T]) -> Buffer {
        let mut buffer = Buffer::new(name, Role::InOut, T::ELEMENT, bytes_of(initial));
        buffer.expected = Some(bytes_of(expected));
        buffer
    }

    /// A buffer that the kernel updates from `initial` to within `bound[i]` of `reference[i]`.
    pub fn in_out_bound<T: Scalar>(
        name: &'static str,
        initial: &[T],
        reference: Vec<f64>,
        bound: Vec<f64>,
    ) -> Buffer {
        let mut buffer = Buffer::new(name, Role::InOut, T::ELEMENT, bytes_of(initial));
        buffer.compare = Compare::Bound { reference, bound };
        buffer
    }

    /// A zeroed workspace of this many bytes, always aligned to 256.
    pub fn workspace(name: &'static str, bytes: usize) -> Buffer {
        Buffer::new(name, Role::Workspace, Element::U8, vec![0; bytes])
    }

    /// Elements that the call must leave as they were.
    pub fn untouched(mut self, elements: Range<usize>) -> Buffer {
        self.untouched.push(elements);
        self
    }

    /// Spreads the contents over a buffer of `count` elements: see [`Islands`].
    pub fn islands(mut self, count: usize, ranges: Vec<Range<usize>>) -> Buffer {
        self.islands = Some(Islands { count, ranges });
        self
    }

    /// Compares what a call left here with what it must leave; `None` where nothing is expected.
    pub fn compare(&self, got: &[u8]) -> Option<Comparison> {
        let against = match (&self.compare, &self.expected) {
            (Compare::Bound { reference, bound }, _) => Against::Bound { reference, bound },
            (Compare::Bytes, Some(expected)) => Against::Bytes(expected),
            (Compare::Bytes, None) => return None,
        };
        Some(compare(self.element, got, against, &self.untouched))
    }

    /// How many elements it has contents for.
    pub fn count(&self) -> usize {
        self.initial.len() / self.element.size()
    }

    /// Its bytes on the device.
    pub fn bytes(&self) -> usize {
        match &self.islands {
            None => self.initial.len(),
            Some(islands) => islands.count * self.element.size(),
        }
    }

    /// Its contents as pieces: where each begins on the device, in bytes, and which bytes of
    /// `initial` it is.
    pub fn pieces(&self) -> Vec<(usize, Range<usize>)> {
        let Some(islands) = &self.islands else {
            return vec![(0, 0..self.initial.len())];
        };
        let size = self.element.size();
        let mut begin = 0;
        let piece = |range: &Range<usize>| {
            let contents = begin..begin + range.len() * size;
            begin = contents.end;
            (range.start * size, contents)
        };
        islands.ranges.iter().map(piece).collect()
    }
}

/// Calls the entry point: library, one device pointer per buffer in their order, stream.
pub type Call = Arc<dyn Fn(&Library, &[*mut c_void], *mut c_void) -> Result<c_int> + Send + Sync>;

/// A case with its contents drawn: what is placed on the device and called.
#[derive(Clone)]
pub struct Instance {
    /// The device buffers, in the order in which `call` gets their pointers.
    pub buffers: Vec<Buffer>,
    /// Fills the params struct and calls the entry point.
    pub call: Call,
    /// What must come back.
    pub expect: Expect,
    /// How many graph nodes a call must make.
    pub nodes: usize,
}

impl Instance {
    /// A call that must succeed with one graph node.
    pub fn new(
        buffers: Vec<Buffer>,
        call: impl Fn(&Library, &[*mut c_void], *mut c_void) -> Result<c_int> + Send + Sync + 'static,
    ) -> Instance {
        Instance {
            buffers,
            call: Arc::new(call),
            expect: Expect::Success,
            nodes: 1,
        }
    }

    /// A call that makes this many graph nodes.
    pub fn nodes(mut self, nodes: usize) -> Instance {
        self.nodes = nodes;
        self
    }

    /// A call that must be refused with `code`, write nothing and queue nothing.
    pub fn refused(mut self, code: c_int) -> Instance {
        self.expect = Expect::Code(code);
        self.nodes = 0;
        self
    }

    /// Whether another instance may take this one's place in the same device memory.
    fn same_shape(&self, other: &Instance) -> bool {
        self.nodes == other.nodes
            && self.expect == other.expect
            && self.buffers.len() == other.buffers.len()
            && self.buffers.iter().zip(&other.buffers).all(|(a, b)| {
                a.name == b.name
                    && a.role == b.role
                    && a.element == b.element
                    && a.initial.len() == b.initial.len()
                    && a.islands == b.islands
            })
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field(
                "buffers",
                &self
                    .buffers
                    .iter()
                    .map(|b| (b.name, b.count()))
                    .collect::<Vec<_>>(),
            )
            .field("expect", &self.expect)
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

/// A named, seeded case.
#[derive(Clone)]
pub struct Case {
    /// Its stable name, as the manifest lists it.
    pub id: String,
    /// The entry point it calls.
    pub entry: &'static str,
    /// What the entry point promises.
    pub class: Class,
    /// Which runs it takes part in.
    pub tags: Tags,
    /// The code paths it is run on.
    pub paths: Vec<Path>,
    /// Draws an instance.
    pub build: Arc<dyn Fn(&Variation) -> Instance + Send + Sync>,
}

impl Case {
    /// An exact case on the automatic path.
    pub fn exact(
        id: impl Into<String>,
        entry: &'static str,
        build: impl Fn(&Variation) -> Instance + Send + Sync + 'static,
    ) -> Case {
        Case {
            id: id.into(),
            entry,
            class: Class::Exact,
            tags: Tags::NONE,
            paths: vec![Path::AUTOMATIC],
            build: Arc::new(build),
        }
    }

    /// Of another class.
    pub fn of_class(mut self, class: Class) -> Case {
        self.class = class;
        self
    }

    /// With these tags as well.
    pub fn tagged(mut self, tags: Tags) -> Case {
        self.tags = self.tags | tags;
        self
    }

    /// On these paths instead of the automatic one alone.
    pub fn on_paths(mut self, paths: &[Path]) -> Case {
        self.paths = paths.to_vec();
        self
    }

    /// Draws an instance and checks that it does not contradict itself.
    ///
    /// # Errors
    /// [`Error::Case`] naming what is wrong.
    pub fn instance(&self, variation: Variation) -> Result<Instance> {
        let instance = (self.build)(&variation);
        let wrong = |message: String| Error::Case {
            case: self.id.clone(),
            message,
        };
        for buffer in &instance.buffers {
            let (name, count) = (buffer.name, buffer.count());
            if buffer.initial.len() % buffer.element.size() != 0 {
                return Err(wrong(format!("{name}: not a whole number of elements")));
            }
            if let Some(islands) = &buffer.islands {
                let mut free = 0;
                for range in &islands.ranges {
                    if range.start < free || range.end < range.start {
                        return Err(wrong(format!("{name}: island {range:?} is out of order")));
                    }
                    free = range.end;
                }
                let elements: usize = islands.ranges.iter().map(Range::len).sum();
                if elements != count || free > islands.count {
                    return Err(wrong(format!(
                        "{name}: islands of {elements} elements up to {free} for contents of \
                         {count} in a buffer of {}",
                        islands.count
                    )));
                }
            }
            if let Some(range) = buffer.untouched.iter().find(|range| range.end > count) {
                return Err(wrong(format!(
                    "{name}: untouched {range:?} beyond {count} elements"
                )));
            }
            match (&buffer.expected, &buffer.compare) {
                (Some(expected), Compare::Bytes) if expected.len() != buffer.initial.len() => {
                    return Err(wrong(format!(
                        "{name}: {} bytes expected of {}",
                        expected.len(),
                        buffer.initial.len()
                    )));
                }
                (None, Compare::Bytes) if matches!(buffer.role, Role::Output | Role::InOut) => {
                    return Err(wrong(format!("{name}: an output without an expectation")));
                }
                (_, Compare::Bound { reference, bound })
                    if reference.len() != count || bound.len() != count =>
                {
                    return Err(wrong(format!(
                        "{name}: reference and bound need {count} values"
                    )));
                }
                (_, Compare::Bound { bound, .. })
                    if bound.iter().any(|bound| bound.is_nan() || *bound < 0.0) =>
                {
                    return Err(wrong(format!("{name}: a bound is negative or NaN")));
                }
                _ => {}
            }
        }
        Ok(instance)
    }

    /// Two instances with different contents that fit the same memory.
    ///
    /// # Errors
    /// [`Error::Case`] when the shapes depend on the seed.
    pub fn pair(&self, seed: u64, path: i32) -> Result<(Instance, Instance)> {
        let first = self.instance(Variation { seed, path })?;
        let second = self.instance(Variation {
            seed: seed.wrapping_add(1),
            path,
        })?;
        if !first.same_shape(&second) {
            return Err(Error::Case {
                case: self.id.clone(),
                message: "shapes, nodes or expectations depend on the seed".into(),
            });
        }
        Ok((first, second))
    }

    /// What can be said of a case where no kernel runs: that its oracle answers, that it answers
    /// the same twice, and that its instances are consistent.
    ///
    /// # Errors
    /// [`Error::Case`] naming what is wrong.
    pub fn self_check(&self, seed: u64) -> Result<()> {
        for path in &self.paths {
            let (first, _) = self.pair(seed, path.value)?;
            let again = self.instance(Variation {
                seed,
                path: path.value,
            })?;
            for (a, b) in first.buffers.iter().zip(&again.buffers) {
                if a.initial != b.initial || a.expected != b.expected {
                    return Err(Error::Case {
                        case: self.id.clone(),
                        message: format!("{}: one seed gave two contents", a.name),
                    });
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("id", &self.id)
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(build: impl Fn(&Variation) -> Vec<Buffer> + Send + Sync + 'static) -> Case {
        Case::exact("sample", "entry", move |variation| {
            Instance::new(build(variation), |_, _, _| Ok(0))
        })
    }

    #[test]
    fn a_consistent_case_passes_its_self_check() {
        let good = case(|v| {
            let x = [v.seed as f32; 4];
            vec![
                Buffer::input("x", &x),
                Buffer::output("y", &x),
                Buffer::workspace("w", 16),
            ]
        });
        good.self_check(1).unwrap();
    }

    #[test]
    fn shapes_that_depend_on_the_seed_are_refused() {
        let bad = case(|v| vec![Buffer::input("x", &vec![0.0f32; v.seed as usize])]);
        let error = bad.self_check(3).unwrap_err().to_string();
        assert!(error.contains("depend on the seed"), "{error}");
    }

    #[test]
    fn an_oracle_that_answers_differently_twice_is_refused() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let count = AtomicU32::new(0);
        let bad = case(move |_| {
            vec![Buffer::output(
                "y",
                &[count.fetch_add(1, Ordering::Relaxed)],
            )]
        });
        let error = bad.self_check(3).unwrap_err().to_string();
        assert!(error.contains("one seed gave two contents"), "{error}");
    }

    #[test]
    fn expectations_must_fit_their_buffers() {
        let refused = |buffer: Buffer| {
            let buffers = vec![buffer];
            case(move |_| buffers.clone())
                .self_check(0)
                .unwrap_err()
                .to_string()
        };
        let mut short = Buffer::output("y", &[1.0f32, 2.0]);
        short.initial.truncate(4);
        assert!(refused(short).contains("8 bytes expected of 4"));
        let islands = |count, ranges: [Range<usize>; 2]| {
            refused(Buffer::output("y", &[1.0f32, 2.0]).islands(count, ranges.to_vec()))
        };
        let said = islands(9, [4..5, 5..7]);
        assert!(
            said.contains("islands of 3 elements up to 7 for contents of 2"),
            "{said}"
        );
        assert!(islands(4, [0..1, 4..5]).contains("up to 5"));
        assert!(islands(9, [4..5, 0..1]).contains("island 0..1 is out of order"));
        let bound = |bound| Buffer::output_bound("y", Element::F32, vec![1.0], bound);
        assert!(refused(bound(vec![])).contains("need 1 values"));
        assert!(refused(bound(vec![f64::NAN])).contains("negative or NaN"));
        let mut unknown = Buffer::output("y", &[1.0f32]);
        unknown.expected = None;
        assert!(refused(unknown).contains("without an expectation"));
        assert!(refused(Buffer::output("y", &[1.0f32]).untouched(0..2)).contains("beyond 1"));
    }
}
