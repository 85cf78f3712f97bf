// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s

// The input of a collective doesn't wait for nodes that could run during it, and nodes that don't
// use its result don't wait for it, although edges connect all of them. Soft edges count too.
// CHECK: PartitionedCall(%{{.*}}) name("cluster") {Tin = [f32], Tout = [f32], _cluster
// CHECK: PartitionedCall(%{{.*}}) name("cluster_1")
// CHECK: CollectiveReduceV2
// CHECK: PartitionedCall(%{{.*}}, %{{.*}}) name("cluster_2")
// CHECK: PartitionedCall(%{{.*}}) name("cluster_3") {{.*}}_soft_inputs = ["sum"]
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<8>} : () -> (tensor<8xf32>)
  %n, %nc = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %a0, %a0_c = Neg(%x) name("a0") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %a1, %a1_c = Tanh(%a0) name("a1") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %a2, %a2_c = Abs(%a1) name("a2") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %a3, %a3_c = Exp(%a2) name("a3") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %a4, %a4_c = Sin(%a3) name("a4") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %b0, %b0_c = Neg(%a4) name("b0") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %b1, %b1_c = Tanh(%b0) name("b1") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %b2, %b2_c = Abs(%b1) name("b2") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %b3, %b3_c = Exp(%b2) name("b3") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %b4, %b4_c = Sin(%b3) name("b4") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %s, %sc = CollectiveReduceV2(%a4, %n, %n, %n) name("sum") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  %c0, %c0_c = AddV2(%s, %b4) name("c0") {T = f32} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)
  %c1, %c1_c = Tanh(%c0) name("c1") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %c2, %c2_c = Abs(%c1) name("c2") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %c3, %c3_c = Exp(%c2) name("c3") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %c4, %c4_c = Sin(%c3) name("c4") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %d0, %d0_c = Neg(%b4) name("d0") {T = f32, _soft_inputs = ["sum"]} : (tensor<8xf32>) -> (tensor<8xf32>)
  %d1, %d1_c = Tanh(%d0) name("d1") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %d2, %d2_c = Abs(%d1) name("d2") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %d3, %d3_c = Exp(%d2) name("d3") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %d4, %d4_c = Sin(%d3) name("d4") {T = f32} : (tensor<8xf32>) -> (tensor<8xf32>)
  %e, %ec = StringFormat(%c4, %d4) name("e") {T = [f32, f32], template = "%%", placeholder = "%", summarize = 3 : i64} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<!tf_type.string>)
}
