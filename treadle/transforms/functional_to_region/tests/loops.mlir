// RUN: treadle-opt --tfg-functional-to-region %s | FileCheck %s

// Arguments of loops stay arguments: values, then tokens.
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "c"}) {
  return(%v) [%i.ctl] : tensor<f32>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<f32> {tfg.name = "v"})
     -> (tensor<i32> {tfg.name = "i_r"}, tensor<f32> {tfg.name = "v_r"}) {
  %Neg, %ctl = Neg(%v) [%i.ctl] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%i, %Neg) [%v.ctl] : tensor<i32>, tensor<f32>
}
tfg.func @step(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "v_r"}) {
  return(%v) [%i.ctl] : tensor<f32>
}

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %i, %ci = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
  %v, %cv = Placeholder name("v") {dtype = f32} : () -> (tensor<f32>)
  // A predicate that isn't boolean is converted.
  // CHECK: StatelessWhileRegion(%[[I:.*]], %[[V:.*]]) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<i32>, %[[B:.*]]: tensor<f32>, %[[AC:.*]]: !tf_type.control, %{{.*}}: !tf_type.control):
  // CHECK-NEXT: %[[P:.*]], %{{.*}} = ToBool(%[[B]]) name("v/ToBool") {T = f32, tfg.region_predicate}
  // CHECK-NEXT: condition %[[P]] : tensor<i1> (%[[A]], %[[B]]) [%[[AC]]] : tensor<i32>, tensor<f32>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<i32>, %[[B:.*]]: tensor<f32>, %[[AC:.*]]: !tf_type.control, %[[BC:.*]]: !tf_type.control):
  // CHECK-NEXT: %[[NEG:.*]], %{{.*}} = Neg(%[[B]]) [%[[AC]]] name("n")
  // CHECK-NEXT: yield(%[[A]], %[[NEG]]) [%[[BC]]] : tensor<i32>, tensor<f32>
  // CHECK-NEXT: } {_mlir_name = "w", body_attrs = {}, body_region_attrs = #tfg.region_attrs<{sym_name = "body"} [{tfg.name = "i"}, {tfg.name = "v"}] [{tfg.name = "i_r"}, {tfg.name = "v_r"}]>,
  // CHECK-SAME: cond_attrs = {}, cond_region_attrs = #tfg.region_attrs<{sym_name = "cond"} [{tfg.name = "i"}, {tfg.name = "v"}] [{tfg.name = "c"}]>,
  // CHECK-SAME: parallel_iterations = 4 : i64}
  %w:2, %cw = StatelessWhile(%i, %v) name("w")
      {T = [i32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, parallel_iterations = 4 : i64}
      : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  // CHECK: ForRegion(%{{.*}}#1) from %[[I]] to %[[I]] by %[[I]] {
  // CHECK-NEXT: ^bb0(%[[N:.*]]: tensor<i32>, %[[B:.*]]: tensor<f32>, %[[NC:.*]]: !tf_type.control, %{{.*}}: !tf_type.control):
  // CHECK-NEXT: yield(%[[B]]) [%[[NC]]] : tensor<f32>
  // CHECK-NEXT: } {_mlir_name = "f", body_attrs = {}, region_attrs = #tfg.region_attrs<{sym_name = "step"}
  %f, %cf = For(%i, %i, %i, %w#1) name("f") {T = [f32], body = #tf_type.func<@step, {}>}
      : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
}
