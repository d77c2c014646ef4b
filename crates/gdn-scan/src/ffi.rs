//! Declarations of include/gdn_scan.h. `cargo xtask codegen` writes this file.

pub const GDN_ABI_VERSION: u32 = 1;
pub const GDN_MAX_DIM: u32 = 256;
pub const GDN_F32: gdn_dtype = 0;
pub const GDN_BF16: gdn_dtype = 1;
pub const GDN_F16: gdn_dtype = 2;
pub type gdn_dtype = ::std::os::raw::c_uint;
pub const GDN_KV: gdn_layout = 0;
pub const GDN_VK: gdn_layout = 1;
pub type gdn_layout = ::std::os::raw::c_uint;
pub const GDN_GROUPED: gdn_head_map = 0;
pub const GDN_TILED: gdn_head_map = 1;
pub type gdn_head_map = ::std::os::raw::c_uint;
pub const GDN_DECAY_LINEAR: gdn_decay_form = 0;
pub const GDN_DECAY_LOG: gdn_decay_form = 1;
pub const GDN_DECAY_GATE: gdn_decay_form = 2;
pub type gdn_decay_form = ::std::os::raw::c_uint;
pub const GDN_BETA_GIVEN: gdn_beta_form = 0;
pub const GDN_BETA_SIGMOID: gdn_beta_form = 1;
pub const GDN_BETA_TWICE_SIGMOID: gdn_beta_form = 2;
pub type gdn_beta_form = ::std::os::raw::c_uint;
pub const GDN_NORM_NONE: gdn_norm = 0;
pub const GDN_NORM_EPS_OUTSIDE: gdn_norm = 1;
pub const GDN_NORM_EPS_INSIDE: gdn_norm = 2;
pub type gdn_norm = ::std::os::raw::c_uint;
pub const GDN_PATH_AUTO: gdn_path = 0;
pub const GDN_PATH_GENERAL: gdn_path = 1;
pub const GDN_PATH_SEGMENTS: gdn_path = 2;
pub const GDN_PATH_STREAMED: gdn_path = 3;
pub type gdn_path = ::std::os::raw::c_uint;
pub const GDN_DEVICE_OK: gdn_device_status = 0;
pub const GDN_DEVICE_BAD_OFFSETS: gdn_device_status = 1;
pub const GDN_DEVICE_BAD_SLOT: gdn_device_status = 2;
pub type gdn_device_status = ::std::os::raw::c_uint;
pub const GDN_ARG_params: gdn_argument = 1;
pub const GDN_ARG_struct_size: gdn_argument = 2;
pub const GDN_ARG_dtype: gdn_argument = 3;
pub const GDN_ARG_state_dtype: gdn_argument = 4;
pub const GDN_ARG_layout: gdn_argument = 5;
pub const GDN_ARG_head_map: gdn_argument = 6;
pub const GDN_ARG_decay_form: gdn_argument = 7;
pub const GDN_ARG_beta_form: gdn_argument = 8;
pub const GDN_ARG_norm: gdn_argument = 9;
pub const GDN_ARG_key_decay: gdn_argument = 10;
pub const GDN_ARG_path: gdn_argument = 11;
pub const GDN_ARG_has_scale: gdn_argument = 12;
pub const GDN_ARG_scale: gdn_argument = 13;
pub const GDN_ARG_norm_eps: gdn_argument = 14;
pub const GDN_ARG_sequences: gdn_argument = 15;
pub const GDN_ARG_key_heads: gdn_argument = 16;
pub const GDN_ARG_value_heads: gdn_argument = 17;
pub const GDN_ARG_key_dim: gdn_argument = 18;
pub const GDN_ARG_value_dim: gdn_argument = 19;
pub const GDN_ARG_total_t: gdn_argument = 20;
pub const GDN_ARG_max_t: gdn_argument = 21;
pub const GDN_ARG_slots: gdn_argument = 22;
pub const GDN_ARG_slot_stride: gdn_argument = 23;
pub const GDN_ARG_q_stride: gdn_argument = 24;
pub const GDN_ARG_k_stride: gdn_argument = 25;
pub const GDN_ARG_v_stride: gdn_argument = 26;
pub const GDN_ARG_out_stride: gdn_argument = 27;
pub const GDN_ARG_g_stride: gdn_argument = 28;
pub const GDN_ARG_beta_stride: gdn_argument = 29;
pub const GDN_ARG_snapshot_count: gdn_argument = 30;
pub const GDN_ARG_snapshot_rows: gdn_argument = 31;
pub const GDN_ARG_state: gdn_argument = 32;
pub const GDN_ARG_state_source: gdn_argument = 33;
pub const GDN_ARG_slots_in: gdn_argument = 34;
pub const GDN_ARG_slots_out: gdn_argument = 35;
pub const GDN_ARG_cu_seqlens: gdn_argument = 36;
pub const GDN_ARG_q: gdn_argument = 37;
pub const GDN_ARG_k: gdn_argument = 38;
pub const GDN_ARG_v: gdn_argument = 39;
pub const GDN_ARG_g: gdn_argument = 40;
pub const GDN_ARG_beta: gdn_argument = 41;
pub const GDN_ARG_a_log: gdn_argument = 42;
pub const GDN_ARG_dt_bias: gdn_argument = 43;
pub const GDN_ARG_out: gdn_argument = 44;
pub const GDN_ARG_snapshots: gdn_argument = 45;
pub const GDN_ARG_status: gdn_argument = 46;
pub const GDN_ARG_n_v: gdn_argument = 47;
pub const GDN_ARG_n_k: gdn_argument = 48;
pub const GDN_ARG_d: gdn_argument = 49;
pub type gdn_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gdn_scan_params {
    pub struct_size: u32,
    pub dtype: i32,
    pub state_dtype: i32,
    pub layout: i32,
    pub head_map: i32,
    pub decay_form: i32,
    pub beta_form: i32,
    pub norm: i32,
    pub key_decay: i32,
    pub path: i32,
    pub has_scale: i32,
    pub scale: f32,
    pub norm_eps: f32,
    pub reserved: i32,
    pub sequences: i64,
    pub key_heads: i64,
    pub value_heads: i64,
    pub key_dim: i64,
    pub value_dim: i64,
    pub total_t: i64,
    pub max_t: i64,
    pub slots: i64,
    pub slot_stride: i64,
    pub q_stride: i64,
    pub k_stride: i64,
    pub v_stride: i64,
    pub out_stride: i64,
    pub g_stride: i64,
    pub beta_stride: i64,
    pub snapshot_count: i64,
    pub snapshot_rows: i64,
    pub state: *mut ::std::os::raw::c_void,
    pub state_source: *const ::std::os::raw::c_void,
    pub slots_in: *const i32,
    pub slots_out: *const i32,
    pub cu_seqlens: *const i32,
    pub q: *const ::std::os::raw::c_void,
    pub k: *const ::std::os::raw::c_void,
    pub v: *const ::std::os::raw::c_void,
    pub g: *const ::std::os::raw::c_void,
    pub beta: *const ::std::os::raw::c_void,
    pub a_log: *const f32,
    pub dt_bias: *const f32,
    pub out: *mut ::std::os::raw::c_void,
    pub snapshots: *mut ::std::os::raw::c_void,
    pub status: *mut u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gdn_scan_params"][::std::mem::size_of::<gdn_scan_params>() - 312usize];
    ["Alignment of gdn_scan_params"][::std::mem::align_of::<gdn_scan_params>() - 8usize];
    ["Offset of field: gdn_scan_params::struct_size"]
        [::std::mem::offset_of!(gdn_scan_params, struct_size) - 0usize];
    ["Offset of field: gdn_scan_params::dtype"]
        [::std::mem::offset_of!(gdn_scan_params, dtype) - 4usize];
    ["Offset of field: gdn_scan_params::state_dtype"]
        [::std::mem::offset_of!(gdn_scan_params, state_dtype) - 8usize];
    ["Offset of field: gdn_scan_params::layout"]
        [::std::mem::offset_of!(gdn_scan_params, layout) - 12usize];
    ["Offset of field: gdn_scan_params::head_map"]
        [::std::mem::offset_of!(gdn_scan_params, head_map) - 16usize];
    ["Offset of field: gdn_scan_params::decay_form"]
        [::std::mem::offset_of!(gdn_scan_params, decay_form) - 20usize];
    ["Offset of field: gdn_scan_params::beta_form"]
        [::std::mem::offset_of!(gdn_scan_params, beta_form) - 24usize];
    ["Offset of field: gdn_scan_params::norm"]
        [::std::mem::offset_of!(gdn_scan_params, norm) - 28usize];
    ["Offset of field: gdn_scan_params::key_decay"]
        [::std::mem::offset_of!(gdn_scan_params, key_decay) - 32usize];
    ["Offset of field: gdn_scan_params::path"]
        [::std::mem::offset_of!(gdn_scan_params, path) - 36usize];
    ["Offset of field: gdn_scan_params::has_scale"]
        [::std::mem::offset_of!(gdn_scan_params, has_scale) - 40usize];
    ["Offset of field: gdn_scan_params::scale"]
        [::std::mem::offset_of!(gdn_scan_params, scale) - 44usize];
    ["Offset of field: gdn_scan_params::norm_eps"]
        [::std::mem::offset_of!(gdn_scan_params, norm_eps) - 48usize];
    ["Offset of field: gdn_scan_params::reserved"]
        [::std::mem::offset_of!(gdn_scan_params, reserved) - 52usize];
    ["Offset of field: gdn_scan_params::sequences"]
        [::std::mem::offset_of!(gdn_scan_params, sequences) - 56usize];
    ["Offset of field: gdn_scan_params::key_heads"]
        [::std::mem::offset_of!(gdn_scan_params, key_heads) - 64usize];
    ["Offset of field: gdn_scan_params::value_heads"]
        [::std::mem::offset_of!(gdn_scan_params, value_heads) - 72usize];
    ["Offset of field: gdn_scan_params::key_dim"]
        [::std::mem::offset_of!(gdn_scan_params, key_dim) - 80usize];
    ["Offset of field: gdn_scan_params::value_dim"]
        [::std::mem::offset_of!(gdn_scan_params, value_dim) - 88usize];
    ["Offset of field: gdn_scan_params::total_t"]
        [::std::mem::offset_of!(gdn_scan_params, total_t) - 96usize];
    ["Offset of field: gdn_scan_params::max_t"]
        [::std::mem::offset_of!(gdn_scan_params, max_t) - 104usize];
    ["Offset of field: gdn_scan_params::slots"]
        [::std::mem::offset_of!(gdn_scan_params, slots) - 112usize];
    ["Offset of field: gdn_scan_params::slot_stride"]
        [::std::mem::offset_of!(gdn_scan_params, slot_stride) - 120usize];
    ["Offset of field: gdn_scan_params::q_stride"]
        [::std::mem::offset_of!(gdn_scan_params, q_stride) - 128usize];
    ["Offset of field: gdn_scan_params::k_stride"]
        [::std::mem::offset_of!(gdn_scan_params, k_stride) - 136usize];
    ["Offset of field: gdn_scan_params::v_stride"]
        [::std::mem::offset_of!(gdn_scan_params, v_stride) - 144usize];
    ["Offset of field: gdn_scan_params::out_stride"]
        [::std::mem::offset_of!(gdn_scan_params, out_stride) - 152usize];
    ["Offset of field: gdn_scan_params::g_stride"]
        [::std::mem::offset_of!(gdn_scan_params, g_stride) - 160usize];
    ["Offset of field: gdn_scan_params::beta_stride"]
        [::std::mem::offset_of!(gdn_scan_params, beta_stride) - 168usize];
    ["Offset of field: gdn_scan_params::snapshot_count"]
        [::std::mem::offset_of!(gdn_scan_params, snapshot_count) - 176usize];
    ["Offset of field: gdn_scan_params::snapshot_rows"]
        [::std::mem::offset_of!(gdn_scan_params, snapshot_rows) - 184usize];
    ["Offset of field: gdn_scan_params::state"]
        [::std::mem::offset_of!(gdn_scan_params, state) - 192usize];
    ["Offset of field: gdn_scan_params::state_source"]
        [::std::mem::offset_of!(gdn_scan_params, state_source) - 200usize];
    ["Offset of field: gdn_scan_params::slots_in"]
        [::std::mem::offset_of!(gdn_scan_params, slots_in) - 208usize];
    ["Offset of field: gdn_scan_params::slots_out"]
        [::std::mem::offset_of!(gdn_scan_params, slots_out) - 216usize];
    ["Offset of field: gdn_scan_params::cu_seqlens"]
        [::std::mem::offset_of!(gdn_scan_params, cu_seqlens) - 224usize];
    ["Offset of field: gdn_scan_params::q"][::std::mem::offset_of!(gdn_scan_params, q) - 232usize];
    ["Offset of field: gdn_scan_params::k"][::std::mem::offset_of!(gdn_scan_params, k) - 240usize];
    ["Offset of field: gdn_scan_params::v"][::std::mem::offset_of!(gdn_scan_params, v) - 248usize];
    ["Offset of field: gdn_scan_params::g"][::std::mem::offset_of!(gdn_scan_params, g) - 256usize];
    ["Offset of field: gdn_scan_params::beta"]
        [::std::mem::offset_of!(gdn_scan_params, beta) - 264usize];
    ["Offset of field: gdn_scan_params::a_log"]
        [::std::mem::offset_of!(gdn_scan_params, a_log) - 272usize];
    ["Offset of field: gdn_scan_params::dt_bias"]
        [::std::mem::offset_of!(gdn_scan_params, dt_bias) - 280usize];
    ["Offset of field: gdn_scan_params::out"]
        [::std::mem::offset_of!(gdn_scan_params, out) - 288usize];
    ["Offset of field: gdn_scan_params::snapshots"]
        [::std::mem::offset_of!(gdn_scan_params, snapshots) - 296usize];
    ["Offset of field: gdn_scan_params::status"]
        [::std::mem::offset_of!(gdn_scan_params, status) - 304usize];
};
unsafe extern "C" {
    pub fn gdn_abi_version() -> u32;
    pub fn gdn_build_info() -> *const ::std::os::raw::c_char;
    pub fn gdn_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn gdn_device_status_string(status: u32) -> *const ::std::os::raw::c_char;
    pub fn gdn_path_for(
        params: *const gdn_scan_params,
        one_token: ::std::os::raw::c_int,
        capability: ::std::os::raw::c_int,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_step(
        params: *const gdn_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_step_fast(
        params: *const gdn_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_scan(
        params: *const gdn_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_scan_step_f32(
        state: *mut f32,
        q: *const f32,
        k: *const f32,
        v: *const f32,
        g: *const f32,
        beta: *const f32,
        out: *mut f32,
        n_v: ::std::os::raw::c_int,
        n_k: ::std::os::raw::c_int,
        d: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_baseline_four_pass(
        state: *mut f32,
        q: *const f32,
        k: *const f32,
        v: *const f32,
        g: *const f32,
        beta: *const f32,
        out: *mut f32,
        n_v: ::std::os::raw::c_int,
        n_k: ::std::os::raw::c_int,
        d: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn gdn_baseline_two_pass(
        state: *mut f32,
        q: *const f32,
        k: *const f32,
        v: *const f32,
        g: *const f32,
        beta: *const f32,
        out: *mut f32,
        n_v: ::std::os::raw::c_int,
        n_k: ::std::os::raw::c_int,
        d: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type gdn_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type gdn_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type gdn_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type gdn_device_status_string_fn =
    unsafe extern "C" fn(status: u32) -> *const ::std::os::raw::c_char;
pub type gdn_path_for_fn = unsafe extern "C" fn(
    params: *const gdn_scan_params,
    one_token: ::std::os::raw::c_int,
    capability: ::std::os::raw::c_int,
) -> ::std::os::raw::c_int;
pub type gdn_step_fn = unsafe extern "C" fn(
    params: *const gdn_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type gdn_step_fast_fn = unsafe extern "C" fn(
    params: *const gdn_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type gdn_scan_fn = unsafe extern "C" fn(
    params: *const gdn_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type gdn_scan_step_f32_fn = unsafe extern "C" fn(
    state: *mut f32,
    q: *const f32,
    k: *const f32,
    v: *const f32,
    g: *const f32,
    beta: *const f32,
    out: *mut f32,
    n_v: ::std::os::raw::c_int,
    n_k: ::std::os::raw::c_int,
    d: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type gdn_baseline_four_pass_fn = unsafe extern "C" fn(
    state: *mut f32,
    q: *const f32,
    k: *const f32,
    v: *const f32,
    g: *const f32,
    beta: *const f32,
    out: *mut f32,
    n_v: ::std::os::raw::c_int,
    n_k: ::std::os::raw::c_int,
    d: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type gdn_baseline_two_pass_fn = unsafe extern "C" fn(
    state: *mut f32,
    q: *const f32,
    k: *const f32,
    v: *const f32,
    g: *const f32,
    beta: *const f32,
    out: *mut f32,
    n_v: ::std::os::raw::c_int,
    n_k: ::std::os::raw::c_int,
    d: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
