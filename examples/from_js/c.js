// The functions of treadle/c.h that model.js calls, and their errors.
import koffi from "koffi";

const library = koffi.load("libtreadle.so"); // found by LD_LIBRARY_PATH
for (const name of ["status", "array", "model"]) koffi.opaque(`treadle_${name}`);

/** Declares `RESULT *treadle_NAME(PARAMETERS)`. */
const declare = (result, name, parameters) =>
  library.func(`${result} treadle_${name}(${parameters})`);

const statusMessage = declare("const char *", "status_message", "treadle_status *");
const statusFree = declare("void", "status_free", "treadle_status *");

/** Declares a function that can fail: then it throws the message of the status. */
function declareChecked(name, parameters) {
  const call = declare("treadle_status *", name, parameters);
  return (...given) => {
    const status = call(...given);
    if (status === null) return;
    const message = statusMessage(status);
    statusFree(status);
    throw new Error(message);
  };
}

export const arrayMake = declareChecked(
  "array_make",
  "int32_t dtype, int32_t rank, const int64_t *dims, _Out_ treadle_array **array",
);
export const arrayDtype = declare("int32_t", "array_dtype", "treadle_array *");
export const arrayCount = declare("int64_t", "array_count", "treadle_array *");
export const arrayData = declare("void *", "array_data", "treadle_array *");
export const arrayMutableData = declare("void *", "array_mutable_data", "treadle_array *");
export const arrayFree = declare("void", "array_free", "treadle_array *");

export const modelLoad = declareChecked(
  "model_load",
  "const char *path, void *options, _Out_ treadle_model **model",
);
export const modelNumSignatures = declare("int32_t", "model_num_signatures", "treadle_model *");
export const modelSignature = declare(
  "const char *",
  "model_signature",
  "treadle_model *, int32_t index",
);
export const modelCall = declareChecked(
  "model_call",
  `treadle_model *, const char *signature,
   size_t num_inputs, const char **inputs, treadle_array **input_values,
   size_t num_outputs, const char **outputs, _Out_ treadle_array **results`,
);
export const modelFree = declare("void", "model_free", "treadle_model *");
