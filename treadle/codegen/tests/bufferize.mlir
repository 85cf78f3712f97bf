// RUN: treadle-opt --split-input-file --rc-bufferize %s | FileCheck %s

// An elementwise op writes into an allocation that may reuse the buffer of its operand; a loop
// carries references; the cast to a scalar is checked.

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

// -----

// The result of a reduction is allocated before the loop, while its size is only known from
// elements in the loop: the size is checked where the result is allocated.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: %[[X:.*]]: !rc.ref<tensor<2x3xf32>>, %[[SIZE:.*]]: index
// CHECK-NOT: linalg.fill
// CHECK: scf.while
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpi eq, %[[SIZE]], %[[THREE]] : index
// CHECK-NEXT: rc.check %[[SAME]]
// CHECK-NEXT: rc.alloc() : <tensor<3xf32>>
// CHECK: linalg.generic {{.*}} attrs = {rc.starts = [0.000000e+00 : f32]}
func.func @cluster(%x: tensor<2x3xf32>, %size: index, %p: i1) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%size) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %row = rc.reshape %x(%size) : tensor<2x3xf32> -> tensor<?xf32>
  %last = scf.while (%r = %row) : (tensor<?xf32>) -> tensor<?xf32> {
    scf.condition(%p) %r : tensor<?xf32>
  } do {
  ^bb0(%r: tensor<?xf32>):
    %begin = tensor.cast %start : tensor<?xf32> to tensor<3xf32>
    %sum = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
        iterator_types = ["reduction", "parallel"]}
        ins(%x : tensor<2x3xf32>) outs(%begin : tensor<3xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %b, %a : f32
      linalg.yield %s : f32
    } -> tensor<3xf32>
    %next = tensor.cast %sum : tensor<3xf32> to tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  return %last : tensor<?xf32>
}

// -----

// Elements are written in place after the tensor is made unique; no copy is made if it is unique.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[OWN:.*]], %[[OK:.*]] = rc.unique
// CHECK: rc.check %[[OK]]
// CHECK: %[[MEMORY:.*]] = rc.view %[[OWN]]
// CHECK-COUNT-2: memref.store %{{.*}}, %[[MEMORY]]
// CHECK: return %[[OWN]]
func.func @cluster(%x: tensor<500x2xf32>, %i: index, %e: f32) -> tensor<500x2xf32> {
  %zero = arith.constant 0 : index
  %y = rc.update %x[%i, %zero] [1, 2] = %e, %e : f32, f32 in tensor<500x2xf32> -> tensor<500x2xf32>
  return %y : tensor<500x2xf32>
}
