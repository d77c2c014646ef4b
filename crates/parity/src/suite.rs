//! What can be said of a suite of cases where no kernel runs. Each check answers what is wrong, in
//! words; nothing is wrong where the answer is empty.

use crate::case::{Case, Expect, Tags, Variation};
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::ops::RangeInclusive;

/// Case ids that stand twice, and cases without a path.
pub fn names(cases: &[Case]) -> Vec<String> {
    let mut ids = BTreeSet::new();
    let mut wrong = Vec::new();
    for case in cases {
        if case.paths.is_empty() {
            wrong.push(format!("{}: no path", case.id));
        }
        if !ids.insert(&case.id) {
            wrong.push(format!("{}: twice", case.id));
        }
    }
    wrong
}

/// Cases whose [`Case::self_check`] fails, large ones excepted. On the first path alone: for the
/// others there is [`paths_differ`].
pub fn inconsistent(cases: &[Case]) -> Vec<String> {
    let small = cases.iter().filter(|case| !case.tags.contains(Tags::LARGE));
    small
        .filter_map(|case| {
            let mut case = case.clone();
            case.paths.truncate(1);
            case.self_check(1).err().map(|error| error.to_string())
        })
        .collect()
}

/// Cases (of those for the sanitizers) whose oracle answers two paths differently.
pub fn paths_differ(cases: &[Case]) -> Vec<String> {
    let expected = |case: &Case, path: i32| {
        let instance = case.instance(Variation { seed: 3, path });
        instance.map(|instance| {
            let buffers = instance.buffers.into_iter();
            buffers
                .filter_map(|buffer| Some((buffer.name, buffer.expected?)))
                .collect::<Vec<_>>()
        })
    };
    let mut wrong = Vec::new();
    for case in cases
        .iter()
        .filter(|case| case.tags.contains(Tags::SANITIZE))
    {
        let Some((first, others)) = case.paths.split_first() else {
            continue;
        };
        for path in others {
            match (expected(case, first.value), expected(case, path.value)) {
                (Ok(a), Ok(b)) if a == b => {}
                (Err(error), _) | (_, Err(error)) => wrong.push(error.to_string()),
                _ => wrong.push(format!("{}: {} differs", case.id, path.name)),
            }
        }
    }
    wrong
}

/// Arguments, by the numbers that status codes carry, that no case is refused for.
pub fn never_refused(cases: &[Case], arguments: RangeInclusive<c_int>) -> Vec<c_int> {
    let refused: BTreeSet<c_int> = cases
        .iter()
        .filter(|case| !case.tags.contains(Tags::LARGE))
        .filter_map(|case| {
            let path = case.paths.first()?.value;
            match case.instance(Variation { seed: 1, path }).ok()?.expect {
                Expect::Code(code) => Some(code % 1000),
                Expect::Success => None,
            }
        })
        .collect();
    arguments
        .filter(|argument| !refused.contains(argument))
        .collect()
}

/// How a manifest's list of case ids differs from the suite.
pub fn list_differs(cases: &[Case], listed: &[String]) -> Vec<String> {
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let unlisted = ids.difference(&listed);
    let unknown = listed.difference(&ids);
    unlisted
        .map(|id| format!("the suite runs {id:?}, which is not listed"))
        .chain(unknown.map(|id| format!("{id:?} is listed and no case of the suite")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Instance, Path};

    const PATHS: [Path; 2] = [Path::AUTOMATIC, Path::new("block", 1)];

    /// `y` is what the path and the seed make it.
    fn case(id: &str, y: fn(&Variation) -> f32) -> Case {
        Case::exact(id, "entry", move |variation| {
            Instance::new(vec![Buffer::output("y", &[y(variation)])], |_, _, _| Ok(0))
        })
        .on_paths(&PATHS)
        .tagged(Tags::SANITIZE)
    }

    fn refused(id: &str, code: c_int) -> Case {
        Case::exact(id, "entry", move |_| {
            Instance::new(vec![Buffer::output_unwritten::<f32>("y", 1)], |_, _, _| {
                Ok(0)
            })
            .refused(code)
        })
    }

    #[test]
    fn a_good_suite_has_nothing_wrong() {
        let cases = [case("a", |v| v.seed as f32), refused("b", 1001)];
        let listed = ["b".to_owned(), "a".to_owned()];
        assert!(names(&cases).is_empty());
        assert!(inconsistent(&cases).is_empty());
        assert!(paths_differ(&cases).is_empty());
        assert!(never_refused(&cases, 1..=1).is_empty());
        assert!(list_differs(&cases, &listed).is_empty());
    }

    #[test]
    fn each_fault_is_named() {
        let pathless = case("a", |_| 0.0).on_paths(&[]);
        assert_eq!(
            names(&[case("a", |_| 0.0), pathless]),
            ["a: no path", "a: twice"]
        );
        let wrong = Case::exact("w", "entry", |_| {
            Instance::new(
                vec![Buffer::input("x", &[1.0f32]).islands(0, vec![0..1, 0..1])],
                |_, _, _| Ok(0),
            )
        });
        assert_eq!(inconsistent(std::slice::from_ref(&wrong)).len(), 1);
        assert!(inconsistent(&[wrong.tagged(Tags::LARGE)]).is_empty());
        let by_path = [case("p", |v| v.path as f32)];
        assert_eq!(paths_differ(&by_path), ["p: block differs"]);
        assert_eq!(never_refused(&[refused("b", 2002)], 1..=3), [1, 3]);
        assert_eq!(
            list_differs(&[case("a", |_| 0.0)], &["b".to_owned()]),
            [
                "the suite runs \"a\", which is not listed",
                "\"b\" is listed and no case of the suite"
            ]
        );
    }
}
