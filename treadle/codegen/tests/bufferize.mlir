// RUN: treadle-opt --rc-bufferize %s | FileCheck %s

// An op over elements writes into an allocation that may take over what it reads; a loop carries
// references; a scalar of a cast is checked.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?xf32>>, %[[Y:.*]]: !rc.ref<tensor<*xf32>>) -> !rc.ref<tensor<?xf32>>
// CHECK: %[[RANK:.*]] = rc.rank %[[Y]]
// CHECK: arith.cmpi eq, %[[RANK]]
// CHECK: rc.check
// CHECK: %[[ROW:.*]] = rc.cast %[[Y]]
// CHECK: scf.if %{{.*}} -> (!rc.ref<tensor<?xf32>>)
// CHECK: %[[R:.*]], %[[OK:.*]] = rc.alloc(%{{.*}}) like(%[[X]] :
// CHECK: rc.check %[[OK]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?xf32>) outs(%{{.*}} : memref<?xf32>)
// CHECK: scf.yield %[[R]]
// CHECK: scf.yield %[[ROW]]
func.func @cluster(%x: tensor<?xf32>, %y: tensor<*xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %row = tensor.cast %y : tensor<*xf32> to tensor<?xf32>
  %p = arith.cmpi eq, %size, %zero : index
  %r = scf.if %p -> (tensor<?xf32>) {
    %empty = tensor.empty(%size) : tensor<?xf32>
    %negative = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %n = arith.negf %a : f32
      linalg.yield %n : f32
    } -> tensor<?xf32>
    scf.yield %negative : tensor<?xf32>
  } else {
    scf.yield %row : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
