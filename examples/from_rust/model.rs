//! A model that is loaded once and called as often as you like.
use crate::c::*;
use crate::floats::Floats;
use std::ptr::{null, null_mut};

/// Owns a model, and frees it when it is dropped.
pub struct Model(Handle);

// The library lets any number of threads call one model.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    pub fn load(path: &str) -> Result<Model, String> {
        let mut model = null_mut();
        check(unsafe { treadle_model_load(c_string(path)?.as_ptr(), null(), &mut model) })?;
        Ok(Model(model))
    }

    pub fn signatures(&self) -> Vec<String> {
        let count = unsafe { treadle_model_num_signatures(self.0) };
        let name = |index| string(unsafe { treadle_model_signature(self.0, index) });
        (0..count).map(name).collect()
    }

    /// Calls a signature with its only input, and returns one of its outputs.
    pub fn call(
        &self,
        name: &str,
        input: &str,
        x: &Floats,
        output: &str,
    ) -> Result<Floats, String> {
        let texts = (c_string(name)?, c_string(input)?, c_string(output)?);
        let (name, input, output) = (texts.0.as_ptr(), texts.1.as_ptr(), texts.2.as_ptr());
        let (x, mut y) = (x.handle(), null_mut());
        unsafe {
            check(treadle_model_call(
                self.0, name, 1, &input, &x, 1, &output, &mut y,
            ))?;
            Floats::from_handle(y)
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { treadle_model_free(self.0) }
    }
}
