// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s

// The enqueue must not wait for the dequeue, although the sum connects both.
// CHECK: PartitionedCall(%{{.*}}) name("cluster") {Tin = [f32], Tout = [f32], _cluster
// CHECK: QueueEnqueueV2
// CHECK: QueueDequeueV2
// CHECK: PartitionedCall(%{{.*}}, %{{.*}}) name("cluster_1") {Tin = [f32, f32], Tout = [f32]
// After a Switch, values may be dead: one branch must not keep the other from running.
// CHECK: Switch
// CHECK: PartitionedCall(%{{.*}}) name("cluster_2")
// CHECK: PartitionedCall(%{{.*}}) name("cluster_3")
// CHECK: Merge
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %q, %qc = FIFOQueueV2 name("q") {capacity = 1 : i64, component_types = [f32], container = "", shapes = [#tf_type.shape<>], shared_name = "q"} : () -> (tensor<!tf_type.resource>)
  %a0, %a0_c = Neg(%x) name("a0") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a1, %a1_c = Tanh(%a0) name("a1") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a2, %a2_c = Abs(%a1) name("a2") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a3, %a3_c = Exp(%a2) name("a3") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a4, %a4_c = Sin(%a3) name("a4") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a5, %a5_c = Cos(%a4) name("a5") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %in = QueueEnqueueV2(%q, %a5) name("in") {Tcomponents = [f32], timeout_ms = -1 : i64} : tensor<!tf_type.resource>, tensor<f32>
  %out, %oc = QueueDequeueV2(%q) name("out") {component_types = [f32], timeout_ms = -1 : i64} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  %b0, %b0_c = Neg(%out) name("b0") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b1, %b1_c = Tanh(%b0) name("b1") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b2, %b2_c = Abs(%b1) name("b2") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b3, %b3_c = Exp(%b2) name("b3") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b4, %b4_c = Sin(%b3) name("b4") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %d, %dc = AddV2(%b4, %a5) name("d") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %sink, %sinkc = StringFormat(%d) name("sink") {T = [f32], template = "%", placeholder = "%", summarize = 3 : i64} : (tensor<f32>) -> (tensor<!tf_type.string>)

  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %n0, %n0_c = Neg(%s#0) name("n0") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %n1, %n1_c = Tanh(%n0) name("n1") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %n2, %n2_c = Abs(%n1) name("n2") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %n3, %n3_c = Exp(%n2) name("n3") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %n4, %n4_c = Sin(%n3) name("n4") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %n5, %n5_c = Cos(%n4) name("n5") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y0, %y0_c = Neg(%s#1) name("y0") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y1, %y1_c = Tanh(%y0) name("y1") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y2, %y2_c = Abs(%y1) name("y2") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y3, %y3_c = Exp(%y2) name("y3") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y4, %y4_c = Sin(%y3) name("y4") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y5, %y5_c = Cos(%y4) name("y5") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m:2, %mc = Merge(%n5, %y5) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
}
