// RUN: treadle-opt '--tfg-place=rules="MatMul|Conv.*=/gpu:0;name:^loop/=/job:w/task:0"' %s | FileCheck %s

// CHECK: Placeholder name("x")
// CHECK: VarHandleOp device("/job:w/task:0") name("v")
// CHECK: ReadVariableOp({{.*}}) device("/job:w/task:0") name("loop/read")
// CHECK: AssignVariableOp({{.*}}) device("/job:w/task:0") name("assign")
// CHECK: MatMul({{.*}}) device("/device:GPU:0") name("loop/product")
// CHECK: Neg({{.*}}) device("/device:GPU:0") name("n")
// CHECK: MatMul({{.*}}) device("/CPU:0") name("placed")
// CHECK: Abs({{.*}}) device("/CPU:0") name("with")
// CHECK: Abs({{.*}}) device("/CPU:1") name("beside")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2x2>} : () -> (tensor<2x2xf32>)
  %v, %vc = VarHandleOp name("v") {allowed_devices = [], container = "", debug_name = "", dtype = f32, shape = #tf_type.shape<2x2>, shared_name = "v"} : () -> (tensor<!tf_type.resource<tensor<2x2xf32>>>)
  %r, %rc = ReadVariableOp(%v) name("loop/read") {dtype = f32} : (tensor<!tf_type.resource<tensor<2x2xf32>>>) -> (tensor<2x2xf32>)
  %ac = AssignVariableOp(%v, %x) name("assign") {dtype = f32, validate_shape = false} : tensor<!tf_type.resource<tensor<2x2xf32>>>, tensor<2x2xf32>
  %p, %pc = MatMul(%x, %r) name("loop/product") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %n, %nc = Neg(%p) name("n") {T = f32, _class = ["loc:@loop/product"]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %q, %qc = MatMul(%x, %r) device("/CPU:0") name("placed") {T = f32, grad_a = false, grad_b = false, transpose_a = false, transpose_b = false} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %a, %aac = Abs(%q) name("with") {T = f32, _class = ["loc:@placed"]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %b, %bc = Abs(%q) device("/CPU:1") name("beside") {T = f32, _class = ["loc:@placed"]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
}
