// RUN: treadle-opt --tfg-prune-arguments %s | FileCheck %s
// RUN: treadle-opt "--tfg-prune-arguments=graph" %s | FileCheck %s --check-prefix=GRAPH

// An unused result of a node of the graph stays unless the option is set. The call has a side
// effect and waits for its operands.
// CHECK-LABEL: tfg.graph
// CHECK: %[[U:.*]], %[[UC:.*]] = Neg({{.*}}) name("unused")
// CHECK: StatefulPartitionedCall(%[[X:.*]]) [%[[UC]]] name("call") {Tin = [f32], Tout = [f32, f32]
// CHECK: While(%{{.*}}, %{{.*}}, %{{.*}}) name("loop")
// GRAPH: StatefulPartitionedCall({{.*}}) [%{{.*}}] name("call") {Tin = [f32], Tout = [f32]
// GRAPH-NEXT: Const
// GRAPH-NEXT: %[[W:.*]]:2, %{{.*}} = StatelessWhile(%{{.*}}, %[[S:.*]]) name("loop") {T = [i32, f32], body
// GRAPH-SAME: output_shapes = [#tf_type.shape<>, #tf_type.shape<>]
// GRAPH: Neg(%[[W]]#1) name("user")
// GRAPH-LABEL: tfg.func @cond
// GRAPH-SAME: %i: tensor<i32>
// GRAPH-NEXT: %s: tensor<f32>
// GRAPH-NOT: name = "dead"
// GRAPH-NOT: name("next")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %u, %uc = Neg(%x) name("unused") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %y:2, %yc = StatefulPartitionedCall(%x, %u) name("call") {Tin = [f32, f32], Tout = [f32, f32], f = #tf_type.func<@f, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %i, %ic = Const name("i") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %w:3, %wc = StatelessWhile(%i, %x, %y#0) name("loop") {T = [i32, f32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [#tf_type.shape<>, #tf_type.shape<>, #tf_type.shape<>], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>)
  %z, %zc = Neg(%w#2) name("user") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
tfg.func @f(%x: tensor<f32> {tfg.name = "x"}, %u: tensor<f32> {tfg.name = "u"}) -> (tensor<f32> {tfg.name = "y"}, tensor<f32> {tfg.name = "z"}) {
  %a = Assert(%t, %x) name("assert") {T = [f32], summarize = 3 : i64} : tensor<i1>, tensor<f32>
  %t, %tc = Const name("t") {dtype = i1, value = dense<true> : tensor<i1>} : () -> (tensor<i1>)
  %n, %nc = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m, %mc = Neg(%u) name("m") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n, %n) : tensor<f32>, tensor<f32>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %dead: tensor<f32> {tfg.name = "dead"}, %s: tensor<f32> {tfg.name = "s"}) -> (tensor<i1> {tfg.name = "r"}) {
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %r, %rc = Greater(%i, %zero) name("r") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%r) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %dead: tensor<f32> {tfg.name = "dead"}, %s: tensor<f32> {tfg.name = "s"}) -> (tensor<i32> {tfg.name = "i1"}, tensor<f32> {tfg.name = "dead1"}, tensor<f32> {tfg.name = "s1"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %n, %nc = Sub(%i, %one) name("dec") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %d, %dc = Neg(%dead) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %t, %tc = Neg(%s) name("neg") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%n, %d, %t) : tensor<i32>, tensor<f32>, tensor<f32>
}
