// RUN: treadle-opt --tfg-v1-to-functional %s | FileCheck %s
// RUN: treadle-opt "--tfg-v1-to-functional=keep=neg" %s 2>&1 | FileCheck %s --check-prefix=KEEP

// Values that the branches use are passed once; the pivot that the constant depended on is removed.
// CHECK-LABEL: tfg.graph
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// CHECK: %[[P:.*]], %{{.*}} = Placeholder name("p")
// CHECK: %[[IF:.*]], %{{.*}} = StatelessIf(%[[P]], %[[X]]) name("cond") {
// CHECK-SAME: else_branch = #tf_type.func<@cond_false, {}>
// CHECK-SAME: then_branch = #tf_type.func<@cond_true, {}>
// CHECK: Identity(%[[IF]]) name("cond/Merge")
// CHECK-NOT: Switch
// CHECK: tfg.func @cond_true(%[[B:.*]]: tensor<f32> {tfg.name = "x"})
// CHECK: %[[N:.*]], %{{.*}} = Neg(%[[B]]) name("neg")
// CHECK: %[[C:.*]], %{{.*}} = Const name("c")
// CHECK: %[[S:.*]], %{{.*}} = Sub(%[[N]], %[[C]])
// CHECK: return(%[[S]])
// CHECK: tfg.func @cond_false(%[[A:.*]]: tensor<f32>
// CHECK: return(%[[A]])

// KEEP: remark: conditional of node 'pivot' isn't converted: node 'neg' must be kept
// KEEP: Merge({{.*}}) name("cond/Merge")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %pivot:2, %pivotc = Switch(%p, %p) name("pivot") {T = i1} : (tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<i1>)
  %t, %tc = Identity(%pivot#1) name("switch_t") {T = i1} : (tensor<i1>) -> (tensor<i1>)
  %id, %idc = Identity(%p) name("pred_id") {T = i1} : (tensor<i1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%x, %id) name("cond/Switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %n, %nc = Neg(%s#1) name("neg") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %c, %cc = Const [%tc] name("c") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %sub, %subc = Sub(%n, %c) name("sub") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %m:2, %mc = Merge(%s#0, %sub) name("cond/Merge") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
}
