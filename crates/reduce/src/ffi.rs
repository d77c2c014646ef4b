//! Declarations of include/reduce.h. `cargo xtask codegen` writes this file.

pub const RED_ABI_VERSION: u32 = 1;
pub const RED_MAX_MATRICES: u32 = 65535;
pub const RED_MAX_SPLITS: u32 = 256;
pub const RED_F32: red_dtype = 0;
pub const RED_BF16: red_dtype = 1;
pub const RED_F16: red_dtype = 2;
pub type red_dtype = ::std::os::raw::c_uint;
pub const RED_OUT_F32: red_out = 0;
pub const RED_OUT_AS_X: red_out = 1;
pub type red_out = ::std::os::raw::c_uint;
pub const RED_SUM_F32X2: red_accumulator = 0;
pub const RED_SUM_F64: red_accumulator = 1;
pub const RED_SUM_F32: red_accumulator = 2;
pub type red_accumulator = ::std::os::raw::c_uint;
pub const RED_PATH_AUTO: red_path = 0;
pub const RED_PATH_FLAT: red_path = 1;
pub const RED_PATH_TILE_32: red_path = 2;
pub const RED_PATH_TILE_64: red_path = 3;
pub const RED_PATH_PACKED: red_path = 4;
pub type red_path = ::std::os::raw::c_uint;
pub const RED_DEVICE_OK: red_device_status = 0;
pub const RED_DEVICE_BAD_INDEX: red_device_status = 1;
pub const RED_DEVICE_BAD_OFFSETS: red_device_status = 2;
pub const RED_DEVICE_BAD_MATRIX: red_device_status = 3;
pub type red_device_status = ::std::os::raw::c_uint;
pub const RED_ARG_params: red_argument = 1;
pub const RED_ARG_struct_size: red_argument = 2;
pub const RED_ARG_dtype: red_argument = 3;
pub const RED_ARG_out_dtype: red_argument = 4;
pub const RED_ARG_accumulator: red_argument = 5;
pub const RED_ARG_path: red_argument = 6;
pub const RED_ARG_splits: red_argument = 7;
pub const RED_ARG_mean: red_argument = 8;
pub const RED_ARG_rows: red_argument = 9;
pub const RED_ARG_cols: red_argument = 10;
pub const RED_ARG_ld: red_argument = 11;
pub const RED_ARG_table_rows: red_argument = 12;
pub const RED_ARG_count: red_argument = 13;
pub const RED_ARG_max_rows: red_argument = 14;
pub const RED_ARG_alpha: red_argument = 15;
pub const RED_ARG_beta: red_argument = 16;
pub const RED_ARG_x: red_argument = 17;
pub const RED_ARG_weights: red_argument = 18;
pub const RED_ARG_mask: red_argument = 19;
pub const RED_ARG_index: red_argument = 20;
pub const RED_ARG_offsets: red_argument = 21;
pub const RED_ARG_matrices: red_argument = 22;
pub const RED_ARG_out: red_argument = 23;
pub const RED_ARG_status: red_argument = 24;
pub const RED_ARG_workspace: red_argument = 25;
pub const RED_ARG_workspace_bytes: red_argument = 26;
pub const RED_ARG_sum_squares: red_argument = 27;
pub const RED_ARG_norm: red_argument = 28;
pub const RED_ARG_max_abs: red_argument = 29;
pub const RED_ARG_non_finite: red_argument = 30;
pub const RED_ARG_dy: red_argument = 31;
pub const RED_ARG_knots: red_argument = 32;
pub const RED_ARG_intervals: red_argument = 33;
pub const RED_ARG_inputs: red_argument = 34;
pub const RED_ARG_outputs: red_argument = 35;
pub type red_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct red_matrix {
    pub x_offset: i64,
    pub out_offset: i64,
    pub rows: i64,
    pub cols: i64,
    pub ld: i64,
    pub alpha: f32,
    pub beta: f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of red_matrix"][::std::mem::size_of::<red_matrix>() - 48usize];
    ["Alignment of red_matrix"][::std::mem::align_of::<red_matrix>() - 8usize];
    ["Offset of field: red_matrix::x_offset"]
        [::std::mem::offset_of!(red_matrix, x_offset) - 0usize];
    ["Offset of field: red_matrix::out_offset"]
        [::std::mem::offset_of!(red_matrix, out_offset) - 8usize];
    ["Offset of field: red_matrix::rows"][::std::mem::offset_of!(red_matrix, rows) - 16usize];
    ["Offset of field: red_matrix::cols"][::std::mem::offset_of!(red_matrix, cols) - 24usize];
    ["Offset of field: red_matrix::ld"][::std::mem::offset_of!(red_matrix, ld) - 32usize];
    ["Offset of field: red_matrix::alpha"][::std::mem::offset_of!(red_matrix, alpha) - 40usize];
    ["Offset of field: red_matrix::beta"][::std::mem::offset_of!(red_matrix, beta) - 44usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct red_sum_params {
    pub struct_size: u32,
    pub dtype: i32,
    pub out_dtype: i32,
    pub accumulator: i32,
    pub path: i32,
    pub splits: i32,
    pub mean: i32,
    pub reserved: i32,
    pub rows: i64,
    pub cols: i64,
    pub ld: i64,
    pub table_rows: i64,
    pub count: i64,
    pub max_rows: i64,
    pub alpha: f32,
    pub beta: f32,
    pub x: *const ::std::os::raw::c_void,
    pub weights: *const f32,
    pub mask: *const u8,
    pub index: *const i32,
    pub offsets: *const i64,
    pub matrices: *const red_matrix,
    pub out: *mut ::std::os::raw::c_void,
    pub status: *mut u32,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of red_sum_params"][::std::mem::size_of::<red_sum_params>() - 168usize];
    ["Alignment of red_sum_params"][::std::mem::align_of::<red_sum_params>() - 8usize];
    ["Offset of field: red_sum_params::struct_size"]
        [::std::mem::offset_of!(red_sum_params, struct_size) - 0usize];
    ["Offset of field: red_sum_params::dtype"]
        [::std::mem::offset_of!(red_sum_params, dtype) - 4usize];
    ["Offset of field: red_sum_params::out_dtype"]
        [::std::mem::offset_of!(red_sum_params, out_dtype) - 8usize];
    ["Offset of field: red_sum_params::accumulator"]
        [::std::mem::offset_of!(red_sum_params, accumulator) - 12usize];
    ["Offset of field: red_sum_params::path"]
        [::std::mem::offset_of!(red_sum_params, path) - 16usize];
    ["Offset of field: red_sum_params::splits"]
        [::std::mem::offset_of!(red_sum_params, splits) - 20usize];
    ["Offset of field: red_sum_params::mean"]
        [::std::mem::offset_of!(red_sum_params, mean) - 24usize];
    ["Offset of field: red_sum_params::reserved"]
        [::std::mem::offset_of!(red_sum_params, reserved) - 28usize];
    ["Offset of field: red_sum_params::rows"]
        [::std::mem::offset_of!(red_sum_params, rows) - 32usize];
    ["Offset of field: red_sum_params::cols"]
        [::std::mem::offset_of!(red_sum_params, cols) - 40usize];
    ["Offset of field: red_sum_params::ld"][::std::mem::offset_of!(red_sum_params, ld) - 48usize];
    ["Offset of field: red_sum_params::table_rows"]
        [::std::mem::offset_of!(red_sum_params, table_rows) - 56usize];
    ["Offset of field: red_sum_params::count"]
        [::std::mem::offset_of!(red_sum_params, count) - 64usize];
    ["Offset of field: red_sum_params::max_rows"]
        [::std::mem::offset_of!(red_sum_params, max_rows) - 72usize];
    ["Offset of field: red_sum_params::alpha"]
        [::std::mem::offset_of!(red_sum_params, alpha) - 80usize];
    ["Offset of field: red_sum_params::beta"]
        [::std::mem::offset_of!(red_sum_params, beta) - 84usize];
    ["Offset of field: red_sum_params::x"][::std::mem::offset_of!(red_sum_params, x) - 88usize];
    ["Offset of field: red_sum_params::weights"]
        [::std::mem::offset_of!(red_sum_params, weights) - 96usize];
    ["Offset of field: red_sum_params::mask"]
        [::std::mem::offset_of!(red_sum_params, mask) - 104usize];
    ["Offset of field: red_sum_params::index"]
        [::std::mem::offset_of!(red_sum_params, index) - 112usize];
    ["Offset of field: red_sum_params::offsets"]
        [::std::mem::offset_of!(red_sum_params, offsets) - 120usize];
    ["Offset of field: red_sum_params::matrices"]
        [::std::mem::offset_of!(red_sum_params, matrices) - 128usize];
    ["Offset of field: red_sum_params::out"]
        [::std::mem::offset_of!(red_sum_params, out) - 136usize];
    ["Offset of field: red_sum_params::status"]
        [::std::mem::offset_of!(red_sum_params, status) - 144usize];
    ["Offset of field: red_sum_params::workspace"]
        [::std::mem::offset_of!(red_sum_params, workspace) - 152usize];
    ["Offset of field: red_sum_params::workspace_bytes"]
        [::std::mem::offset_of!(red_sum_params, workspace_bytes) - 160usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct red_moments_params {
    pub struct_size: u32,
    pub dtype: i32,
    pub accumulator: i32,
    pub splits: i32,
    pub rows: i64,
    pub x: *const ::std::os::raw::c_void,
    pub sum_squares: *mut f32,
    pub norm: *mut f32,
    pub max_abs: *mut f32,
    pub non_finite: *mut i64,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of red_moments_params"][::std::mem::size_of::<red_moments_params>() - 80usize];
    ["Alignment of red_moments_params"][::std::mem::align_of::<red_moments_params>() - 8usize];
    ["Offset of field: red_moments_params::struct_size"]
        [::std::mem::offset_of!(red_moments_params, struct_size) - 0usize];
    ["Offset of field: red_moments_params::dtype"]
        [::std::mem::offset_of!(red_moments_params, dtype) - 4usize];
    ["Offset of field: red_moments_params::accumulator"]
        [::std::mem::offset_of!(red_moments_params, accumulator) - 8usize];
    ["Offset of field: red_moments_params::splits"]
        [::std::mem::offset_of!(red_moments_params, splits) - 12usize];
    ["Offset of field: red_moments_params::rows"]
        [::std::mem::offset_of!(red_moments_params, rows) - 16usize];
    ["Offset of field: red_moments_params::x"]
        [::std::mem::offset_of!(red_moments_params, x) - 24usize];
    ["Offset of field: red_moments_params::sum_squares"]
        [::std::mem::offset_of!(red_moments_params, sum_squares) - 32usize];
    ["Offset of field: red_moments_params::norm"]
        [::std::mem::offset_of!(red_moments_params, norm) - 40usize];
    ["Offset of field: red_moments_params::max_abs"]
        [::std::mem::offset_of!(red_moments_params, max_abs) - 48usize];
    ["Offset of field: red_moments_params::non_finite"]
        [::std::mem::offset_of!(red_moments_params, non_finite) - 56usize];
    ["Offset of field: red_moments_params::workspace"]
        [::std::mem::offset_of!(red_moments_params, workspace) - 64usize];
    ["Offset of field: red_moments_params::workspace_bytes"]
        [::std::mem::offset_of!(red_moments_params, workspace_bytes) - 72usize];
};
unsafe extern "C" {
    pub fn red_abi_version() -> u32;
    pub fn red_build_info() -> *const ::std::os::raw::c_char;
    pub fn red_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn red_device_status_string(status: u32) -> *const ::std::os::raw::c_char;
    pub fn red_columns(
        params: *const red_sum_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_columns_workspace_bytes(params: *const red_sum_params) -> usize;
    pub fn red_columns_grouped(
        params: *const red_sum_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_columns_grouped_workspace_bytes(params: *const red_sum_params) -> usize;
    pub fn red_rows(
        params: *const red_sum_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_rows_workspace_bytes(params: *const red_sum_params) -> usize;
    pub fn red_segments(
        params: *const red_sum_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_segments_workspace_bytes(params: *const red_sum_params) -> usize;
    pub fn red_moments(
        params: *const red_moments_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_moments_workspace_bytes(params: *const red_moments_params) -> usize;
    pub fn red_kan_spline_grad_f32(
        x: *const f32,
        dy: *const f32,
        knots: *const f32,
        out: *mut f32,
        rows: i64,
        inputs: i64,
        outputs: i64,
        intervals: i64,
        workspace: *mut ::std::os::raw::c_void,
        workspace_bytes: usize,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_kan_spline_grad_workspace_bytes(
        rows: i64,
        inputs: i64,
        outputs: i64,
        intervals: i64,
    ) -> usize;
    pub fn red_iqn_bias_grad_f32(
        x: *const f32,
        out: *mut f32,
        rows: i64,
        cols: i64,
        workspace: *mut ::std::os::raw::c_void,
        workspace_bytes: usize,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_kan_grad_f32(
        x: *const f32,
        out: *mut f32,
        rows: i64,
        cols: i64,
        workspace: *mut ::std::os::raw::c_void,
        workspace_bytes: usize,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_baseline_thread_per_column(
        x: *const f32,
        out: *mut f32,
        rows: i64,
        cols: i64,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn red_baseline_block_per_column(
        x: *const f32,
        out: *mut f32,
        rows: i64,
        cols: i64,
        workspace: *mut ::std::os::raw::c_void,
        workspace_bytes: usize,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type red_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type red_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type red_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type red_device_status_string_fn =
    unsafe extern "C" fn(status: u32) -> *const ::std::os::raw::c_char;
pub type red_columns_fn = unsafe extern "C" fn(
    params: *const red_sum_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_columns_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const red_sum_params) -> usize;
pub type red_columns_grouped_fn = unsafe extern "C" fn(
    params: *const red_sum_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_columns_grouped_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const red_sum_params) -> usize;
pub type red_rows_fn = unsafe extern "C" fn(
    params: *const red_sum_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_rows_workspace_bytes_fn = unsafe extern "C" fn(params: *const red_sum_params) -> usize;
pub type red_segments_fn = unsafe extern "C" fn(
    params: *const red_sum_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_segments_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const red_sum_params) -> usize;
pub type red_moments_fn = unsafe extern "C" fn(
    params: *const red_moments_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_moments_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const red_moments_params) -> usize;
pub type red_kan_spline_grad_f32_fn = unsafe extern "C" fn(
    x: *const f32,
    dy: *const f32,
    knots: *const f32,
    out: *mut f32,
    rows: i64,
    inputs: i64,
    outputs: i64,
    intervals: i64,
    workspace: *mut ::std::os::raw::c_void,
    workspace_bytes: usize,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_kan_spline_grad_workspace_bytes_fn =
    unsafe extern "C" fn(rows: i64, inputs: i64, outputs: i64, intervals: i64) -> usize;
pub type red_iqn_bias_grad_f32_fn = unsafe extern "C" fn(
    x: *const f32,
    out: *mut f32,
    rows: i64,
    cols: i64,
    workspace: *mut ::std::os::raw::c_void,
    workspace_bytes: usize,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_kan_grad_f32_fn = unsafe extern "C" fn(
    x: *const f32,
    out: *mut f32,
    rows: i64,
    cols: i64,
    workspace: *mut ::std::os::raw::c_void,
    workspace_bytes: usize,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_baseline_thread_per_column_fn = unsafe extern "C" fn(
    x: *const f32,
    out: *mut f32,
    rows: i64,
    cols: i64,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type red_baseline_block_per_column_fn = unsafe extern "C" fn(
    x: *const f32,
    out: *mut f32,
    rows: i64,
    cols: i64,
    workspace: *mut ::std::os::raw::c_void,
    workspace_bytes: usize,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
