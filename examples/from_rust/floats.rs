//! Arrays of floats: what a model takes and returns.
use crate::c::*;
use std::ptr::null_mut;

const FLOAT32: i32 = 1;

/// Owns an array, and frees it when it is dropped.
pub struct Floats(Handle);

impl Floats {
    /// A vector: an array with one dimension.
    pub fn new(elements: &[f32]) -> Result<Floats, String> {
        let dims = [elements.len() as i64];
        let mut array = null_mut();
        check(unsafe { treadle_array_make(FLOAT32, 1, dims.as_ptr(), &mut array) })?;
        let floats = Floats(array);
        let data = unsafe { treadle_array_mutable_data(array) }.cast();
        unsafe {
            elements
                .as_ptr()
                .copy_to_nonoverlapping(data, elements.len())
        };
        Ok(floats)
    }

    /// Takes ownership of an array that the library has allocated; no other code may free it.
    pub unsafe fn from_handle(array: Handle) -> Result<Floats, String> {
        let floats = Floats(array);
        match treadle_array_dtype(array) {
            FLOAT32 => Ok(floats),
            other => Err(format!(
                "the array has dtype {other}, expected {FLOAT32} (float32)"
            )),
        }
    }

    pub fn handle(&self) -> Handle {
        self.0
    }

    pub fn as_slice(&self) -> &[f32] {
        let count = unsafe { treadle_array_count(self.0) } as usize;
        unsafe { std::slice::from_raw_parts(treadle_array_data(self.0).cast(), count) }
    }
}

impl Drop for Floats {
    fn drop(&mut self) {
        unsafe { treadle_array_free(self.0) }
    }
}
