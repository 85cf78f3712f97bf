// RUN: treadle-opt --tf-executor-to-tfg %s | FileCheck %s

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// CHECK-LABEL: tfg.func @attributes
func.func private @attributes(%x: tensor<f32>, %r: tensor<!tf_type.f32ref>, %h: tensor<!tf_type.resource<tensor<f32>>>) attributes {tf.signature.is_stateful} {
  tf_executor.graph {
    // Attributes that the types imply, including those of references and handles.
    // CHECK: Identity(%{{.*}}) name("a") {T = f32}
    %a, %c0 = tf_executor.island wraps "tf.Identity"(%r) {device = ""} : (tensor<!tf_type.f32ref>) -> tensor<f32> loc("a")
    // CHECK: Identity(%{{.*}}) name("b") {T = !tf_type.resource}
    %b, %c1 = tf_executor.island wraps "tf.Identity"(%h) {device = ""} : (tensor<!tf_type.resource<tensor<f32>>>) -> tensor<!tf_type.resource<tensor<f32>>> loc("b")
    // CHECK: DynamicStitch(%{{.*}}) name("c") {N = 2 : i64, T = f32}
    %i, %c2 = tf_executor.island wraps "tf.Const"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32> loc("i")
    %c, %c3 = tf_executor.island wraps "tf.DynamicStitch"(%i, %i, %x, %x) : (tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<*xf32> loc("c")
    // Properties; attributes that only the dialect has are dropped.
    // CHECK: ParseExampleV2({{.*}}) name("d") {Tdense = [f32], dense_shapes = [#tf_type.shape<1>], num_sparse = 1 : i64, ragged_split_types = [], ragged_value_types = [], sparse_types = [i64]}
    %s, %c4 = tf_executor.island wraps "tf.Const"() {value = dense<"s"> : tensor<1x!tf_type.string>} : () -> tensor<1x!tf_type.string> loc("s")
    %d:4, %c5 = tf_executor.island wraps "tf.ParseExampleV2"(%s, %s, %s, %s, %s, %x) <{dense_shapes = [#tf_type.shape<1>], num_sparse = 1 : i64, resultSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}> {device = ""} : (tensor<1x!tf_type.string>, tensor<1x!tf_type.string>, tensor<1x!tf_type.string>, tensor<1x!tf_type.string>, tensor<1x!tf_type.string>, tensor<f32>) -> (tensor<?x2xi64>, tensor<?xi64>, tensor<2xi64>, tensor<1x1xf32>) loc("d")
    // CHECK: StatelessWhile(%{{.*}}) name("e") {T = [f32], body = #tf_type.func<@f, {}>, cond = #tf_type.func<@f, {}>, parallel_iterations = 10 : i64}
    %e, %c6 = tf_executor.island wraps "tf.While"(%x) <{body = @f, cond = @f, is_stateless = true, parallel_iterations = 10 : i64, shape_invariant}> {T = [f32], device = ""} : (tensor<f32>) -> tensor<f32> loc("e")
    // CHECK: If({{.*}}) name("g") {Tcond = f32, Tin = [], Tout = [f32], else_branch = #tf_type.func<@f, {}>, then_branch = #tf_type.func<@f, {x = 1 : i64}>}
    %g, %c7 = tf_executor.island wraps "tf.If"(%x) {then_branch = @f, then_branch.x = 1 : i64, else_branch = @f, is_stateless = false} : (tensor<f32>) -> tensor<f32> loc("g")
    // CHECK: Case({{.*}}) name("k") {Tin = [], Tout = [f32], branches = [#tf_type.func<@f, {}>, #tf_type.func<@f, {}>]}
    %k, %c8 = tf_executor.island wraps "tf.Case"(%i) {branches = [@f, @f], is_stateless = false} : (tensor<i32>) -> tensor<f32> loc("k")
    // CHECK: f(%{{.*}}) name("l") {a = 1 : i64}
    %l, %c9 = tf_executor.island wraps "tf.LegacyCall"(%x) {a = 1 : i64, f = @f} : (tensor<f32>) -> tensor<f32> loc("l")
    // Stated attributes stay.
    // CHECK: Mystery(%{{.*}}) name("m") {T = "any"}
    %m, %c10 = tf_executor.island wraps "tf.Mystery"(%x) {T = "any"} : (tensor<f32>) -> tensor<f32> loc("m")
    // CHECK: RefSwitch(%{{.*}}) name("n") {T = f32}
    %p, %c11 = tf_executor.island wraps "tf.Const"() {value = dense<true> : tensor<i1>} : () -> tensor<i1> loc("p")
    %n0, %n1, %c12 = tf_executor.Switch %r, %p : tensor<!tf_type.f32ref> loc("n")
    tf_executor.fetch
  }
  return
}
