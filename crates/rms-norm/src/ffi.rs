//! Declarations of include/rms_norm.h. `cargo xtask codegen` writes this file.

pub const RMS_ABI_VERSION: u32 = 1;
pub const RMS_F32: rms_dtype = 0;
pub const RMS_BF16: rms_dtype = 1;
pub const RMS_F16: rms_dtype = 2;
pub const RMS_FP8_E4M3: rms_dtype = 3;
pub const RMS_INT8: rms_dtype = 4;
pub type rms_dtype = ::std::os::raw::c_uint;
pub const RMS_GAMMA_PLAIN: rms_gamma_mode = 0;
pub const RMS_GAMMA_ONE_PLUS: rms_gamma_mode = 1;
pub const RMS_GAMMA_AFTER_CAST: rms_gamma_mode = 2;
pub type rms_gamma_mode = ::std::os::raw::c_uint;
pub const RMS_RESIDUAL_UNROUNDED: rms_residual_mode = 0;
pub const RMS_RESIDUAL_ROUNDED: rms_residual_mode = 1;
pub type rms_residual_mode = ::std::os::raw::c_uint;
pub const RMS_QUANT_NONE: rms_quantisation = 0;
pub const RMS_QUANT_TENSOR: rms_quantisation = 1;
pub const RMS_QUANT_TOKEN: rms_quantisation = 2;
pub type rms_quantisation = ::std::os::raw::c_uint;
pub const RMS_PATH_AUTO: rms_path = 0;
pub const RMS_PATH_WARP: rms_path = 1;
pub const RMS_PATH_CLUSTER_2: rms_path = 2;
pub const RMS_PATH_CLUSTER_4: rms_path = 4;
pub const RMS_PATH_CLUSTER_8: rms_path = 8;
pub const RMS_PATH_CLUSTER_16: rms_path = 16;
pub const RMS_PATH_BLOCK: rms_path = 32;
pub type rms_path = ::std::os::raw::c_uint;
pub const RMS_ARG_params: rms_argument = 1;
pub const RMS_ARG_struct_size: rms_argument = 2;
pub const RMS_ARG_x_dtype: rms_argument = 3;
pub const RMS_ARG_gamma_dtype: rms_argument = 4;
pub const RMS_ARG_y_dtype: rms_argument = 5;
pub const RMS_ARG_residual_dtype: rms_argument = 6;
pub const RMS_ARG_gamma_mode: rms_argument = 7;
pub const RMS_ARG_residual_mode: rms_argument = 8;
pub const RMS_ARG_quantisation: rms_argument = 9;
pub const RMS_ARG_path: rms_argument = 10;
pub const RMS_ARG_eps: rms_argument = 11;
pub const RMS_ARG_min_scale: rms_argument = 12;
pub const RMS_ARG_n: rms_argument = 13;
pub const RMS_ARG_rows: rms_argument = 14;
pub const RMS_ARG_channels: rms_argument = 15;
pub const RMS_ARG_samples: rms_argument = 16;
pub const RMS_ARG_gamma_sizes: rms_argument = 17;
pub const RMS_ARG_add_sizes: rms_argument = 18;
pub const RMS_ARG_x_strides: rms_argument = 19;
pub const RMS_ARG_residual_strides: rms_argument = 20;
pub const RMS_ARG_gamma_strides: rms_argument = 21;
pub const RMS_ARG_add_strides: rms_argument = 22;
pub const RMS_ARG_y_strides: rms_argument = 23;
pub const RMS_ARG_residual_out_strides: rms_argument = 24;
pub const RMS_ARG_x: rms_argument = 25;
pub const RMS_ARG_residual: rms_argument = 26;
pub const RMS_ARG_gamma: rms_argument = 27;
pub const RMS_ARG_add: rms_argument = 28;
pub const RMS_ARG_tensor_scale: rms_argument = 29;
pub const RMS_ARG_y: rms_argument = 30;
pub const RMS_ARG_residual_out: rms_argument = 31;
pub const RMS_ARG_token_scales: rms_argument = 32;
pub const RMS_ARG_rstd: rms_argument = 33;
pub const RMS_ARG_sums: rms_argument = 34;
pub const RMS_ARG_dy: rms_argument = 35;
pub const RMS_ARG_dx: rms_argument = 36;
pub const RMS_ARG_dgamma: rms_argument = 37;
pub const RMS_ARG_dy_strides: rms_argument = 38;
pub const RMS_ARG_dx_strides: rms_argument = 39;
pub const RMS_ARG_workspace: rms_argument = 40;
pub const RMS_ARG_workspace_bytes: rms_argument = 41;
pub type rms_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rms_norm_params {
    pub struct_size: u32,
    pub x_dtype: i32,
    pub gamma_dtype: i32,
    pub y_dtype: i32,
    pub residual_dtype: i32,
    pub gamma_mode: i32,
    pub residual_mode: i32,
    pub quantisation: i32,
    pub path: i32,
    pub eps: f32,
    pub min_scale: f32,
    pub reserved: f32,
    pub n: i64,
    pub rows: i64,
    pub channels: i64,
    pub samples: i64,
    pub gamma_sizes: [i64; 4usize],
    pub add_sizes: [i64; 4usize],
    pub x_strides: [i64; 3usize],
    pub residual_strides: [i64; 3usize],
    pub gamma_strides: [i64; 3usize],
    pub add_strides: [i64; 3usize],
    pub y_strides: [i64; 3usize],
    pub residual_out_strides: [i64; 3usize],
    pub x: *const ::std::os::raw::c_void,
    pub residual: *const ::std::os::raw::c_void,
    pub gamma: *const ::std::os::raw::c_void,
    pub add: *const ::std::os::raw::c_void,
    pub tensor_scale: *const f32,
    pub y: *mut ::std::os::raw::c_void,
    pub residual_out: *mut ::std::os::raw::c_void,
    pub token_scales: *mut f32,
    pub rstd: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of rms_norm_params"][::std::mem::size_of::<rms_norm_params>() - 360usize];
    ["Alignment of rms_norm_params"][::std::mem::align_of::<rms_norm_params>() - 8usize];
    ["Offset of field: rms_norm_params::struct_size"]
        [::std::mem::offset_of!(rms_norm_params, struct_size) - 0usize];
    ["Offset of field: rms_norm_params::x_dtype"]
        [::std::mem::offset_of!(rms_norm_params, x_dtype) - 4usize];
    ["Offset of field: rms_norm_params::gamma_dtype"]
        [::std::mem::offset_of!(rms_norm_params, gamma_dtype) - 8usize];
    ["Offset of field: rms_norm_params::y_dtype"]
        [::std::mem::offset_of!(rms_norm_params, y_dtype) - 12usize];
    ["Offset of field: rms_norm_params::residual_dtype"]
        [::std::mem::offset_of!(rms_norm_params, residual_dtype) - 16usize];
    ["Offset of field: rms_norm_params::gamma_mode"]
        [::std::mem::offset_of!(rms_norm_params, gamma_mode) - 20usize];
    ["Offset of field: rms_norm_params::residual_mode"]
        [::std::mem::offset_of!(rms_norm_params, residual_mode) - 24usize];
    ["Offset of field: rms_norm_params::quantisation"]
        [::std::mem::offset_of!(rms_norm_params, quantisation) - 28usize];
    ["Offset of field: rms_norm_params::path"]
        [::std::mem::offset_of!(rms_norm_params, path) - 32usize];
    ["Offset of field: rms_norm_params::eps"]
        [::std::mem::offset_of!(rms_norm_params, eps) - 36usize];
    ["Offset of field: rms_norm_params::min_scale"]
        [::std::mem::offset_of!(rms_norm_params, min_scale) - 40usize];
    ["Offset of field: rms_norm_params::reserved"]
        [::std::mem::offset_of!(rms_norm_params, reserved) - 44usize];
    ["Offset of field: rms_norm_params::n"][::std::mem::offset_of!(rms_norm_params, n) - 48usize];
    ["Offset of field: rms_norm_params::rows"]
        [::std::mem::offset_of!(rms_norm_params, rows) - 56usize];
    ["Offset of field: rms_norm_params::channels"]
        [::std::mem::offset_of!(rms_norm_params, channels) - 64usize];
    ["Offset of field: rms_norm_params::samples"]
        [::std::mem::offset_of!(rms_norm_params, samples) - 72usize];
    ["Offset of field: rms_norm_params::gamma_sizes"]
        [::std::mem::offset_of!(rms_norm_params, gamma_sizes) - 80usize];
    ["Offset of field: rms_norm_params::add_sizes"]
        [::std::mem::offset_of!(rms_norm_params, add_sizes) - 112usize];
    ["Offset of field: rms_norm_params::x_strides"]
        [::std::mem::offset_of!(rms_norm_params, x_strides) - 144usize];
    ["Offset of field: rms_norm_params::residual_strides"]
        [::std::mem::offset_of!(rms_norm_params, residual_strides) - 168usize];
    ["Offset of field: rms_norm_params::gamma_strides"]
        [::std::mem::offset_of!(rms_norm_params, gamma_strides) - 192usize];
    ["Offset of field: rms_norm_params::add_strides"]
        [::std::mem::offset_of!(rms_norm_params, add_strides) - 216usize];
    ["Offset of field: rms_norm_params::y_strides"]
        [::std::mem::offset_of!(rms_norm_params, y_strides) - 240usize];
    ["Offset of field: rms_norm_params::residual_out_strides"]
        [::std::mem::offset_of!(rms_norm_params, residual_out_strides) - 264usize];
    ["Offset of field: rms_norm_params::x"][::std::mem::offset_of!(rms_norm_params, x) - 288usize];
    ["Offset of field: rms_norm_params::residual"]
        [::std::mem::offset_of!(rms_norm_params, residual) - 296usize];
    ["Offset of field: rms_norm_params::gamma"]
        [::std::mem::offset_of!(rms_norm_params, gamma) - 304usize];
    ["Offset of field: rms_norm_params::add"]
        [::std::mem::offset_of!(rms_norm_params, add) - 312usize];
    ["Offset of field: rms_norm_params::tensor_scale"]
        [::std::mem::offset_of!(rms_norm_params, tensor_scale) - 320usize];
    ["Offset of field: rms_norm_params::y"][::std::mem::offset_of!(rms_norm_params, y) - 328usize];
    ["Offset of field: rms_norm_params::residual_out"]
        [::std::mem::offset_of!(rms_norm_params, residual_out) - 336usize];
    ["Offset of field: rms_norm_params::token_scales"]
        [::std::mem::offset_of!(rms_norm_params, token_scales) - 344usize];
    ["Offset of field: rms_norm_params::rstd"]
        [::std::mem::offset_of!(rms_norm_params, rstd) - 352usize];
};
pub const RMS_PLAN_PLAIN: rms_plan_kind = 0;
pub const RMS_PLAN_RESIDUAL: rms_plan_kind = 1;
pub const RMS_PLAN_OPTIONS: rms_plan_kind = 2;
pub type rms_plan_kind = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rms_plan {
    pub path: i32,
    pub kind: i32,
    pub vector: i32,
    pub threads: i32,
    pub blocks: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of rms_plan"][::std::mem::size_of::<rms_plan>() - 24usize];
    ["Alignment of rms_plan"][::std::mem::align_of::<rms_plan>() - 8usize];
    ["Offset of field: rms_plan::path"][::std::mem::offset_of!(rms_plan, path) - 0usize];
    ["Offset of field: rms_plan::kind"][::std::mem::offset_of!(rms_plan, kind) - 4usize];
    ["Offset of field: rms_plan::vector"][::std::mem::offset_of!(rms_plan, vector) - 8usize];
    ["Offset of field: rms_plan::threads"][::std::mem::offset_of!(rms_plan, threads) - 12usize];
    ["Offset of field: rms_plan::blocks"][::std::mem::offset_of!(rms_plan, blocks) - 16usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct rms_norm_backward_params {
    pub struct_size: u32,
    pub x_dtype: i32,
    pub gamma_dtype: i32,
    pub gamma_mode: i32,
    pub eps: f32,
    pub reserved: f32,
    pub n: i64,
    pub rows: i64,
    pub x_stride: i64,
    pub dy_stride: i64,
    pub dx_stride: i64,
    pub x: *const ::std::os::raw::c_void,
    pub gamma: *const ::std::os::raw::c_void,
    pub dy: *const ::std::os::raw::c_void,
    pub rstd: *const f32,
    pub dx: *mut ::std::os::raw::c_void,
    pub dgamma: *mut ::std::os::raw::c_void,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of rms_norm_backward_params"]
        [::std::mem::size_of::<rms_norm_backward_params>() - 128usize];
    ["Alignment of rms_norm_backward_params"]
        [::std::mem::align_of::<rms_norm_backward_params>() - 8usize];
    ["Offset of field: rms_norm_backward_params::struct_size"]
        [::std::mem::offset_of!(rms_norm_backward_params, struct_size) - 0usize];
    ["Offset of field: rms_norm_backward_params::x_dtype"]
        [::std::mem::offset_of!(rms_norm_backward_params, x_dtype) - 4usize];
    ["Offset of field: rms_norm_backward_params::gamma_dtype"]
        [::std::mem::offset_of!(rms_norm_backward_params, gamma_dtype) - 8usize];
    ["Offset of field: rms_norm_backward_params::gamma_mode"]
        [::std::mem::offset_of!(rms_norm_backward_params, gamma_mode) - 12usize];
    ["Offset of field: rms_norm_backward_params::eps"]
        [::std::mem::offset_of!(rms_norm_backward_params, eps) - 16usize];
    ["Offset of field: rms_norm_backward_params::reserved"]
        [::std::mem::offset_of!(rms_norm_backward_params, reserved) - 20usize];
    ["Offset of field: rms_norm_backward_params::n"]
        [::std::mem::offset_of!(rms_norm_backward_params, n) - 24usize];
    ["Offset of field: rms_norm_backward_params::rows"]
        [::std::mem::offset_of!(rms_norm_backward_params, rows) - 32usize];
    ["Offset of field: rms_norm_backward_params::x_stride"]
        [::std::mem::offset_of!(rms_norm_backward_params, x_stride) - 40usize];
    ["Offset of field: rms_norm_backward_params::dy_stride"]
        [::std::mem::offset_of!(rms_norm_backward_params, dy_stride) - 48usize];
    ["Offset of field: rms_norm_backward_params::dx_stride"]
        [::std::mem::offset_of!(rms_norm_backward_params, dx_stride) - 56usize];
    ["Offset of field: rms_norm_backward_params::x"]
        [::std::mem::offset_of!(rms_norm_backward_params, x) - 64usize];
    ["Offset of field: rms_norm_backward_params::gamma"]
        [::std::mem::offset_of!(rms_norm_backward_params, gamma) - 72usize];
    ["Offset of field: rms_norm_backward_params::dy"]
        [::std::mem::offset_of!(rms_norm_backward_params, dy) - 80usize];
    ["Offset of field: rms_norm_backward_params::rstd"]
        [::std::mem::offset_of!(rms_norm_backward_params, rstd) - 88usize];
    ["Offset of field: rms_norm_backward_params::dx"]
        [::std::mem::offset_of!(rms_norm_backward_params, dx) - 96usize];
    ["Offset of field: rms_norm_backward_params::dgamma"]
        [::std::mem::offset_of!(rms_norm_backward_params, dgamma) - 104usize];
    ["Offset of field: rms_norm_backward_params::workspace"]
        [::std::mem::offset_of!(rms_norm_backward_params, workspace) - 112usize];
    ["Offset of field: rms_norm_backward_params::workspace_bytes"]
        [::std::mem::offset_of!(rms_norm_backward_params, workspace_bytes) - 120usize];
};
unsafe extern "C" {
    pub fn rms_abi_version() -> u32;
    pub fn rms_build_info() -> *const ::std::os::raw::c_char;
    pub fn rms_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn rms_norm(
        params: *const rms_norm_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn rms_norm_f32(
        x: *const f32,
        gamma: *const f32,
        y: *mut f32,
        rows: i64,
        n: i64,
        x_stride: i64,
        y_stride: i64,
        eps: f32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn rms_norm_plan(
        params: *const rms_norm_params,
        capability: i32,
        multiprocessors: i32,
        plan: *mut rms_plan,
    ) -> ::std::os::raw::c_int;
    pub fn rms_norm_ggml(
        params: *const rms_norm_params,
        sums: *mut f32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn rms_norm_backward_workspace_bytes(params: *const rms_norm_backward_params) -> usize;
    pub fn rms_norm_backward(
        params: *const rms_norm_backward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn rms_baseline_f32(
        x: *const f32,
        gamma: *const f32,
        y: *mut f32,
        rows: i64,
        n: i64,
        eps: f32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type rms_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type rms_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type rms_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type rms_norm_fn = unsafe extern "C" fn(
    params: *const rms_norm_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type rms_norm_f32_fn = unsafe extern "C" fn(
    x: *const f32,
    gamma: *const f32,
    y: *mut f32,
    rows: i64,
    n: i64,
    x_stride: i64,
    y_stride: i64,
    eps: f32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type rms_norm_plan_fn = unsafe extern "C" fn(
    params: *const rms_norm_params,
    capability: i32,
    multiprocessors: i32,
    plan: *mut rms_plan,
) -> ::std::os::raw::c_int;
pub type rms_norm_ggml_fn = unsafe extern "C" fn(
    params: *const rms_norm_params,
    sums: *mut f32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type rms_norm_backward_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const rms_norm_backward_params) -> usize;
pub type rms_norm_backward_fn = unsafe extern "C" fn(
    params: *const rms_norm_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type rms_baseline_f32_fn = unsafe extern "C" fn(
    x: *const f32,
    gamma: *const f32,
    y: *mut f32,
    rows: i64,
    n: i64,
    eps: f32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
