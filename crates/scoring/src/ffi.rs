//! Declarations of include/scoring.h. `cargo xtask codegen` writes this file.

pub const CS_ABI_VERSION: u32 = 1;
pub const CS_MAX_TOP_K: u32 = 32;
pub const CS_MAX_ONE_NODE_K: u32 = 4096;
pub const CS_MAX_SPREAD_CANDIDATES: u32 = 8192;
pub const CS_MAX_SWEEP_K: u32 = 65536;
pub const CS_F32: cs_dtype = 0;
pub const CS_BF16: cs_dtype = 1;
pub const CS_F16: cs_dtype = 2;
pub type cs_dtype = ::std::os::raw::c_uint;
pub const CS_DOT: cs_similarity = 0;
pub const CS_COSINE: cs_similarity = 1;
pub type cs_similarity = ::std::os::raw::c_uint;
pub const CS_DENSE: cs_layout = 0;
pub const CS_RAGGED: cs_layout = 1;
pub const CS_SHARED: cs_layout = 2;
pub const CS_INDEXED: cs_layout = 3;
pub type cs_layout = ::std::os::raw::c_uint;
pub const CS_PATH_AUTO: cs_path = 0;
pub const CS_PATH_BLOCK: cs_path = 1;
pub const CS_PATH_CLUSTER_2: cs_path = 2;
pub const CS_PATH_CLUSTER_4: cs_path = 4;
pub const CS_PATH_CLUSTER_8: cs_path = 8;
pub const CS_PATH_CLUSTER_16: cs_path = 16;
pub const CS_PATH_SPREAD: cs_path = 32;
pub const CS_PATH_TWO_NODES: cs_path = 33;
pub const CS_PATH_SWEEP: cs_path = 34;
pub type cs_path = ::std::os::raw::c_uint;
pub const CS_DEVICE_OK: cs_device_status = 0;
pub const CS_DEVICE_BAD_OFFSETS: cs_device_status = 1;
pub const CS_DEVICE_BAD_INDEX: cs_device_status = 2;
pub const CS_DEVICE_BAD_TEMPERATURE: cs_device_status = 3;
pub type cs_device_status = ::std::os::raw::c_uint;
pub const CS_ARG_params: cs_argument = 1;
pub const CS_ARG_struct_size: cs_argument = 2;
pub const CS_ARG_dtype: cs_argument = 3;
pub const CS_ARG_similarity: cs_argument = 4;
pub const CS_ARG_layout: cs_argument = 5;
pub const CS_ARG_path: cs_argument = 6;
pub const CS_ARG_top_k: cs_argument = 7;
pub const CS_ARG_questions: cs_argument = 8;
pub const CS_ARG_max_k: cs_argument = 9;
pub const CS_ARG_sum_k: cs_argument = 10;
pub const CS_ARG_table_rows: cs_argument = 11;
pub const CS_ARG_dim: cs_argument = 12;
pub const CS_ARG_query_stride: cs_argument = 13;
pub const CS_ARG_candidate_stride: cs_argument = 14;
pub const CS_ARG_question_stride: cs_argument = 15;
pub const CS_ARG_scale: cs_argument = 16;
pub const CS_ARG_temperature: cs_argument = 17;
pub const CS_ARG_eps: cs_argument = 18;
pub const CS_ARG_queries: cs_argument = 19;
pub const CS_ARG_candidates: cs_argument = 20;
pub const CS_ARG_offsets: cs_argument = 21;
pub const CS_ARG_indices: cs_argument = 22;
pub const CS_ARG_mask: cs_argument = 23;
pub const CS_ARG_bias: cs_argument = 24;
pub const CS_ARG_scales: cs_argument = 25;
pub const CS_ARG_temperatures: cs_argument = 26;
pub const CS_ARG_query_inverse_norms: cs_argument = 27;
pub const CS_ARG_candidate_inverse_norms: cs_argument = 28;
pub const CS_ARG_probabilities: cs_argument = 29;
pub const CS_ARG_logits: cs_argument = 30;
pub const CS_ARG_log_probabilities: cs_argument = 31;
pub const CS_ARG_log_sum_exp: cs_argument = 32;
pub const CS_ARG_argmax: cs_argument = 33;
pub const CS_ARG_top_values: cs_argument = 34;
pub const CS_ARG_top_indices: cs_argument = 35;
pub const CS_ARG_expected_index: cs_argument = 36;
pub const CS_ARG_status: cs_argument = 37;
pub const CS_ARG_workspace: cs_argument = 38;
pub const CS_ARG_workspace_bytes: cs_argument = 39;
pub const CS_ARG_threads: cs_argument = 40;
pub const CS_ARG_normalize: cs_argument = 41;
pub type cs_argument = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cs_score_params {
    pub struct_size: u32,
    pub dtype: i32,
    pub similarity: i32,
    pub layout: i32,
    pub path: i32,
    pub top_k: i32,
    pub questions: i64,
    pub max_k: i64,
    pub sum_k: i64,
    pub table_rows: i64,
    pub dim: i64,
    pub query_stride: i64,
    pub candidate_stride: i64,
    pub question_stride: i64,
    pub scale: f32,
    pub temperature: f32,
    pub eps: f32,
    pub reserved: f32,
    pub queries: *const ::std::os::raw::c_void,
    pub candidates: *const ::std::os::raw::c_void,
    pub offsets: *const i32,
    pub indices: *const i32,
    pub mask: *const u8,
    pub bias: *const f32,
    pub scales: *const f32,
    pub temperatures: *const f32,
    pub query_inverse_norms: *const f32,
    pub candidate_inverse_norms: *const f32,
    pub probabilities: *mut f32,
    pub logits: *mut f32,
    pub log_probabilities: *mut f32,
    pub log_sum_exp: *mut f32,
    pub argmax: *mut i32,
    pub top_values: *mut f32,
    pub top_indices: *mut i32,
    pub expected_index: *mut f32,
    pub status: *mut u32,
    pub workspace: *mut ::std::os::raw::c_void,
    pub workspace_bytes: usize,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cs_score_params"][::std::mem::size_of::<cs_score_params>() - 272usize];
    ["Alignment of cs_score_params"][::std::mem::align_of::<cs_score_params>() - 8usize];
    ["Offset of field: cs_score_params::struct_size"]
        [::std::mem::offset_of!(cs_score_params, struct_size) - 0usize];
    ["Offset of field: cs_score_params::dtype"]
        [::std::mem::offset_of!(cs_score_params, dtype) - 4usize];
    ["Offset of field: cs_score_params::similarity"]
        [::std::mem::offset_of!(cs_score_params, similarity) - 8usize];
    ["Offset of field: cs_score_params::layout"]
        [::std::mem::offset_of!(cs_score_params, layout) - 12usize];
    ["Offset of field: cs_score_params::path"]
        [::std::mem::offset_of!(cs_score_params, path) - 16usize];
    ["Offset of field: cs_score_params::top_k"]
        [::std::mem::offset_of!(cs_score_params, top_k) - 20usize];
    ["Offset of field: cs_score_params::questions"]
        [::std::mem::offset_of!(cs_score_params, questions) - 24usize];
    ["Offset of field: cs_score_params::max_k"]
        [::std::mem::offset_of!(cs_score_params, max_k) - 32usize];
    ["Offset of field: cs_score_params::sum_k"]
        [::std::mem::offset_of!(cs_score_params, sum_k) - 40usize];
    ["Offset of field: cs_score_params::table_rows"]
        [::std::mem::offset_of!(cs_score_params, table_rows) - 48usize];
    ["Offset of field: cs_score_params::dim"]
        [::std::mem::offset_of!(cs_score_params, dim) - 56usize];
    ["Offset of field: cs_score_params::query_stride"]
        [::std::mem::offset_of!(cs_score_params, query_stride) - 64usize];
    ["Offset of field: cs_score_params::candidate_stride"]
        [::std::mem::offset_of!(cs_score_params, candidate_stride) - 72usize];
    ["Offset of field: cs_score_params::question_stride"]
        [::std::mem::offset_of!(cs_score_params, question_stride) - 80usize];
    ["Offset of field: cs_score_params::scale"]
        [::std::mem::offset_of!(cs_score_params, scale) - 88usize];
    ["Offset of field: cs_score_params::temperature"]
        [::std::mem::offset_of!(cs_score_params, temperature) - 92usize];
    ["Offset of field: cs_score_params::eps"]
        [::std::mem::offset_of!(cs_score_params, eps) - 96usize];
    ["Offset of field: cs_score_params::reserved"]
        [::std::mem::offset_of!(cs_score_params, reserved) - 100usize];
    ["Offset of field: cs_score_params::queries"]
        [::std::mem::offset_of!(cs_score_params, queries) - 104usize];
    ["Offset of field: cs_score_params::candidates"]
        [::std::mem::offset_of!(cs_score_params, candidates) - 112usize];
    ["Offset of field: cs_score_params::offsets"]
        [::std::mem::offset_of!(cs_score_params, offsets) - 120usize];
    ["Offset of field: cs_score_params::indices"]
        [::std::mem::offset_of!(cs_score_params, indices) - 128usize];
    ["Offset of field: cs_score_params::mask"]
        [::std::mem::offset_of!(cs_score_params, mask) - 136usize];
    ["Offset of field: cs_score_params::bias"]
        [::std::mem::offset_of!(cs_score_params, bias) - 144usize];
    ["Offset of field: cs_score_params::scales"]
        [::std::mem::offset_of!(cs_score_params, scales) - 152usize];
    ["Offset of field: cs_score_params::temperatures"]
        [::std::mem::offset_of!(cs_score_params, temperatures) - 160usize];
    ["Offset of field: cs_score_params::query_inverse_norms"]
        [::std::mem::offset_of!(cs_score_params, query_inverse_norms) - 168usize];
    ["Offset of field: cs_score_params::candidate_inverse_norms"]
        [::std::mem::offset_of!(cs_score_params, candidate_inverse_norms) - 176usize];
    ["Offset of field: cs_score_params::probabilities"]
        [::std::mem::offset_of!(cs_score_params, probabilities) - 184usize];
    ["Offset of field: cs_score_params::logits"]
        [::std::mem::offset_of!(cs_score_params, logits) - 192usize];
    ["Offset of field: cs_score_params::log_probabilities"]
        [::std::mem::offset_of!(cs_score_params, log_probabilities) - 200usize];
    ["Offset of field: cs_score_params::log_sum_exp"]
        [::std::mem::offset_of!(cs_score_params, log_sum_exp) - 208usize];
    ["Offset of field: cs_score_params::argmax"]
        [::std::mem::offset_of!(cs_score_params, argmax) - 216usize];
    ["Offset of field: cs_score_params::top_values"]
        [::std::mem::offset_of!(cs_score_params, top_values) - 224usize];
    ["Offset of field: cs_score_params::top_indices"]
        [::std::mem::offset_of!(cs_score_params, top_indices) - 232usize];
    ["Offset of field: cs_score_params::expected_index"]
        [::std::mem::offset_of!(cs_score_params, expected_index) - 240usize];
    ["Offset of field: cs_score_params::status"]
        [::std::mem::offset_of!(cs_score_params, status) - 248usize];
    ["Offset of field: cs_score_params::workspace"]
        [::std::mem::offset_of!(cs_score_params, workspace) - 256usize];
    ["Offset of field: cs_score_params::workspace_bytes"]
        [::std::mem::offset_of!(cs_score_params, workspace_bytes) - 264usize];
};
unsafe extern "C" {
    pub fn cs_abi_version() -> u32;
    pub fn cs_build_info() -> *const ::std::os::raw::c_char;
    pub fn cs_error_string(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
    pub fn cs_device_status_string(status: u32) -> *const ::std::os::raw::c_char;
    pub fn cs_score_workspace_bytes(params: *const cs_score_params) -> usize;
    pub fn cs_score(
        params: *const cs_score_params,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn cs_score_candidates_batch(
        queries: *const f32,
        candidates: *const f32,
        probabilities: *mut f32,
        logits: *mut f32,
        questions: ::std::os::raw::c_int,
        max_k: ::std::os::raw::c_int,
        dim: ::std::os::raw::c_int,
        scale: f32,
        temperature: f32,
        normalize: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn cs_score_candidates(
        query: *const f32,
        candidates: *const f32,
        probabilities: *mut f32,
        logits: *mut f32,
        max_k: ::std::os::raw::c_int,
        dim: ::std::os::raw::c_int,
        scale: f32,
        temperature: f32,
        normalize: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn cs_baseline_one_block(
        queries: *const f32,
        candidates: *const f32,
        probabilities: *mut f32,
        questions: ::std::os::raw::c_int,
        max_k: ::std::os::raw::c_int,
        dim: ::std::os::raw::c_int,
        scale: f32,
        temperature: f32,
        normalize: ::std::os::raw::c_int,
        threads: ::std::os::raw::c_int,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
    pub fn cs_baseline_unfused(
        queries: *const f32,
        candidates: *const f32,
        probabilities: *mut f32,
        questions: ::std::os::raw::c_int,
        max_k: ::std::os::raw::c_int,
        dim: ::std::os::raw::c_int,
        scale: f32,
        temperature: f32,
        normalize: ::std::os::raw::c_int,
        workspace: *mut ::std::os::raw::c_void,
        workspace_bytes: usize,
        stream: *mut ::std::os::raw::c_void,
    ) -> ::std::os::raw::c_int;
}
pub type cs_abi_version_fn = unsafe extern "C" fn() -> u32;
pub type cs_build_info_fn = unsafe extern "C" fn() -> *const ::std::os::raw::c_char;
pub type cs_error_string_fn =
    unsafe extern "C" fn(code: ::std::os::raw::c_int) -> *const ::std::os::raw::c_char;
pub type cs_device_status_string_fn =
    unsafe extern "C" fn(status: u32) -> *const ::std::os::raw::c_char;
pub type cs_score_workspace_bytes_fn =
    unsafe extern "C" fn(params: *const cs_score_params) -> usize;
pub type cs_score_fn = unsafe extern "C" fn(
    params: *const cs_score_params,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type cs_score_candidates_batch_fn = unsafe extern "C" fn(
    queries: *const f32,
    candidates: *const f32,
    probabilities: *mut f32,
    logits: *mut f32,
    questions: ::std::os::raw::c_int,
    max_k: ::std::os::raw::c_int,
    dim: ::std::os::raw::c_int,
    scale: f32,
    temperature: f32,
    normalize: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type cs_score_candidates_fn = unsafe extern "C" fn(
    query: *const f32,
    candidates: *const f32,
    probabilities: *mut f32,
    logits: *mut f32,
    max_k: ::std::os::raw::c_int,
    dim: ::std::os::raw::c_int,
    scale: f32,
    temperature: f32,
    normalize: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type cs_baseline_one_block_fn = unsafe extern "C" fn(
    queries: *const f32,
    candidates: *const f32,
    probabilities: *mut f32,
    questions: ::std::os::raw::c_int,
    max_k: ::std::os::raw::c_int,
    dim: ::std::os::raw::c_int,
    scale: f32,
    temperature: f32,
    normalize: ::std::os::raw::c_int,
    threads: ::std::os::raw::c_int,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
pub type cs_baseline_unfused_fn = unsafe extern "C" fn(
    queries: *const f32,
    candidates: *const f32,
    probabilities: *mut f32,
    questions: ::std::os::raw::c_int,
    max_k: ::std::os::raw::c_int,
    dim: ::std::os::raw::c_int,
    scale: f32,
    temperature: f32,
    normalize: ::std::os::raw::c_int,
    workspace: *mut ::std::os::raw::c_void,
    workspace_bytes: usize,
    stream: *mut ::std::os::raw::c_void,
) -> ::std::os::raw::c_int;
