//! Declarations of include/mlp.h. `cargo xtask codegen` writes this file.

pub const MLP_ABI_VERSION: u32 = 1;
pub const MLP_MAX_DIM: u32 = 512;
pub const MLP_PARTIAL_ROWS: u32 = 16;
pub const MLP_MAX_PARTIALS: u32 = 128;
pub const MLP_MAX_GROUP: u32 = 8;
pub const MLP_NONE: mlp_activation = 0;
pub const MLP_RELU: mlp_activation = 1;
pub const MLP_LEAKY_RELU: mlp_activation = 2;
pub const MLP_SILU: mlp_activation = 3;
pub const MLP_GELU_ERF: mlp_activation = 4;
pub const MLP_GELU_TANH: mlp_activation = 5;
pub const MLP_TANH: mlp_activation = 6;
pub const MLP_SIGMOID: mlp_activation = 7;
pub type mlp_activation = ::std::os::raw::c_uint;
pub const MLP_PATH_AUTO: mlp_path = 0;
pub const MLP_PATH_STAGED: mlp_path = 1;
pub const MLP_PATH_FUSED: mlp_path = 2;
pub type mlp_path = ::std::os::raw::c_uint;
pub const MLP_DEVICE_OK: mlp_device_status = 0;
pub const MLP_DEVICE_BAD_ACTION: mlp_device_status = 1;
pub type mlp_device_status = ::std::os::raw::c_uint;
pub const MLP_ARG_params: mlp_argument = 1;
pub const MLP_ARG_struct_size: mlp_argument = 2;
pub const MLP_ARG_activation1: mlp_argument = 3;
pub const MLP_ARG_activation2: mlp_argument = 4;
pub const MLP_ARG_path: mlp_argument = 5;
pub const MLP_ARG_slope1: mlp_argument = 6;
pub const MLP_ARG_slope2: mlp_argument = 7;
pub const MLP_ARG_batch: mlp_argument = 8;
pub const MLP_ARG_inputs: mlp_argument = 9;
pub const MLP_ARG_hidden: mlp_argument = 10;
pub const MLP_ARG_outputs: mlp_argument = 11;
pub const MLP_ARG_residual: mlp_argument = 12;
pub const MLP_ARG_x_stride: mlp_argument = 13;
pub const MLP_ARG_y_stride: mlp_argument = 14;
pub const MLP_ARG_dy_stride: mlp_argument = 15;
pub const MLP_ARG_dx_stride: mlp_argument = 16;
pub const MLP_ARG_x: mlp_argument = 17;
pub const MLP_ARG_w1: mlp_argument = 18;
pub const MLP_ARG_b1: mlp_argument = 19;
pub const MLP_ARG_w2: mlp_argument = 20;
pub const MLP_ARG_b2: mlp_argument = 21;
pub const MLP_ARG_y: mlp_argument = 22;
pub const MLP_ARG_dy: mlp_argument = 23;
pub const MLP_ARG_d_w1: mlp_argument = 24;
pub const MLP_ARG_d_b1: mlp_argument = 25;
pub const MLP_ARG_d_w2: mlp_argument = 26;
pub const MLP_ARG_d_b2: mlp_argument = 27;
pub const MLP_ARG_dx: mlp_argument = 28;
pub const MLP_ARG_beta: mlp_argument = 29;
pub const MLP_ARG_workspace: mlp_argument = 30;
pub const MLP_ARG_workspace_bytes: mlp_argument = 31;
pub const MLP_ARG_count: mlp_argument = 32;
pub const MLP_ARG_state_dim: mlp_argument = 33;
pub const MLP_ARG_action_dim: mlp_argument = 34;
pub const MLP_ARG_state_stride: mlp_argument = 35;
pub const MLP_ARG_action_stride: mlp_argument = 36;
pub const MLP_ARG_next_stride: mlp_argument = 37;
pub const MLP_ARG_state: mlp_argument = 38;
pub const MLP_ARG_action: mlp_argument = 39;
pub const MLP_ARG_action_index: mlp_argument = 40;
pub const MLP_ARG_next_state: mlp_argument = 41;
pub const MLP_ARG_reward: mlp_argument = 42;
pub const MLP_ARG_loss: mlp_argument = 43;
pub const MLP_ARG_status: mlp_argument = 44;
pub const MLP_ARG_h_dim: mlp_argument = 45;
pub const MLP_ARG_isv_dim: mlp_argument = 46;
pub const MLP_ARG_h_stride: mlp_argument = 47;
pub const MLP_ARG_isv_stride: mlp_argument = 48;
pub const MLP_ARG_error_stride: mlp_argument = 49;
pub const MLP_ARG_h: mlp_argument = 50;
pub const MLP_ARG_isv: mlp_argument = 51;
pub const MLP_ARG_error: mlp_argument = 52;
pub type mlp_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlp_forward_params {
    pub struct_size: u32,
    pub activation1: i32,
    pub activation2: i32,
    pub residual: i32,
    pub path: i32,
    pub slope1: f32,
    pub slope2: f32,
    pub batch: i64,
    pub inputs: i64,
    pub hidden: i64,
    pub outputs: i64,
    pub x_stride: i64,
    pub y_stride: i64,
    pub x: *const f32,
    pub w1: *const f32,
    pub b1: *const f32,
    pub w2: *const f32,
    pub b2: *const f32,
    pub y: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of mlp_forward_params"][::std::mem::size_of::<mlp_forward_params>() - 128usize];
    ["Alignment of mlp_forward_params"][::std::mem::align_of::<mlp_forward_params>() - 8usize];
    ["Offset of field: mlp_forward_params::struct_size"]
        [::std::mem::offset_of!(mlp_forward_params, struct_size) - 0usize];
    ["Offset of field: mlp_forward_params::activation1"]
        [::std::mem::offset_of!(mlp_forward_params, activation1) - 4usize];
    ["Offset of field: mlp_forward_params::activation2"]
        [::std::mem::offset_of!(mlp_forward_params, activation2) - 8usize];
    ["Offset of field: mlp_forward_params::residual"]
        [::std::mem::offset_of!(mlp_forward_params, residual) - 12usize];
    ["Offset of field: mlp_forward_params::path"]
        [::std::mem::offset_of!(mlp_forward_params, path) - 16usize];
    ["Offset of field: mlp_forward_params::slope1"]
        [::std::mem::offset_of!(mlp_forward_params, slope1) - 20usize];
    ["Offset of field: mlp_forward_params::slope2"]
        [::std::mem::offset_of!(mlp_forward_params, slope2) - 24usize];
    ["Offset of field: mlp_forward_params::batch"]
        [::std::mem::offset_of!(mlp_forward_params, batch) - 32usize];
    ["Offset of field: mlp_forward_params::inputs"]
        [::std::mem::offset_of!(mlp_forward_params, inputs) - 40usize];
    ["Offset of field: mlp_forward_params::hidden"]
        [::std::mem::offset_of!(mlp_forward_params, hidden) - 48usize];
    ["Offset of field: mlp_forward_params::outputs"]
        [::std::mem::offset_of!(mlp_forward_params, outputs) - 56usize];
    ["Offset of field: mlp_forward_params::x_stride"]
        [::std::mem::offset_of!(mlp_forward_params, x_stride) - 64usize];
    ["Offset of field: mlp_forward_params::y_stride"]
        [::std::mem::offset_of!(mlp_forward_params, y_stride) - 72usize];
    ["Offset of field: mlp_forward_params::x"]
        [::std::mem::offset_of!(mlp_forward_params, x) - 80usize];
    ["Offset of field: mlp_forward_params::w1"]
        [::std::mem::offset_of!(mlp_forward_params, w1) - 88usize];
    ["Offset of field: mlp_forward_params::b1"]
        [::std::mem::offset_of!(mlp_forward_params, b1) - 96usize];
    ["Offset of field: mlp_forward_params::w2"]
        [::std::mem::offset_of!(mlp_forward_params, w2) - 104usize];
    ["Offset of field: mlp_forward_params::b2"]
        [::std::mem::offset_of!(mlp_forward_params, b2) - 112usize];
    ["Offset of field: mlp_forward_params::y"]
        [::std::mem::offset_of!(mlp_forward_params, y) - 120usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlp_backward_params {
    pub struct_size: u32,
    pub activation1: i32,
    pub activation2: i32,
    pub residual: i32,
    pub path: i32,
    pub slope1: f32,
    pub slope2: f32,
    pub beta: f32,
    pub batch: i64,
    pub inputs: i64,
    pub hidden: i64,
    pub outputs: i64,
    pub x_stride: i64,
    pub dy_stride: i64,
    pub dx_stride: i64,
    pub x: *const f32,
    pub w1: *const f32,
    pub b1: *const f32,
    pub w2: *const f32,
    pub b2: *const f32,
    pub dy: *const f32,
    pub d_w1: *mut f32,
    pub d_b1: *mut f32,
    pub d_w2: *mut f32,
    pub d_b2: *mut f32,
    pub dx: *mut f32,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of mlp_backward_params"][::std::mem::size_of::<mlp_backward_params>() - 192usize];
    ["Alignment of mlp_backward_params"][::std::mem::align_of::<mlp_backward_params>() - 8usize];
    ["Offset of field: mlp_backward_params::struct_size"]
        [::std::mem::offset_of!(mlp_backward_params, struct_size) - 0usize];
    ["Offset of field: mlp_backward_params::activation1"]
        [::std::mem::offset_of!(mlp_backward_params, activation1) - 4usize];
    ["Offset of field: mlp_backward_params::activation2"]
        [::std::mem::offset_of!(mlp_backward_params, activation2) - 8usize];
    ["Offset of field: mlp_backward_params::residual"]
        [::std::mem::offset_of!(mlp_backward_params, residual) - 12usize];
    ["Offset of field: mlp_backward_params::path"]
        [::std::mem::offset_of!(mlp_backward_params, path) - 16usize];
    ["Offset of field: mlp_backward_params::slope1"]
        [::std::mem::offset_of!(mlp_backward_params, slope1) - 20usize];
    ["Offset of field: mlp_backward_params::slope2"]
        [::std::mem::offset_of!(mlp_backward_params, slope2) - 24usize];
    ["Offset of field: mlp_backward_params::beta"]
        [::std::mem::offset_of!(mlp_backward_params, beta) - 28usize];
    ["Offset of field: mlp_backward_params::batch"]
        [::std::mem::offset_of!(mlp_backward_params, batch) - 32usize];
    ["Offset of field: mlp_backward_params::inputs"]
        [::std::mem::offset_of!(mlp_backward_params, inputs) - 40usize];
    ["Offset of field: mlp_backward_params::hidden"]
        [::std::mem::offset_of!(mlp_backward_params, hidden) - 48usize];
    ["Offset of field: mlp_backward_params::outputs"]
        [::std::mem::offset_of!(mlp_backward_params, outputs) - 56usize];
    ["Offset of field: mlp_backward_params::x_stride"]
        [::std::mem::offset_of!(mlp_backward_params, x_stride) - 64usize];
    ["Offset of field: mlp_backward_params::dy_stride"]
        [::std::mem::offset_of!(mlp_backward_params, dy_stride) - 72usize];
    ["Offset of field: mlp_backward_params::dx_stride"]
        [::std::mem::offset_of!(mlp_backward_params, dx_stride) - 80usize];
    ["Offset of field: mlp_backward_params::x"]
        [::std::mem::offset_of!(mlp_backward_params, x) - 88usize];
    ["Offset of field: mlp_backward_params::w1"]
        [::std::mem::offset_of!(mlp_backward_params, w1) - 96usize];
    ["Offset of field: mlp_backward_params::b1"]
        [::std::mem::offset_of!(mlp_backward_params, b1) - 104usize];
    ["Offset of field: mlp_backward_params::w2"]
        [::std::mem::offset_of!(mlp_backward_params, w2) - 112usize];
    ["Offset of field: mlp_backward_params::b2"]
        [::std::mem::offset_of!(mlp_backward_params, b2) - 120usize];
    ["Offset of field: mlp_backward_params::dy"]
        [::std::mem::offset_of!(mlp_backward_params, dy) - 128usize];
    ["Offset of field: mlp_backward_params::d_w1"]
        [::std::mem::offset_of!(mlp_backward_params, d_w1) - 136usize];
    ["Offset of field: mlp_backward_params::d_b1"]
        [::std::mem::offset_of!(mlp_backward_params, d_b1) - 144usize];
    ["Offset of field: mlp_backward_params::d_w2"]
        [::std::mem::offset_of!(mlp_backward_params, d_w2) - 152usize];
    ["Offset of field: mlp_backward_params::d_b2"]
        [::std::mem::offset_of!(mlp_backward_params, d_b2) - 160usize];
    ["Offset of field: mlp_backward_params::dx"]
        [::std::mem::offset_of!(mlp_backward_params, dx) - 168usize];
    ["Offset of field: mlp_backward_params::workspace"]
        [::std::mem::offset_of!(mlp_backward_params, workspace) - 176usize];
    ["Offset of field: mlp_backward_params::workspace_bytes"]
        [::std::mem::offset_of!(mlp_backward_params, workspace_bytes) - 184usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlp_curiosity_params {
    pub struct_size: u32,
    pub activation1: i32,
    pub activation2: i32,
    pub path: i32,
    pub slope1: f32,
    pub slope2: f32,
    pub beta: f32,
    pub batch: i64,
    pub state_dim: i64,
    pub action_dim: i64,
    pub hidden: i64,
    pub outputs: i64,
    pub state_stride: i64,
    pub action_stride: i64,
    pub next_stride: i64,
    pub state: *const f32,
    pub action: *const f32,
    pub action_index: *const i32,
    pub next_state: *const f32,
    pub w1: *const f32,
    pub b1: *const f32,
    pub w2: *const f32,
    pub b2: *const f32,
    pub reward: *mut f32,
    pub loss: *mut f32,
    pub d_w1: *mut f32,
    pub d_b1: *mut f32,
    pub d_w2: *mut f32,
    pub d_b2: *mut f32,
    pub status: *mut u32,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of mlp_curiosity_params"][::std::mem::size_of::<mlp_curiosity_params>() - 232usize];
    ["Alignment of mlp_curiosity_params"][::std::mem::align_of::<mlp_curiosity_params>() - 8usize];
    ["Offset of field: mlp_curiosity_params::struct_size"]
        [::std::mem::offset_of!(mlp_curiosity_params, struct_size) - 0usize];
    ["Offset of field: mlp_curiosity_params::activation1"]
        [::std::mem::offset_of!(mlp_curiosity_params, activation1) - 4usize];
    ["Offset of field: mlp_curiosity_params::activation2"]
        [::std::mem::offset_of!(mlp_curiosity_params, activation2) - 8usize];
    ["Offset of field: mlp_curiosity_params::path"]
        [::std::mem::offset_of!(mlp_curiosity_params, path) - 12usize];
    ["Offset of field: mlp_curiosity_params::slope1"]
        [::std::mem::offset_of!(mlp_curiosity_params, slope1) - 16usize];
    ["Offset of field: mlp_curiosity_params::slope2"]
        [::std::mem::offset_of!(mlp_curiosity_params, slope2) - 20usize];
    ["Offset of field: mlp_curiosity_params::beta"]
        [::std::mem::offset_of!(mlp_curiosity_params, beta) - 24usize];
    ["Offset of field: mlp_curiosity_params::batch"]
        [::std::mem::offset_of!(mlp_curiosity_params, batch) - 32usize];
    ["Offset of field: mlp_curiosity_params::state_dim"]
        [::std::mem::offset_of!(mlp_curiosity_params, state_dim) - 40usize];
    ["Offset of field: mlp_curiosity_params::action_dim"]
        [::std::mem::offset_of!(mlp_curiosity_params, action_dim) - 48usize];
    ["Offset of field: mlp_curiosity_params::hidden"]
        [::std::mem::offset_of!(mlp_curiosity_params, hidden) - 56usize];
    ["Offset of field: mlp_curiosity_params::outputs"]
        [::std::mem::offset_of!(mlp_curiosity_params, outputs) - 64usize];
    ["Offset of field: mlp_curiosity_params::state_stride"]
        [::std::mem::offset_of!(mlp_curiosity_params, state_stride) - 72usize];
    ["Offset of field: mlp_curiosity_params::action_stride"]
        [::std::mem::offset_of!(mlp_curiosity_params, action_stride) - 80usize];
    ["Offset of field: mlp_curiosity_params::next_stride"]
        [::std::mem::offset_of!(mlp_curiosity_params, next_stride) - 88usize];
    ["Offset of field: mlp_curiosity_params::state"]
        [::std::mem::offset_of!(mlp_curiosity_params, state) - 96usize];
    ["Offset of field: mlp_curiosity_params::action"]
        [::std::mem::offset_of!(mlp_curiosity_params, action) - 104usize];
    ["Offset of field: mlp_curiosity_params::action_index"]
        [::std::mem::offset_of!(mlp_curiosity_params, action_index) - 112usize];
    ["Offset of field: mlp_curiosity_params::next_state"]
        [::std::mem::offset_of!(mlp_curiosity_params, next_state) - 120usize];
    ["Offset of field: mlp_curiosity_params::w1"]
        [::std::mem::offset_of!(mlp_curiosity_params, w1) - 128usize];
    ["Offset of field: mlp_curiosity_params::b1"]
        [::std::mem::offset_of!(mlp_curiosity_params, b1) - 136usize];
    ["Offset of field: mlp_curiosity_params::w2"]
        [::std::mem::offset_of!(mlp_curiosity_params, w2) - 144usize];
    ["Offset of field: mlp_curiosity_params::b2"]
        [::std::mem::offset_of!(mlp_curiosity_params, b2) - 152usize];
    ["Offset of field: mlp_curiosity_params::reward"]
        [::std::mem::offset_of!(mlp_curiosity_params, reward) - 160usize];
    ["Offset of field: mlp_curiosity_params::loss"]
        [::std::mem::offset_of!(mlp_curiosity_params, loss) - 168usize];
    ["Offset of field: mlp_curiosity_params::d_w1"]
        [::std::mem::offset_of!(mlp_curiosity_params, d_w1) - 176usize];
    ["Offset of field: mlp_curiosity_params::d_b1"]
        [::std::mem::offset_of!(mlp_curiosity_params, d_b1) - 184usize];
    ["Offset of field: mlp_curiosity_params::d_w2"]
        [::std::mem::offset_of!(mlp_curiosity_params, d_w2) - 192usize];
    ["Offset of field: mlp_curiosity_params::d_b2"]
        [::std::mem::offset_of!(mlp_curiosity_params, d_b2) - 200usize];
    ["Offset of field: mlp_curiosity_params::status"]
        [::std::mem::offset_of!(mlp_curiosity_params, status) - 208usize];
    ["Offset of field: mlp_curiosity_params::workspace"]
        [::std::mem::offset_of!(mlp_curiosity_params, workspace) - 216usize];
    ["Offset of field: mlp_curiosity_params::workspace_bytes"]
        [::std::mem::offset_of!(mlp_curiosity_params, workspace_bytes) - 224usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct mlp_risk_params {
    pub struct_size: u32,
    pub path: i32,
    pub batch: i64,
    pub h_dim: i64,
    pub isv_dim: i64,
    pub hidden: i64,
    pub outputs: i64,
    pub h_stride: i64,
    pub isv_stride: i64,
    pub error_stride: i64,
    pub y_stride: i64,
    pub h: *const f32,
    pub isv: *const f32,
    pub error: *const f32,
    pub w1: *const f32,
    pub b1: *const f32,
    pub w2: *const f32,
    pub b2: *const f32,
    pub y: *mut f32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of mlp_risk_params"][::std::mem::size_of::<mlp_risk_params>() - 144usize];
    ["Alignment of mlp_risk_params"][::std::mem::align_of::<mlp_risk_params>() - 8usize];
    ["Offset of field: mlp_risk_params::struct_size"]
        [::std::mem::offset_of!(mlp_risk_params, struct_size) - 0usize];
    ["Offset of field: mlp_risk_params::path"]
        [::std::mem::offset_of!(mlp_risk_params, path) - 4usize];
    ["Offset of field: mlp_risk_params::batch"]
        [::std::mem::offset_of!(mlp_risk_params, batch) - 8usize];
    ["Offset of field: mlp_risk_params::h_dim"]
        [::std::mem::offset_of!(mlp_risk_params, h_dim) - 16usize];
    ["Offset of field: mlp_risk_params::isv_dim"]
        [::std::mem::offset_of!(mlp_risk_params, isv_dim) - 24usize];
    ["Offset of field: mlp_risk_params::hidden"]
        [::std::mem::offset_of!(mlp_risk_params, hidden) - 32usize];
    ["Offset of field: mlp_risk_params::outputs"]
        [::std::mem::offset_of!(mlp_risk_params, outputs) - 40usize];
    ["Offset of field: mlp_risk_params::h_stride"]
        [::std::mem::offset_of!(mlp_risk_params, h_stride) - 48usize];
    ["Offset of field: mlp_risk_params::isv_stride"]
        [::std::mem::offset_of!(mlp_risk_params, isv_stride) - 56usize];
    ["Offset of field: mlp_risk_params::error_stride"]
        [::std::mem::offset_of!(mlp_risk_params, error_stride) - 64usize];
    ["Offset of field: mlp_risk_params::y_stride"]
        [::std::mem::offset_of!(mlp_risk_params, y_stride) - 72usize];
    ["Offset of field: mlp_risk_params::h"][::std::mem::offset_of!(mlp_risk_params, h) - 80usize];
    ["Offset of field: mlp_risk_params::isv"]
        [::std::mem::offset_of!(mlp_risk_params, isv) - 88usize];
    ["Offset of field: mlp_risk_params::error"]
        [::std::mem::offset_of!(mlp_risk_params, error) - 96usize];
    ["Offset of field: mlp_risk_params::w1"]
        [::std::mem::offset_of!(mlp_risk_params, w1) - 104usize];
    ["Offset of field: mlp_risk_params::b1"]
        [::std::mem::offset_of!(mlp_risk_params, b1) - 112usize];
    ["Offset of field: mlp_risk_params::w2"]
        [::std::mem::offset_of!(mlp_risk_params, w2) - 120usize];
    ["Offset of field: mlp_risk_params::b2"]
        [::std::mem::offset_of!(mlp_risk_params, b2) - 128usize];
    ["Offset of field: mlp_risk_params::y"][::std::mem::offset_of!(mlp_risk_params, y) - 136usize];
};
unsafe extern "C" {
    pub fn mlp_abi_version() -> u32;
    pub fn mlp_build_info() -> *const ::std::os::raw::c_char;
    pub fn mlp_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn mlp_device_status_string(status: u32) -> *const ::std::os::raw::c_char;
    pub fn mlp_forward_f32(
        params: *const mlp_forward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_backward_workspace_bytes(params: *const mlp_backward_params) -> usize;
    pub fn mlp_backward_nodes(params: *const mlp_backward_params) -> ::std::os::raw::c_int;
    pub fn mlp_backward_f32(
        params: *const mlp_backward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_curiosity_workspace_bytes(params: *const mlp_curiosity_params) -> usize;
    pub fn mlp_curiosity_nodes(params: *const mlp_curiosity_params) -> ::std::os::raw::c_int;
    pub fn mlp_curiosity_step_f32(
        params: *const mlp_curiosity_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_risk_forward_f32(
        params: *const mlp_risk_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_forward_group_f32(
        params: *const mlp_forward_params,
        count: i32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_backward_group_f32(
        params: *const mlp_backward_params,
        count: i32,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_baseline_risk_forward(
        params: *const mlp_risk_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_baseline_backward(
        params: *const mlp_backward_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn mlp_baseline_curiosity_step(
        params: *const mlp_curiosity_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type mlp_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type mlp_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type mlp_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type mlp_device_status_string_fn =
    unsafe extern "C" fn(status: u32) -> *const ::std::os::raw::c_char;
pub type mlp_forward_f32_fn = unsafe extern "C" fn(
    params: *const mlp_forward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_backward_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const mlp_backward_params) -> usize;
pub type mlp_backward_nodes_fn =
    unsafe extern "C" fn(params: *const mlp_backward_params) -> ::std::os::raw::c_int;
pub type mlp_backward_f32_fn = unsafe extern "C" fn(
    params: *const mlp_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_curiosity_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const mlp_curiosity_params) -> usize;
pub type mlp_curiosity_nodes_fn =
    unsafe extern "C" fn(params: *const mlp_curiosity_params) -> ::std::os::raw::c_int;
pub type mlp_curiosity_step_f32_fn = unsafe extern "C" fn(
    params: *const mlp_curiosity_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_risk_forward_f32_fn = unsafe extern "C" fn(
    params: *const mlp_risk_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_forward_group_f32_fn = unsafe extern "C" fn(
    params: *const mlp_forward_params,
    count: i32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_backward_group_f32_fn = unsafe extern "C" fn(
    params: *const mlp_backward_params,
    count: i32,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_baseline_risk_forward_fn = unsafe extern "C" fn(
    params: *const mlp_risk_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_baseline_backward_fn = unsafe extern "C" fn(
    params: *const mlp_backward_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type mlp_baseline_curiosity_step_fn = unsafe extern "C" fn(
    params: *const mlp_curiosity_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
