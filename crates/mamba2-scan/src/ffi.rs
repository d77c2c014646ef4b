//! Declarations of include/mamba2_scan.h. `cargo xtask codegen` writes this file.

pub const M2_ABI_VERSION: u32 = 1;
pub const M2_MAX_STATE_DIM: u32 = 1024;
pub const M2_MAX_HEADS: u32 = 65536;
pub const M2_MAX_HEAD_DIM: u32 = 65536;
pub const M2_TILE: u32 = 8;
pub const M2_MAX_STEPS: u32 = 64;
pub const M2_MAX_STATES: u32 = 64;
pub const M2_MAX_FEATURES: u32 = 1024;
pub const M2_MAX_ROWS: u32 = 1073741824;
pub const M2_MAX_COMPOSED: u64 = 549755813888;
pub const M2_F32: m2_dtype = 0;
pub const M2_BF16: m2_dtype = 1;
pub const M2_F16: m2_dtype = 2;
pub type m2_dtype = ::std::os::raw::c_uint;
pub const M2_DECAY_A: m2_decay = 0;
pub const M2_DECAY_A_LOG: m2_decay = 1;
pub type m2_decay = ::std::os::raw::c_uint;
pub const M2_UPDATE_AUTO: m2_update_path = 0;
pub const M2_UPDATE_SINGLE: m2_update_path = 1;
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
pub const M2_ARG_readout: m2_argument = 36;
pub const M2_ARG_steps: m2_argument = 37;
pub const M2_ARG_features: m2_argument = 38;
pub const M2_ARG_states: m2_argument = 39;
pub const M2_ARG_history_stride: m2_argument = 40;
pub const M2_ARG_step_stride: m2_argument = 41;
pub const M2_ARG_current_stride: m2_argument = 42;
pub const M2_ARG_history: m2_argument = 43;
pub const M2_ARG_current: m2_argument = 44;
pub const M2_ARG_w_a: m2_argument = 45;
pub const M2_ARG_w_b: m2_argument = 46;
pub const M2_ARG_w_c: m2_argument = 47;
pub const M2_ARG_bias_a: m2_argument = 48;
pub const M2_ARG_bias_b: m2_argument = 49;
pub const M2_ARG_bias_c: m2_argument = 50;
pub const M2_ARG_x0: m2_argument = 51;
pub const M2_ARG_out: m2_argument = 52;
pub const M2_ARG_final_state: m2_argument = 53;
pub const M2_ARG_beta: m2_argument = 54;
pub const M2_ARG_d_out: m2_argument = 55;
pub const M2_ARG_d_final: m2_argument = 56;
pub const M2_ARG_d_w_a: m2_argument = 57;
pub const M2_ARG_d_w_b: m2_argument = 58;
pub const M2_ARG_d_w_c: m2_argument = 59;
pub const M2_ARG_d_bias_a: m2_argument = 60;
pub const M2_ARG_d_bias_b: m2_argument = 61;
pub const M2_ARG_d_bias_c: m2_argument = 62;
pub const M2_ARG_d_history: m2_argument = 63;
pub const M2_ARG_d_current: m2_argument = 64;
pub const M2_ARG_d_x0: m2_argument = 65;
pub const M2_ARG_workspace: m2_argument = 66;
pub const M2_ARG_workspace_bytes: m2_argument = 67;
pub const M2_ARG_precision: m2_argument = 68;
pub const M2_ARG_projections: m2_argument = 69;
pub const M2_ARG_readouts: m2_argument = 70;
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
pub const M2_READOUT_CONTEXT: m2_readout = 0;
pub const M2_READOUT_SUM: m2_readout = 1;
pub const M2_READOUT_TILE_ADD: m2_readout = 2;
pub type m2_readout = ::std::os::raw::c_uint;
pub const M2_BACKWARD_AUTO: m2_backward_path = 0;
pub const M2_BACKWARD_STAGED: m2_backward_path = 1;
pub const M2_BACKWARD_FUSED: m2_backward_path = 2;
pub type m2_backward_path = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct m2_temporal_scan_params {
    pub struct_size: u32,
    pub readout: i32,
    pub batch: i64,
    pub steps: i64,
    pub features: i64,
    pub states: i64,
    pub history_stride: i64,
    pub step_stride: i64,
    pub current_stride: i64,
    pub history: *const f32,
    pub current: *const f32,
    pub w_a: *const f32,
    pub w_b: *const f32,
    pub w_c: *const f32,
    pub bias_a: *const f32,
    pub bias_b: *const f32,
    pub bias_c: *const f32,
    pub x0: *const f32,
    pub out: *mut f32,
    pub final_state: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of m2_temporal_scan_params"]
        [::std::mem::size_of::<m2_temporal_scan_params>() - 152usize];
    ["Alignment of m2_temporal_scan_params"]
        [::std::mem::align_of::<m2_temporal_scan_params>() - 8usize];
    ["Offset of field: m2_temporal_scan_params::struct_size"]
        [::std::mem::offset_of!(m2_temporal_scan_params, struct_size) - 0usize];
    ["Offset of field: m2_temporal_scan_params::readout"]
        [::std::mem::offset_of!(m2_temporal_scan_params, readout) - 4usize];
    ["Offset of field: m2_temporal_scan_params::batch"]
        [::std::mem::offset_of!(m2_temporal_scan_params, batch) - 8usize];
    ["Offset of field: m2_temporal_scan_params::steps"]
        [::std::mem::offset_of!(m2_temporal_scan_params, steps) - 16usize];
    ["Offset of field: m2_temporal_scan_params::features"]
        [::std::mem::offset_of!(m2_temporal_scan_params, features) - 24usize];
    ["Offset of field: m2_temporal_scan_params::states"]
        [::std::mem::offset_of!(m2_temporal_scan_params, states) - 32usize];
    ["Offset of field: m2_temporal_scan_params::history_stride"]
        [::std::mem::offset_of!(m2_temporal_scan_params, history_stride) - 40usize];
    ["Offset of field: m2_temporal_scan_params::step_stride"]
        [::std::mem::offset_of!(m2_temporal_scan_params, step_stride) - 48usize];
    ["Offset of field: m2_temporal_scan_params::current_stride"]
        [::std::mem::offset_of!(m2_temporal_scan_params, current_stride) - 56usize];
    ["Offset of field: m2_temporal_scan_params::history"]
        [::std::mem::offset_of!(m2_temporal_scan_params, history) - 64usize];
    ["Offset of field: m2_temporal_scan_params::current"]
        [::std::mem::offset_of!(m2_temporal_scan_params, current) - 72usize];
    ["Offset of field: m2_temporal_scan_params::w_a"]
        [::std::mem::offset_of!(m2_temporal_scan_params, w_a) - 80usize];
    ["Offset of field: m2_temporal_scan_params::w_b"]
        [::std::mem::offset_of!(m2_temporal_scan_params, w_b) - 88usize];
    ["Offset of field: m2_temporal_scan_params::w_c"]
        [::std::mem::offset_of!(m2_temporal_scan_params, w_c) - 96usize];
    ["Offset of field: m2_temporal_scan_params::bias_a"]
        [::std::mem::offset_of!(m2_temporal_scan_params, bias_a) - 104usize];
    ["Offset of field: m2_temporal_scan_params::bias_b"]
        [::std::mem::offset_of!(m2_temporal_scan_params, bias_b) - 112usize];
    ["Offset of field: m2_temporal_scan_params::bias_c"]
        [::std::mem::offset_of!(m2_temporal_scan_params, bias_c) - 120usize];
    ["Offset of field: m2_temporal_scan_params::x0"]
        [::std::mem::offset_of!(m2_temporal_scan_params, x0) - 128usize];
    ["Offset of field: m2_temporal_scan_params::out"]
        [::std::mem::offset_of!(m2_temporal_scan_params, out) - 136usize];
    ["Offset of field: m2_temporal_scan_params::final_state"]
        [::std::mem::offset_of!(m2_temporal_scan_params, final_state) - 144usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct m2_scan_backward_params {
    pub struct_size: u32,
    pub readout: i32,
    pub path: i32,
    pub beta: f32,
    pub batch: i64,
    pub steps: i64,
    pub features: i64,
    pub states: i64,
    pub history_stride: i64,
    pub step_stride: i64,
    pub current_stride: i64,
    pub history: *const f32,
    pub current: *const f32,
    pub w_a: *const f32,
    pub w_b: *const f32,
    pub w_c: *const f32,
    pub bias_a: *const f32,
    pub bias_b: *const f32,
    pub bias_c: *const f32,
    pub x0: *const f32,
    pub d_out: *const f32,
    pub d_final: *const f32,
    pub d_w_a: *mut f32,
    pub d_w_b: *mut f32,
    pub d_w_c: *mut f32,
    pub d_bias_a: *mut f32,
    pub d_bias_b: *mut f32,
    pub d_bias_c: *mut f32,
    pub d_history: *mut f32,
    pub d_current: *mut f32,
    pub d_x0: *mut f32,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of m2_scan_backward_params"]
        [::std::mem::size_of::<m2_scan_backward_params>() - 248usize];
    ["Alignment of m2_scan_backward_params"]
        [::std::mem::align_of::<m2_scan_backward_params>() - 8usize];
    ["Offset of field: m2_scan_backward_params::struct_size"]
        [::std::mem::offset_of!(m2_scan_backward_params, struct_size) - 0usize];
    ["Offset of field: m2_scan_backward_params::readout"]
        [::std::mem::offset_of!(m2_scan_backward_params, readout) - 4usize];
    ["Offset of field: m2_scan_backward_params::path"]
        [::std::mem::offset_of!(m2_scan_backward_params, path) - 8usize];
    ["Offset of field: m2_scan_backward_params::beta"]
        [::std::mem::offset_of!(m2_scan_backward_params, beta) - 12usize];
    ["Offset of field: m2_scan_backward_params::batch"]
        [::std::mem::offset_of!(m2_scan_backward_params, batch) - 16usize];
    ["Offset of field: m2_scan_backward_params::steps"]
        [::std::mem::offset_of!(m2_scan_backward_params, steps) - 24usize];
    ["Offset of field: m2_scan_backward_params::features"]
        [::std::mem::offset_of!(m2_scan_backward_params, features) - 32usize];
    ["Offset of field: m2_scan_backward_params::states"]
        [::std::mem::offset_of!(m2_scan_backward_params, states) - 40usize];
    ["Offset of field: m2_scan_backward_params::history_stride"]
        [::std::mem::offset_of!(m2_scan_backward_params, history_stride) - 48usize];
    ["Offset of field: m2_scan_backward_params::step_stride"]
        [::std::mem::offset_of!(m2_scan_backward_params, step_stride) - 56usize];
    ["Offset of field: m2_scan_backward_params::current_stride"]
        [::std::mem::offset_of!(m2_scan_backward_params, current_stride) - 64usize];
    ["Offset of field: m2_scan_backward_params::history"]
        [::std::mem::offset_of!(m2_scan_backward_params, history) - 72usize];
    ["Offset of field: m2_scan_backward_params::current"]
        [::std::mem::offset_of!(m2_scan_backward_params, current) - 80usize];
    ["Offset of field: m2_scan_backward_params::w_a"]
        [::std::mem::offset_of!(m2_scan_backward_params, w_a) - 88usize];
    ["Offset of field: m2_scan_backward_params::w_b"]
        [::std::mem::offset_of!(m2_scan_backward_params, w_b) - 96usize];
    ["Offset of field: m2_scan_backward_params::w_c"]
        [::std::mem::offset_of!(m2_scan_backward_params, w_c) - 104usize];
    ["Offset of field: m2_scan_backward_params::bias_a"]
        [::std::mem::offset_of!(m2_scan_backward_params, bias_a) - 112usize];
    ["Offset of field: m2_scan_backward_params::bias_b"]
        [::std::mem::offset_of!(m2_scan_backward_params, bias_b) - 120usize];
    ["Offset of field: m2_scan_backward_params::bias_c"]
        [::std::mem::offset_of!(m2_scan_backward_params, bias_c) - 128usize];
    ["Offset of field: m2_scan_backward_params::x0"]
        [::std::mem::offset_of!(m2_scan_backward_params, x0) - 136usize];
    ["Offset of field: m2_scan_backward_params::d_out"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_out) - 144usize];
    ["Offset of field: m2_scan_backward_params::d_final"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_final) - 152usize];
    ["Offset of field: m2_scan_backward_params::d_w_a"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_w_a) - 160usize];
    ["Offset of field: m2_scan_backward_params::d_w_b"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_w_b) - 168usize];
    ["Offset of field: m2_scan_backward_params::d_w_c"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_w_c) - 176usize];
    ["Offset of field: m2_scan_backward_params::d_bias_a"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_bias_a) - 184usize];
    ["Offset of field: m2_scan_backward_params::d_bias_b"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_bias_b) - 192usize];
    ["Offset of field: m2_scan_backward_params::d_bias_c"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_bias_c) - 200usize];
    ["Offset of field: m2_scan_backward_params::d_history"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_history) - 208usize];
    ["Offset of field: m2_scan_backward_params::d_current"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_current) - 216usize];
    ["Offset of field: m2_scan_backward_params::d_x0"]
        [::std::mem::offset_of!(m2_scan_backward_params, d_x0) - 224usize];
    ["Offset of field: m2_scan_backward_params::workspace"]
        [::std::mem::offset_of!(m2_scan_backward_params, workspace) - 232usize];
    ["Offset of field: m2_scan_backward_params::workspace_bytes"]
        [::std::mem::offset_of!(m2_scan_backward_params, workspace_bytes) - 240usize];
};
pub const M2_PRECISION_3XTF32: m2_precision = 0;
pub const M2_PRECISION_TF32: m2_precision = 1;
pub type m2_precision = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct m2_composed_scan_params {
    pub struct_size: u32,
    pub readout: i32,
    pub batch: i64,
    pub steps: i64,
    pub features: i64,
    pub states: i64,
    pub current_stride: i64,
    pub projections: *const f32,
    pub readouts: *const f32,
    pub current: *const f32,
    pub bias_a: *const f32,
    pub bias_b: *const f32,
    pub bias_c: *const f32,
    pub x0: *const f32,
    pub out: *mut f32,
    pub final_state: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of m2_composed_scan_params"]
        [::std::mem::size_of::<m2_composed_scan_params>() - 120usize];
    ["Alignment of m2_composed_scan_params"]
        [::std::mem::align_of::<m2_composed_scan_params>() - 8usize];
    ["Offset of field: m2_composed_scan_params::struct_size"]
        [::std::mem::offset_of!(m2_composed_scan_params, struct_size) - 0usize];
    ["Offset of field: m2_composed_scan_params::readout"]
        [::std::mem::offset_of!(m2_composed_scan_params, readout) - 4usize];
    ["Offset of field: m2_composed_scan_params::batch"]
        [::std::mem::offset_of!(m2_composed_scan_params, batch) - 8usize];
    ["Offset of field: m2_composed_scan_params::steps"]
        [::std::mem::offset_of!(m2_composed_scan_params, steps) - 16usize];
    ["Offset of field: m2_composed_scan_params::features"]
        [::std::mem::offset_of!(m2_composed_scan_params, features) - 24usize];
    ["Offset of field: m2_composed_scan_params::states"]
        [::std::mem::offset_of!(m2_composed_scan_params, states) - 32usize];
    ["Offset of field: m2_composed_scan_params::current_stride"]
        [::std::mem::offset_of!(m2_composed_scan_params, current_stride) - 40usize];
    ["Offset of field: m2_composed_scan_params::projections"]
        [::std::mem::offset_of!(m2_composed_scan_params, projections) - 48usize];
    ["Offset of field: m2_composed_scan_params::readouts"]
        [::std::mem::offset_of!(m2_composed_scan_params, readouts) - 56usize];
    ["Offset of field: m2_composed_scan_params::current"]
        [::std::mem::offset_of!(m2_composed_scan_params, current) - 64usize];
    ["Offset of field: m2_composed_scan_params::bias_a"]
        [::std::mem::offset_of!(m2_composed_scan_params, bias_a) - 72usize];
    ["Offset of field: m2_composed_scan_params::bias_b"]
        [::std::mem::offset_of!(m2_composed_scan_params, bias_b) - 80usize];
    ["Offset of field: m2_composed_scan_params::bias_c"]
        [::std::mem::offset_of!(m2_composed_scan_params, bias_c) - 88usize];
    ["Offset of field: m2_composed_scan_params::x0"]
        [::std::mem::offset_of!(m2_composed_scan_params, x0) - 96usize];
    ["Offset of field: m2_composed_scan_params::out"]
        [::std::mem::offset_of!(m2_composed_scan_params, out) - 104usize];
    ["Offset of field: m2_composed_scan_params::final_state"]
        [::std::mem::offset_of!(m2_composed_scan_params, final_state) - 112usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct m2_composed_scan_backward_params {
    pub struct_size: u32,
    pub readout: i32,
    pub batch: i64,
    pub steps: i64,
    pub features: i64,
    pub states: i64,
    pub bias_a: *const f32,
    pub bias_b: *const f32,
    pub bias_c: *const f32,
    pub x0: *const f32,
    pub d_out: *const f32,
    pub d_final: *const f32,
    pub projections: *mut f32,
    pub readouts: *mut f32,
    pub d_x0: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of m2_composed_scan_backward_params"]
        [::std::mem::size_of::<m2_composed_scan_backward_params>() - 112usize];
    ["Alignment of m2_composed_scan_backward_params"]
        [::std::mem::align_of::<m2_composed_scan_backward_params>() - 8usize];
    ["Offset of field: m2_composed_scan_backward_params::struct_size"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, struct_size) - 0usize];
    ["Offset of field: m2_composed_scan_backward_params::readout"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, readout) - 4usize];
    ["Offset of field: m2_composed_scan_backward_params::batch"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, batch) - 8usize];
    ["Offset of field: m2_composed_scan_backward_params::steps"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, steps) - 16usize];
    ["Offset of field: m2_composed_scan_backward_params::features"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, features) - 24usize];
    ["Offset of field: m2_composed_scan_backward_params::states"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, states) - 32usize];
    ["Offset of field: m2_composed_scan_backward_params::bias_a"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, bias_a) - 40usize];
    ["Offset of field: m2_composed_scan_backward_params::bias_b"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, bias_b) - 48usize];
    ["Offset of field: m2_composed_scan_backward_params::bias_c"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, bias_c) - 56usize];
    ["Offset of field: m2_composed_scan_backward_params::x0"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, x0) - 64usize];
    ["Offset of field: m2_composed_scan_backward_params::d_out"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, d_out) - 72usize];
    ["Offset of field: m2_composed_scan_backward_params::d_final"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, d_final) - 80usize];
    ["Offset of field: m2_composed_scan_backward_params::projections"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, projections) - 88usize];
    ["Offset of field: m2_composed_scan_backward_params::readouts"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, readouts) - 96usize];
    ["Offset of field: m2_composed_scan_backward_params::d_x0"]
        [::std::mem::offset_of!(m2_composed_scan_backward_params, d_x0) - 104usize];
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
    pub fn m2_temporal_scan_f32(
        params: *const m2_temporal_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_scan_backward_workspace_bytes(params: *const m2_scan_backward_params) -> usize;
    pub fn m2_scan_backward_nodes(params: *const m2_scan_backward_params) -> ::std::os::raw::c_int;
    pub fn m2_scan_backward_f32(
        params: *const m2_scan_backward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_temporal_scan_fast_f32(
        params: *const m2_temporal_scan_params,
        precision: i32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_scan_backward_fast_nodes(
        params: *const m2_scan_backward_params,
    ) -> ::std::os::raw::c_int;
    pub fn m2_scan_backward_fast_f32(
        params: *const m2_scan_backward_params,
        precision: i32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_composed_scan_f32(
        params: *const m2_composed_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_composed_scan_backward_f32(
        params: *const m2_composed_scan_backward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_baseline_temporal_scan(
        params: *const m2_temporal_scan_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn m2_baseline_scan_backward(
        params: *const m2_scan_backward_params,
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
pub type m2_temporal_scan_f32_fn = unsafe extern "C" fn(
    params: *const m2_temporal_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_scan_backward_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const m2_scan_backward_params) -> usize;
pub type m2_scan_backward_nodes_fn =
    unsafe extern "C" fn(params: *const m2_scan_backward_params) -> ::std::os::raw::c_int;
pub type m2_scan_backward_f32_fn = unsafe extern "C" fn(
    params: *const m2_scan_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_temporal_scan_fast_f32_fn = unsafe extern "C" fn(
    params: *const m2_temporal_scan_params,
    precision: i32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_scan_backward_fast_nodes_fn =
    unsafe extern "C" fn(params: *const m2_scan_backward_params) -> ::std::os::raw::c_int;
pub type m2_scan_backward_fast_f32_fn = unsafe extern "C" fn(
    params: *const m2_scan_backward_params,
    precision: i32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_composed_scan_f32_fn = unsafe extern "C" fn(
    params: *const m2_composed_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_composed_scan_backward_f32_fn = unsafe extern "C" fn(
    params: *const m2_composed_scan_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_baseline_temporal_scan_fn = unsafe extern "C" fn(
    params: *const m2_temporal_scan_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type m2_baseline_scan_backward_fn = unsafe extern "C" fn(
    params: *const m2_scan_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
