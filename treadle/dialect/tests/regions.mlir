// RUN: treadle-opt %s | treadle-opt | FileCheck %s

// Every region op in its printed form.

// CHECK: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %ctl = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %i, %ctl_i = Placeholder name("i") {dtype = i32} : () -> (tensor<i32>)
  %x, %ctl_x = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)

  // CHECK: %[[IF:.*]], %{{.*}} = IfRegion %[[P:.*]] [%[[CTL:.*]]] then {
  // CHECK-NEXT: %[[NEG:.*]], %[[NEG_CTL:.*]] = Neg(%[[X:.*]]) [%[[CTL]]] name("n")
  // CHECK-NEXT: yield(%[[NEG]]) [%[[NEG_CTL]]] : tensor<*xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: yield(%[[X]]) : tensor<*xf32>
  // CHECK-NEXT: } {_mlir_name = "if"} : (tensor<i1>) -> tensor<*xf32>
  %IfRegion, %ctl_if = IfRegion %p [%ctl] then {
    %Neg, %ctl_n = Neg(%x) [%ctl] name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
    yield(%Neg) [%ctl_n] : tensor<*xf32>
  } else {
    yield(%x) : tensor<*xf32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<*xf32>

  // CHECK: CaseRegion %{{.*}} {
  // CHECK-NEXT: yield(%[[IF]])
  // CHECK-NEXT: }, {
  // CHECK-NEXT: %[[A:.*]], %{{.*}} = Abs(%[[B:.*]]) name("a")
  // CHECK-NEXT: %[[B]], %{{.*}} = Abs(%[[X]]) name("b")
  // CHECK-NEXT: yield(%[[A]])
  // CHECK-NEXT: } {branch_attrs = [{}, {}]} : (tensor<i32>) -> tensor<*xf32>
  %CaseRegion, %ctl_case = CaseRegion %i {
    yield(%IfRegion) : tensor<*xf32>
  }, {
    %a, %ctl_a = Abs(%b) name("a") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
    %b, %ctl_b = Abs(%x) name("b") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
    yield(%a) : tensor<*xf32>
  } {branch_attrs = [{}, {}]} : (tensor<i32>) -> (tensor<*xf32>)

  // CHECK: %[[WHILE:.*]]:2, %{{.*}} = WhileRegion(%{{.*}}, %[[X]]) [%[[CTL]]] {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i32>, %[[V:.*]]: tensor<*xf32>, %[[IC:.*]]: !tf_type.control, %[[VC:.*]]: !tf_type.control):
  // CHECK-NEXT: %[[LESS:.*]], %[[LESS_CTL:.*]] = Less(%[[I]], %{{.*}}) name("less")
  // CHECK-NEXT: condition %[[LESS]] : tensor<i1> (%[[I]], %[[V]]) [%[[LESS_CTL]]] : tensor<i32>, tensor<*xf32>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: ^bb0(%[[I:.*]]: tensor<i32>, %[[V:.*]]: tensor<*xf32>, %[[IC:.*]]: !tf_type.control, %[[VC:.*]]: !tf_type.control):
  // CHECK-NEXT: %[[NEG:.*]], %{{.*}} = Neg(%[[V]]) [%[[IC]]]
  // CHECK-NEXT: yield(%[[I]], %[[NEG]]) [%[[VC]]] : tensor<i32>, tensor<*xf32>
  // CHECK-NEXT: } {body_region_attrs = #tfg.region_attrs<{sym_name = "body"} [{tfg.name = "a"}, {}] [{}, {tfg.name = "r"}]>, parallel_iterations = 10 : i64} : (tensor<i32>, tensor<*xf32>) -> (tensor<i32>, tensor<*xf32>)
  %WhileRegion:2, %ctl_while = WhileRegion(%i, %x) [%ctl] {
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<*xf32>, %arg2: !tf_type.control, %arg3: !tfg.control):
    %Less, %ctl_l = Less(%arg0, %i) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    condition %Less : tensor<i1> (%arg0, %arg1) [%ctl_l] : tensor<i32>, tensor<*xf32>
  } do {
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<*xf32>, %arg2: !tf_type.control, %arg3: !tf_type.control):
    %Neg, %ctl_n = Neg(%arg1) [%arg2] name("n") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
    yield(%arg0, %Neg) [%arg3] : tensor<i32>, tensor<*xf32>
  } {parallel_iterations = 10 : i64,
     body_region_attrs = #tfg.region_attrs<{sym_name = "body"} [{tfg.name = "a"}, {}] [{}, {tfg.name = "r"}]>}
    : (tensor<i32>, tensor<*xf32>) -> (tensor<i32>, tensor<*xf32>)

  // CHECK: ForRegion(%[[WHILE]]#1) from %[[S:.*]] to %[[S]] by %[[S]] {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %[[V:.*]]: tensor<*xf32>, %[[IC:.*]]: !tf_type.control, %{{.*}}: !tf_type.control):
  // CHECK-NEXT: yield(%[[V]]) [%[[IC]]] : tensor<*xf32>
  // CHECK-NEXT: } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>)
  %ForRegion, %ctl_for = ForRegion(%WhileRegion#1) from %i to %i by %i {
  ^bb0(%arg0: tensor<i32>, %arg1: tensor<*xf32>, %arg2: !tf_type.control, %arg3: !tf_type.control):
    yield(%arg1) [%arg2] : tensor<*xf32>
  } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>)
}

// Regions without values.
// CHECK-LABEL: tfg.func @empty
tfg.func @empty(%p: tensor<i1> {tfg.name = "p"}, %i: tensor<i32> {tfg.name = "i"}) {
  // CHECK: %[[C0:.*]] = StatefulIfRegion %p [%i.ctl] then {
  // CHECK-NEXT: yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT: yield [%p.ctl]
  // CHECK-NEXT: } : (tensor<i1>) -> ()
  %c0 = StatefulIfRegion %p [%i.ctl] then {
    yield
  } else {
    yield [%p.ctl]
  } : (tensor<i1>) -> ()
  // CHECK: %[[C1:.*]] = WhileRegion {
  // CHECK-NEXT: condition %p : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: yield
  // CHECK-NEXT: } {parallel_iterations = 1 : i64}
  %c1 = WhileRegion {
    condition %p : tensor<i1>
  } do {
    yield
  } {parallel_iterations = 1 : i64}
  // CHECK: ForRegion [%[[C1]]] from %i to %i by %i {
  // CHECK: } : (tensor<i32>, tensor<i32>, tensor<i32>)
  %c2 = ForRegion [%c1] from %i to %i by %i {
  ^bb0(%n: tensor<i32>, %n_ctl: !tf_type.control):
    yield
  } : (tensor<i32>, tensor<i32>, tensor<i32>)
  return [%c0, %c2]
}

// The other forms differ only by name. Without an arrow, a loop's types hold for both sides.
// CHECK-LABEL: tfg.func @forms
tfg.func @forms(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // CHECK: StatelessIfRegion
  %a, %c0 = StatelessIfRegion %p then { yield(%x) : tensor<f32> } else { yield(%x) : tensor<f32> } : (tensor<i1>) -> (tensor<f32>)
  // CHECK: StatelessCaseRegion
  %b, %c1 = StatelessCaseRegion %i { yield(%a) : tensor<f32> } : (tensor<i32>) -> (tensor<f32>)
  // CHECK: StatefulCaseRegion
  %c, %c2 = StatefulCaseRegion %i { yield(%b) : tensor<f32> } : (tensor<i32>) -> (tensor<f32>)
  // CHECK: StatelessWhileRegion
  // CHECK: : (tensor<f32>) -> tensor<f32>
  %d, %c3 = StatelessWhileRegion(%c) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {parallel_iterations = 10 : i64} : tensor<f32>
  // CHECK: StatefulWhileRegion
  %e, %c4 = StatefulWhileRegion(%d) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {parallel_iterations = 10 : i64} : tensor<f32>
  // CHECK: ForRegion
  // CHECK: : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  %f, %c5 = ForRegion(%e) from %i to %i by %i {
  ^bb0(%n: tensor<i32>, %v: tensor<f32>, %n_ctl: !tf_type.control, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } : tensor<f32>
  return(%f) : tensor<f32>
}
