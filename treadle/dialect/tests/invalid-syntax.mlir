// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0, %ctl0 = Op : () -> (tensor<f32>)
  // expected-error @+1 {{found 2 input types for 1 data operands}}
  %ctl1 = Op(%0) : tensor<f32>, tensor<f32>
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{'name' is given twice}}
  %ctl = Op name("a") name("b")
}

// -----

// expected-error @+1 {{found #tfg.shape, expected #tfg.version or #tfg.region_attrs; other attributes are #tf_type.shape}}
module attributes {tfg.x = #tfg.shape<2>} {}

// -----

// expected-error @+1 {{found !tfg.string, expected !tfg.control or !tfg.tensor; other types are !tf_type.string}}
module attributes {tfg.x = !tfg.string} {}

// -----

// expected-error @+1 {{subtype 'tensor<index>' is not a TensorFlow dtype}}
module attributes {tfg.x = !tf_type.resource<tensor<index>>} {}

// -----

// expected-error @+1 {{expected non-function type}}
module attributes {tfg.x = !tf_type.variant<>} {}

// -----

// expected-error @+1 {{expected 'producer' in tf_type version}}
module attributes {tfg.x = #tf_type.version<>} {}

// -----

// expected-error @+1 {{found "f", expected a symbol (@f) or ""}}
module attributes {tfg.x = #tf_type.func<"f", {}>} {}

// -----

// expected-error @+1 {{'tensr' is not a full type id, expected a name such as 'tensor' or 'product', or a number}}
module attributes {tfg.x = #tf_type.full_type<product<tensr>>} {}

// -----

// expected-error @+1 {{the value of a full type is 1.000000e+00 : f64, expected a string or a 64-bit integer}}
module attributes {tfg.x = #tf_type.full_type<var 1.0>} {}

// -----

// expected-error @+1 {{found "0801", expected "0x" and hex digits}}
module attributes {tfg.x = #tf_type.message<"AttrValue" = "0801">} {}

// -----

// expected-error @+1 {{found "0x080", expected two hex digits for every byte}}
module attributes {tfg.x = #tf_type.message<"AttrValue" = "0x080">} {}

// -----

// expected-error @+1 {{a tensor_proto has no tensor type, expected one after it: #tf_type<tensor_proto : "0x..."> : tensor<2xf32>}}
module attributes {tfg.x = #tf_type<tensor_proto : "0x08">} {}
