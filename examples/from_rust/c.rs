//! The functions of treadle/c.h that treadle.rs calls, and their errors.
use std::ffi::{c_char, c_void, CStr, CString};

pub type Text = *const c_char;
pub type Handle = *mut c_void;

#[link(name = "treadle")]
extern "C" {
    fn treadle_status_message(status: Handle) -> Text;
    fn treadle_status_free(status: Handle);

    pub fn treadle_array_make(dtype: i32, rank: i32, dims: *const i64, to: *mut Handle) -> Handle;
    pub fn treadle_array_dtype(array: Handle) -> i32;
    pub fn treadle_array_count(array: Handle) -> i64;
    pub fn treadle_array_data(array: Handle) -> *const c_void;
    pub fn treadle_array_mutable_data(array: Handle) -> *mut c_void;
    pub fn treadle_array_free(array: Handle);

    pub fn treadle_model_load(path: Text, options: *const c_void, to: *mut Handle) -> Handle;
    pub fn treadle_model_num_signatures(model: Handle) -> i32;
    pub fn treadle_model_signature(model: Handle, index: i32) -> Text;
    pub fn treadle_model_call(
        model: Handle,
        signature: Text,
        num_inputs: usize,
        inputs: *const Text,
        input_values: *const Handle,
        num_outputs: usize,
        outputs: *const Text,
        results: *mut Handle,
    ) -> Handle;
    pub fn treadle_model_free(model: Handle);
}

pub fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("{text:?} has a zero in it"))
}

pub fn string(text: Text) -> String {
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// An error with the message of the status; null is success.
pub fn check(status: Handle) -> Result<(), String> {
    if status.is_null() {
        return Ok(());
    }
    let message = string(unsafe { treadle_status_message(status) });
    unsafe { treadle_status_free(status) };
    Err(message)
}
