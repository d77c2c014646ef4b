//! Declarations of include/mamba2_scan.h. `cargo xtask codegen` writes this file.

pub const M2_ABI_VERSION: u32 = 1;
pub const M2_MAX_STATE_DIM: u32 = 1024;
pub const M2_MAX_HEADS: u32 = 65536;
pub const M2_MAX_HEAD_DIM: u32 = 65536;
pub const M2_F32: m2_dtype = 0;
pub const M2_BF16: m2_dtype = 1;
pub const M2_F16: m2_dtype = 2;
pub type m2_dtype = ::std::os::raw::c_uint;
pub const M2_DECAY_A: m2_decay = 0;
pub const M2_DECAY_A_LOG: m2_decay = 1;
pub type m2_decay = ::std::os::raw::c_uint;
pub const M2_UPDATE_AUTO: m2_update_path = 0;
pub const M2_UPDATE_SINGLE: m2_update_path = 1;
pub const M2_UPDATE_SMALL: m2_update_path = 2;
pub const M2_UPDATE_LARGE: m2_update_path = 3;
pub const M2_UPDATE_STREAM: m2_update_path = 4;
pub type m2_update_path = ::std::os::raw::c_uint;
pub const M2_DEVICE_OK: m2_device_status = 0;
pub const M2_DEVICE_BAD_SLOT_IN: m2_device_status = 1;
pub const M2_DEVICE_BAD_SLOT_OUT: m2_device_status = 2;
pub type m2_device_status = ::std::os::raw::c_uint;
pub const M2_ARG_params: m2_argument = 1;
pub const M2_ARG_struct_size: m2_argument = 2;
pub const M2_ARG_state_dtype: m2_argument = 3;
pub const M2_ARG_io_dtype: m2_argument = 4;
pub const M2_ARG_dt_dtype: m2_argument = 5;
pub const M2_ARG_path: m2_argument = 6;
pub const M2_ARG_decay: m2_argument = 7;
pub const M2_ARG_batch: m2_argument = 8;
pub const M2_ARG_heads: m2_argument = 9;
pub const M2_ARG_groups: m2_argument = 10;
pub const M2_ARG_head_dim: m2_argument = 11;
pub const M2_ARG_state_dim: m2_argument = 12;
pub const M2_ARG_slots: m2_argument = 13;
pub const M2_ARG_slot_stride: m2_argument = 14;
pub const M2_ARG_x_stride: m2_argument = 15;
pub const M2_ARG_dt_stride: m2_argument = 16;
pub const M2_ARG_b_stride: m2_argument = 17;
pub const M2_ARG_c_stride: m2_argument = 18;
pub const M2_ARG_z_stride: m2_argument = 19;
pub const M2_ARG_y_stride: m2_argument = 20;
pub const M2_ARG_dt_min: m2_argument = 21;
pub const M2_ARG_dt_max: m2_argument = 22;
pub const M2_ARG_state: m2_argument = 23;
pub const M2_ARG_slots_in: m2_argument = 24;
pub const M2_ARG_slots_out: m2_argument = 25;
pub const M2_ARG_x: m2_argument = 26;
pub const M2_ARG_dt: m2_argument = 27;
pub const M2_ARG_a: m2_argument = 28;
pub const M2_ARG_dt_bias: m2_argument = 29;
pub const M2_ARG_b: m2_argument = 30;
pub const M2_ARG_c: m2_argument = 31;
pub const M2_ARG_d: m2_argument = 32;
pub const M2_ARG_z: m2_argument = 33;
pub const M2_ARG_y: m2_argument = 34;
pub const M2_ARG_status: m2_argument = 35;
pub type m2_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct m2_state_update_params {
    pub struct_size: u32,
    pub state_dtype: i32,
    pub io_dtype: i32,
    pub dt_dtype: i32,
    pub path: i32,
    pub decay: i32,
    pub dt_softplus: i32,
    pub dt_clamp: i32,
    pub dt_per_channel: i32,
    pub d_per_channel: i32,
    pub batch: i64,
    pub heads: i64,
    pub groups: i64,
    pub head_dim: i64,
    pub state_dim: i64,
    pub slots: i64,
    pub slot_stride: i64,
    pub x_stride: i64,
    pub dt_stride: i64,
    pub b_stride: i64,
    pub c_stride: i64,
    pub z_stride: i64,
    pub y_stride: i64,
    pub dt_min: f32,
    pub dt_max: f32,
    pub state: *mut ::std::os::raw::c_void,
    pub slots_in: *const i32,
    pub slots_out: *const i32,
    pub x: *const ::std::os::raw::c_void,
    pub dt: *const ::std::os::raw::c_void,
    pub a: *const f32,
    pub dt_bias: *const f32,
    pub b: *const ::std::os::raw::c_void,
    pub c: *const ::std::os::raw::c_void,
    pub d: *const f32,
    pub z: *const ::std::os::raw::c_void,
    pub y: *mut ::std::os::raw::c_void,
    pub status: *mut u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of m2_state_update_params"][::std::mem::size_of::<m2_state_update_params>() - 256usize];
    ["Alignment of m2_state_update_params"]
        [::std::mem::align_of::<m2_state_update_params>() - 8usize];
    ["Offset of field: m2_state_update_params::struct_size"]
        [::std::mem::offset_of!(m2_state_update_params, struct_size) - 0usize];
    ["Offset of field: m2_state_update_params::state_dtype"]
        [::std::mem::offset_of!(m2_state_update_params, state_dtype) - 4usize];
    ["Offset of field: m2_state_update_params::io_dtype"]
        [::std::mem::offset_of!(m2_state_update_params, io_dtype) - 8usize];
    ["Offset of field: m2_state_update_params::dt_dtype"]
        [::std::mem::offset_of!(m2_state_update_params, dt_dtype) - 12usize];
    ["Offset of field: m2_state_update_params::path"]
        [::std::mem::offset_of!(m2_state_update_params, path) - 16usize];
    ["Offset of field: m2_state_update_params::decay"]
        [::std::mem::offset_of!(m2_state_update_params, decay) - 20usize];
    ["Offset of field: m2_state_update_params::dt_softplus"]
        [::std::mem::offset_of!(m2_state_update_params, dt_softplus) - 24usize];
    ["Offset of field: m2_state_update_params::dt_clamp"]
        [::std::mem::offset_of!(m2_state_update_params, dt_clamp) - 28usize];
    ["Offset of field: m2_state_update_params::dt_per_channel"]
        [::std::mem::offset_of!(m2_state_update_params, dt_per_channel) - 32usize];
    ["Offset of field: m2_state_update_params::d_per_channel"]
        [::std::mem::offset_of!(m2_state_update_params, d_per_channel) - 36usize];
    ["Offset of field: m2_state_update_params::batch"]
        [::std::mem::offset_of!(m2_state_update_params, batch) - 40usize];
    ["Offset of field: m2_state_update_params::heads"]
        [::std::mem::offset_of!(m2_state_update_params, heads) - 48usize];
    ["Offset of field: m2_state_update_params::groups"]
        [::std::mem::offset_of!(m2_state_update_params, groups) - 56usize];
    ["Offset of field: m2_state_update_params::head_dim"]
        [::std::mem::offset_of!(m2_state_update_params, head_dim) - 64usize];
    ["Offset of field: m2_state_update_params::state_dim"]
        [::std::mem::offset_of!(m2_state_update_params, state_dim) - 72usize];
    ["Offset of field: m2_state_update_params::slots"]
        [::std::mem::offset_of!(m2_state_update_params, slots) - 80usize];
    ["Offset of field: m2_state_update_params::slot_stride"]
        [::std::mem::offset_of!(m2_state_update_params, slot_stride) - 88usize];
    ["Offset of field: m2_state_update_params::x_stride"]
        [::std::mem::offset_of!(m2_state_update_params, x_stride) - 96usize];
    ["Offset of field: m2_state_update_params::dt_stride"]
        [::std::mem::offset_of!(m2_state_update_params, dt_stride) - 104usize];
    ["Offset of field: m2_state_update_params::b_stride"]
        [::std::mem::offset_of!(m2_state_update_params, b_stride) - 112usize];
    ["Offset of field: m2_state_update_params::c_stride"]
        [::std::mem::offset_of!(m2_state_update_params, c_stride) - 120usize];
    ["Offset of field: m2_state_update_params::z_stride"]
        [::std::mem::offset_of!(m2_state_update_params, z_stride) - 128usize];
    ["Offset of field: m2_state_update_params::y_stride"]
        [::std::mem::offset_of!(m2_state_update_params, y_stride) - 136usize];
    ["Offset of field: m2_state_update_params::dt_min"]
        [::std::mem::offset_of!(m2_state_update_params, dt_min) - 144usize];
    ["Offset of field: m2_state_update_params::dt_max"]
        [::std::mem::offset_of!(m2_state_update_params, dt_max) - 148usize];
    ["Offset of field: m2_state_update_params::state"]
        [::std::mem::offset_of!(m2_state_update_params, state) - 152usize];
    ["Offset of field: m2_state_update_params::slots_in"]
        [::std::mem::offset_of!(m2_state_update_params, slots_in) - 160usize];
    ["Offset of field: m2_state_update_params::slots_out"]
        [::std::mem::offset_of!(m2_state_update_params, slots_out) - 168usize];
    ["Offset of field: m2_state_update_params::x"]
        [::std::mem::offset_of!(m2_state_update_params, x) - 176usize];
    ["Offset of field: m2_state_update_params::dt"]
        [::std::mem::offset_of!(m2_state_update_params, dt) - 184usize];
    ["Offset of field: m2_state_update_params::a"]
        [::std::mem::offset_of!(m2_state_update_params, a) - 192usize];
    ["Offset of field: m2_state_update_params::dt_bias"]
        [::std::mem::offset_of!(m2_state_update_params, dt_bias) - 200usize];
    ["Offset of field: m2_state_update_params::b"]
        [::std::mem::offset_of!(m2_state_update_params, b) - 208usize];
    ["Offset of field: m2_state_update_params::c"]
        [::std::mem::offset_of!(m2_state_update_params, c) - 216usize];
    ["Offset of field: m2_state_update_params::d"]
        [::std::mem::offset_of!(m2_state_update_params, d) - 224usize];
    ["Offset of field: m2_state_update_params::z"]
        [::std::mem::offset_of!(m2_state_update_params, z) - 232usize];
    ["Offset of field: m2_state_update_params::y"]
        [::std::mem::offset_of!(m2_state_update_params, y) - 240usize];
    ["Offset of field: m2_state_update_params::status"]
        [::std::mem::offset_of!(m2_state_update_params, status) - 248usize];
};
unsafe extern "C" {
    pub fn m2_abi_version() -> u32;
    pub fn m2_build_info() -> *const ::std::os::raw::c_char;
    pub fn m2_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn m2_device_status_string(status: u32) -> *const ::std::os::raw::c_char;
    pub fn m2_state_update(
        params: *const m2_state_update_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type m2_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type m2_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type m2_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type m2_device_status_string_fn =
    unsafe extern "C" fn(status: u32) -> *const ::std::os::raw::c_char;
pub type m2_state_update_fn = unsafe extern "C" fn(
    params: *const m2_state_update_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
