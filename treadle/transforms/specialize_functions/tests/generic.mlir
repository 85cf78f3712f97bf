// Calls of a generic function with equal attributes share a copy; unused functions are removed.
// RUN: treadle-opt --tfg-specialize-functions %s | FileCheck %s
// RUN: treadle-opt --tfg-specialize-functions %s | FileCheck %s --check-prefix=SUM

// CHECK-LABEL: tfg.graph
// CHECK: twice_T_f32(%{{.*}}) name("a") {_mark = true} :
// CHECK: twice_T_f32(%{{.*}}) name("b") :
// CHECK: PartitionedCall(%{{.*}}) name("c") {{.*}}f = #tf_type.func<@twice_T_i32, {}>
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %i, %ic = Placeholder name("i") {dtype = i32} : () -> (tensor<*xi32>)
  %a, %ac = twice(%x) name("a") {T = f32, _mark = true} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %bc = twice(%a) name("b") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %c, %cc = PartitionedCall(%i) name("c") {Tin = [i32], Tout = [i32], config = "", config_proto = "", executor_type = "", f = #tf_type.func<@twice, {T = i32}>} : (tensor<*xi32>) -> (tensor<*xi32>)
}
// CHECK-NOT: @twice(
// CHECK-DAG: tfg.func @twice_T_f32(%a: tensor<*xf32> {tfg.name = "a"})
// CHECK-DAG: tfg.func @twice_T_i32(%a: tensor<*xi32> {tfg.name = "a"})
// SUM:      tfg.func @sum_N_2_T_f32(%v_0: tensor<*xf32> {tfg.name = "v_0"},
// SUM-NEXT: %v_1: tensor<*xf32> {tfg.name = "v_1"})
// SUM:      AddN(%v_0, %v_1) [%{{.*}}] name("n") {N = 2 : i64, T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
tfg.func generic @twice(%a: !tf_type.tensor {tfg.name = "a", tfg.type_attr = "T"}) -> (!tf_type.tensor {tfg.name = "b", tfg.type_attr = "T"}) {
  %s, %sc = sum(%a, %a) name("s") {T = #tf_type.placeholder<"T">, N = 2 : i64} : (!tf_type.tensor, !tf_type.tensor) -> (!tf_type.tensor)
  %0 = get_result(%s) "r" : 0
  return(%0) : !tf_type.tensor
}
tfg.func generic @sum(%v: !tf_type.tensor {tfg.name = "v", tfg.number_attr = "N", tfg.type_attr = "T"}) -> (!tf_type.tensor {tfg.name = "r", tfg.type_attr = "T"}) {
  %n, %nc = AddN(%v) [%u] name("n") {T = #tf_type.placeholder<"T">, N = #tf_type.placeholder<"N">} : (!tf_type.tensor) -> (!tf_type.tensor)
  %u = NoOp name("u")
  %0 = get_result(%n) "sum" : 0
  return(%0) : !tf_type.tensor
}
