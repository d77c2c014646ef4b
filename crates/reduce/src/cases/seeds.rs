//! The two reductions that this crate began with, through entries of their own, and the shapes that
//! the bench times, so that what is timed has been compared.

use super::spec::*;
use crate::{ffi, oracle};
use oracle::{Columns, Elements, Options};
use parity::{Buffer, Case, Instance, Path, Random, Tags};
use std::ptr;

type Entry = ffi::red_iqn_bias_grad_f32_fn;

pub(super) fn entry_case(
    id: &str,
    entry: &'static str,
    [rows, cols]: [usize; 2],
    with_workspace: bool,
) -> Case {
    let workspace = if with_workspace {
        (cols + 1) * 256 * 16
    } else {
        0
    };
    let tags = match rows * cols {
        0..=4500 => Tags::SIMULATE | Tags::SANITIZE,
        4501..4_194_304 => Tags::NONE,
        _ => Tags::LARGE,
    };
    Case::exact(id, entry, move |variation| {
        let x = Random::named(variation.seed, "x").normals(rows * cols, 1.0);
        let before = vec![0.0; cols];
        let options = Options {
            sum: crate::Sum::F32x2,
            mean: false,
            alpha: 1.0,
            beta: 0.0,
            before: Elements::F32(&before),
        };
        let want = oracle::columns(&Columns::packed(Elements::F32(&x), [rows, cols], options));
        let oracle::Values::F32(want) = want else {
            unreachable!("results have the type of `before`")
        };
        let mut buffers = vec![Buffer::input("x", &x), Buffer::output("out", &want)];
        if workspace > 0 {
            buffers.push(Buffer::workspace("workspace", workspace));
        }
        Instance::new(buffers, move |library, x, stream| {
            // SAFETY: both entries have the header's one prototype.
            let sum = unsafe { library.function::<Entry>(entry) }?;
            let space = x.get(2).copied().unwrap_or(ptr::null_mut());
            let (x, out) = (x[0].cast_const().cast(), x[1].cast());
            // SAFETY: the runner passes live buffers of these sizes.
            Ok(unsafe { sum(x, out, rows as i64, cols as i64, space, workspace, stream) })
        })
        .nodes(usize::from(cols > 0))
    })
    .tagged(tags)
}

pub(super) fn cases() -> Vec<Case> {
    const IQN: &str = "red_iqn_bias_grad_f32";
    const KAN: &str = "red_kan_grad_f32";
    let mut cases = vec![
        entry_case("iqn-bias-grad-524288x3", IQN, [524_288, 3], true),
        entry_case("iqn-bias-grad-1000x3", IQN, [1000, 3], true),
        entry_case("iqn-bias-grad-without-workspace", IQN, [1000, 3], false),
        entry_case("iqn-bias-grad-0x3", IQN, [0, 3], true),
        entry_case("iqn-bias-grad-9x0", IQN, [9, 0], true),
        entry_case("kan-grad-8192x24", KAN, [8192, 24], true),
        entry_case("kan-grad-8192x1800", KAN, [8192, 1800], true),
        entry_case("kan-grad-140x32", KAN, [140, 32], true),
        entry_case("kan-grad-without-workspace", KAN, [140, 32], false),
    ];
    for [rows, cols] in [
        [524_288, 3],
        [524_288, 1],
        [524_288, 12],
        [524_288, 64],
        [8192, 256],
        [8192, 900],
        [8192, 1800],
        [8192, 12_288],
        [65_536, 1024],
        [1_048_576, 128],
    ] {
        let spec = Spec::new(format!("{rows}x{cols}"), [rows, cols]);
        // The oracle's time is what these cost: one cut each, those of smaller ones are others' matter.
        cases.push(spec.on(&[Path::AUTOMATIC]).case());
    }
    let member = Member {
        rows: 524_288,
        cols: 3,
        gap: 0,
        alpha: 1.0,
        beta: 0.0,
    };
    let grouped = Spec::new("grouped-130x524288x3", [1, 1]).kind(Kind::Grouped(vec![member; 130]));
    cases.push(grouped.on(&[Path::AUTOMATIC]).case());
    cases
}
