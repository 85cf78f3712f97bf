// RUN: treadle-opt --tfg-toposort %s | FileCheck %s

// Values that a region uses come before the node with the region; nodes in regions are sorted too.
// CHECK: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  // CHECK-NEXT: %[[P:.*]], %{{.*}} = Placeholder name("p")
  // CHECK-NEXT: %[[X:.*]], %{{.*}} = Placeholder name("x")
  // CHECK-NEXT: %[[NEG:.*]], %{{.*}} = Neg(%[[X]]) name("neg")
  // CHECK-NEXT: IfRegion %[[P]] then {
  // CHECK-NEXT: %[[B:.*]], %{{.*}} = Abs(%[[NEG]]) name("b")
  // CHECK-NEXT: %[[A:.*]], %{{.*}} = Abs(%[[B]]) name("a")
  %if, %ci = IfRegion %p then {
    %a, %ca = Abs(%b) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %b, %cb = Abs(%neg) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%a) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
  %neg, %cn = Neg(%x) name("neg") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
}
