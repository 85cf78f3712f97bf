// RUN: treadle-opt --tfg-remove-quantization %s | FileCheck %s
// RUN: treadle-opt '--tfg-remove-quantization=feeds=q:0' %s | FileCheck %s --check-prefix=FED

// CHECK: %[[X:.*]], %[[XC:.*]] = Placeholder name("x")
// CHECK: Identity(%[[X]]) [%[[XC]]] device("/CPU:0") name("fake") {T = f32}
// CHECK: QuantizeV2(
// CHECK: Identity(%{{Identity.*}}) name("d") {T = f32}
// CHECK: Identity(%{{.*}}) name("both")
// CHECK: Dequantize(%{{.*}}) name("alone")
// FED: Dequantize(%{{.*}}) name("d")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<?x2>} : () -> (tensor<?x2xf32>)
  %l, %lc = Const name("l") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %h, %hc = Const name("h") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %f, %fc = FakeQuantWithMinMaxVars(%x, %l, %h) [%xc] device("/CPU:0") name("fake") {narrow_range = false, num_bits = 8 : i64} : (tensor<?x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<?x2xf32>)
  %q:3, %qc = QuantizeV2(%f, %l, %h) name("q") {T = !tf_type.quint8, axis = -1 : i64, ensure_minimum_range = 0.01 : f32, mode = "MIN_COMBINED", narrow_range = false, round_mode = "HALF_AWAY_FROM_ZERO"} : (tensor<?x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<?x2x!tf_type.quint8>, tensor<f32>, tensor<f32>)
  %d, %dc = Dequantize(%q#0, %q#1, %q#2) name("d") {T = !tf_type.quint8, axis = -1 : i64, dtype = f32, mode = "MIN_COMBINED", narrow_range = false} : (tensor<?x2x!tf_type.quint8>, tensor<f32>, tensor<f32>) -> (tensor<?x2xf32>)
  %b, %bc = QuantizeAndDequantizeV2(%d, %l, %h) name("both") {T = f32, axis = -1 : i64, narrow_range = false, num_bits = 8 : i64, range_given = false, round_mode = "HALF_TO_EVEN", signed_input = true} : (tensor<?x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<?x2xf32>)
  %p, %pc = Placeholder name("p") {dtype = !tf_type.quint8, shape = #tf_type.shape<2>} : () -> (tensor<2x!tf_type.quint8>)
  %a, %ac = Dequantize(%p, %l, %h) name("alone") {T = !tf_type.quint8, axis = -1 : i64, dtype = f32, mode = "MIN_COMBINED", narrow_range = false} : (tensor<2x!tf_type.quint8>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>)
}
