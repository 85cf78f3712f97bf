// RUN: treadle-opt --tfg-cf-sink %s | FileCheck %s

// CHECK-LABEL: tfg.func @chain
tfg.func @chain(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK: %[[BOTH:.*]], %{{.*}} = Neg(%x) name("both")
  // CHECK-NEXT: %[[IF:.*]], %{{.*}} = IfRegion %p then {
  // CHECK-NEXT: %[[A:.*]], %[[CA:.*]] = Neg(%x) [%p.ctl] name("a")
  // CHECK-NEXT: %[[B:.*]], %{{.*}} = Neg(%[[A]]) name("b")
  // CHECK-NEXT: %[[C:.*]], %{{.*}} = Mul(%[[B]], %[[BOTH]]) [%[[CA]]] name("c")
  // CHECK-NEXT: yield(%[[C]])
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[D:.*]], %{{.*}} = Neg(%[[BOTH]]) name("d")
  // CHECK-NEXT: yield(%[[D]])
  %a, %ca = Neg(%x) [%p.ctl] name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %cb = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %both, %cboth = Neg(%x) name("both") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %d, %cd = Neg(%both) name("d") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %if, %ci = IfRegion %p then {
    %c, %cc = Mul(%b, %both) [%ca] name("c") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    yield(%c) : tensor<f32>
  } else {
    yield(%d) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
  return(%if) : tensor<f32>
}

// Nodes with side effects, nodes that the conditional itself needs and nodes with other control
// users stay.
// CHECK-LABEL: tfg.func @stay
tfg.func @stay(%p: tensor<f32> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK: Const
  // CHECK-NEXT: RandomUniform
  // CHECK-NEXT: ToBool
  // CHECK-NEXT: Neg(%x) name("ordering")
  // CHECK-NEXT: Neg(%x) name("waited_for")
  // CHECK-NEXT: IfRegion
  // CHECK-NEXT: yield
  %shape, %cs = Const name("shape") {dtype = i32, value = dense<[]> : tensor<0xi32>} : () -> (tensor<0xi32>)
  %r, %cr = RandomUniform(%shape) name("r") {T = i32, dtype = f32} : (tensor<0xi32>) -> (tensor<f32>)
  %q, %cq = ToBool(%p) name("q") {T = f32} : (tensor<f32>) -> (tensor<i1>)
  %o, %co = Neg(%x) name("ordering") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %w, %cw = Neg(%x) name("waited_for") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %if, %ci = IfRegion %q [%co] then {
    yield(%r) : tensor<f32>
  } else {
    yield(%w) [%co] : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
  return(%if) [%cw {tfg.name = "w"}] : tensor<f32>
}

// A node moves into the innermost branch, but not into a loop. A name that is taken there gets a
// suffix.
// CHECK-LABEL: tfg.func @nested
tfg.func @nested(%i: tensor<i32> {tfg.name = "i"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK: %[[L:.*]], %{{.*}} = Neg(%x) name("loop_only")
  // CHECK: CaseRegion %i {
  // CHECK-NEXT: CaseRegion %i {
  // CHECK-NEXT: %[[A:.*]], %{{.*}} = Neg(%x) name("a_1")
  // CHECK-NEXT: %{{.*}} = Abs(%[[A]]) name("a")
  %a, %ca = Neg(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %l, %cl = Neg(%x) name("loop_only") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %if, %ci = CaseRegion %i {
    %inner, %cinner = CaseRegion %i {
      %b, %cb = Abs(%a) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      yield(%b) : tensor<f32>
    } {_mlir_name = "inner"} : (tensor<i32>) -> tensor<f32>
    yield(%inner) : tensor<f32>
  } {_mlir_name = "outer"} : (tensor<i32>) -> tensor<f32>
  %for, %cfor = ForRegion(%if) from %i to %i by %i {
  ^bb0(%n: tensor<i32>, %v: tensor<f32>, %nc: !tf_type.control, %vc: !tf_type.control):
    %m, %cm = Mul(%v, %l) name("m") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    yield(%m) : tensor<f32>
  } {_mlir_name = "for"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%for) : tensor<f32>
}
