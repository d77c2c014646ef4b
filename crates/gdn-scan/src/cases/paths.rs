//! Which path the host chooses: `gdn_path_for` on a table of params, which reads no device.

use super::spec::*;
use crate::{Dtype, Layout, ffi};
use parity::{Buffer, Case, Instance, Tags};
use std::ffi::c_int;

const GENERAL_PATH: u32 = ffi::GDN_PATH_GENERAL;
const SEGMENTS_PATH: u32 = ffi::GDN_PATH_SEGMENTS;
const STREAMED_PATH: u32 = ffi::GDN_PATH_STREAMED;

/// The choice for `spec` is `path`: the harness sees it as a call that queues nothing and returns that code.
fn chosen(
    id: &str,
    spec: Spec,
    capability: c_int,
    path: u32,
    alter: fn(&mut ffi::gdn_scan_params),
) -> Case {
    let one_token = c_int::from(matches!(spec.tokens, Tokens::Step));
    Case::exact(format!("path-{id}"), "gdn_path_for", move |_| {
        let spec = spec.clone();
        let buffers = vec![Buffer::output_unwritten::<f32>("nothing", 1)];
        Instance::new(buffers, move |library, _, _| {
            let mut params = spec.params(0);
            // An address that nothing reads, of the alignment that allocations have.
            params.state = 4096 as *mut _;
            alter(&mut params);
            // SAFETY: the type is the header's prototype.
            let choose = unsafe { library.function::<ffi::gdn_path_for_fn>("gdn_path_for") }?;
            // SAFETY: it follows no pointer but that to the struct.
            Ok(unsafe { choose(&params, one_token, capability) })
        })
        .refused(path as c_int)
    })
    .tagged(Tags::SIMULATE)
}

pub(super) fn cases() -> Vec<Case> {
    let step = |sizes| Spec::step("", sizes);
    let model = |batch| step([batch, 16, 32, 128, 128]);
    let half = |spec: Spec| spec.types(Dtype::Bf16, Dtype::Bf16);
    let scan = |tokens| Spec::new("", [1, 16, 32, 128, 128], Tokens::Each(tokens));
    let keep = |_: &mut ffi::gdn_scan_params| {};
    vec![
        chosen("one-sequence", model(1), 90, SEGMENTS_PATH, keep),
        chosen("many-sequences", model(64), 90, STREAMED_PATH, keep),
        chosen(
            "many-sequences-bf16",
            half(model(64)),
            90,
            STREAMED_PATH,
            keep,
        ),
        chosen(
            "many-sequences-before-9-0",
            model(64),
            89,
            SEGMENTS_PATH,
            keep,
        ),
        chosen(
            "96x192",
            step([1, 30, 30, 96, 192]),
            90,
            SEGMENTS_PATH,
            keep,
        ),
        chosen(
            "96x192-bf16",
            half(step([1, 30, 30, 96, 192])),
            90,
            STREAMED_PATH,
            keep,
        ),
        chosen("64x64", step([1, 16, 32, 64, 64]), 90, STREAMED_PATH, keep),
        chosen(
            "64x64-before-9-0",
            step([1, 16, 32, 64, 64]),
            80,
            GENERAL_PATH,
            keep,
        ),
        chosen(
            "256x256-exceeds-shared-memory",
            step([1, 1, 1, 256, 256]),
            90,
            GENERAL_PATH,
            keep,
        ),
        chosen(
            "256x256-bf16",
            half(step([1, 1, 1, 256, 256])),
            90,
            STREAMED_PATH,
            keep,
        ),
        chosen(
            "256x256-bf16-of-12-0",
            half(step([1, 1, 1, 256, 256])),
            120,
            GENERAL_PATH,
            keep,
        ),
        chosen(
            "values-contiguous-no-more",
            model(1).change(|s| s.layout = Layout::Vk),
            90,
            GENERAL_PATH,
            keep,
        ),
        chosen("scan", scan(2048), 90, SEGMENTS_PATH, keep),
        chosen(
            "scan-key-decay",
            scan(64).change(|s| s.key_decay = true),
            90,
            GENERAL_PATH,
            keep,
        ),
        chosen("scan-of-one", scan(1), 90, SEGMENTS_PATH, keep),
        chosen("misaligned-by-four", model(64), 90, SEGMENTS_PATH, |p| {
            p.state = 4100 as *mut _
        }),
        chosen(
            "misaligned-by-two",
            half(model(64)),
            90,
            GENERAL_PATH,
            |p| p.state = 4098 as *mut _,
        ),
        chosen("stride-of-odd-words", model(64), 90, SEGMENTS_PATH, |p| {
            p.slot_stride += 1
        }),
        chosen("stride-odd", half(model(64)), 90, GENERAL_PATH, |p| {
            p.slot_stride = (32 * 128 * 128) + 1
        }),
        chosen(
            "source-misaligned",
            half(model(64)),
            90,
            GENERAL_PATH,
            |p| p.state_source = 4098 as *const _,
        ),
        chosen("forced-general", model(64), 90, GENERAL_PATH, |p| {
            p.path = GENERAL_PATH as i32
        }),
        chosen("forced-segments", model(64), 90, SEGMENTS_PATH, |p| {
            p.path = SEGMENTS_PATH as i32
        }),
        chosen("forced-streamed", model(1), 90, STREAMED_PATH, |p| {
            p.path = STREAMED_PATH as i32
        }),
        chosen(
            "forced-streamed-misaligned",
            model(1),
            90,
            GENERAL_PATH,
            |p| {
                p.path = STREAMED_PATH as i32;
                p.state = 4100 as *mut _;
            },
        ),
        chosen(
            "forced-segments-of-64",
            step([1, 1, 1, 64, 64]),
            90,
            8000 + ffi::GDN_ARG_path,
            |p| {
                p.path = SEGMENTS_PATH as i32;
            },
        ),
        chosen(
            "forced-streamed-before-9-0",
            model(1),
            89,
            8000 + ffi::GDN_ARG_path,
            |p| {
                p.path = STREAMED_PATH as i32;
            },
        ),
        chosen("refused", model(1), 90, 2000 + ffi::GDN_ARG_key_dim, |p| {
            p.key_dim = 0
        }),
    ]
}
