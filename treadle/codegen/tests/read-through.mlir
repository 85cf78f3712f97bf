// RUN: treadle-opt --split-input-file --rc-fuse-elementwise %s | FileCheck %s

// An op that reads a rearranged tensor reads the original tensor instead. If both sides of a branch
// read the same tensor, the index is selected.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>)
// CHECK: %[[I:.*]] = arith.select
// CHECK: tensor.extract %[[X]][%[[I]]]
// CHECK: math.absf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @cluster(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %few = tensor.empty() : tensor<7xf32>
  %tail = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%few : tensor<7xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %at = arith.addi %i, %c1 : index
    %e = tensor.extract %x[%at] : tensor<8xf32>
    linalg.yield %e : f32
  } -> tensor<7xf32>
  %all = tensor.empty() : tensor<8xf32>
  %rolled = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%all : tensor<8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %inside = arith.cmpi slt, %i, %c7 : index
    %e = scf.if %inside -> f32 {
      %v = tensor.extract %tail[%i] : tensor<7xf32>
      scf.yield %v : f32
    } else {
      %at = arith.subi %i, %c7 : index
      %v = tensor.extract %x[%at] : tensor<8xf32>
      scf.yield %v : f32
    }
    linalg.yield %e : f32
  } -> tensor<8xf32>
  %out = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%rolled : tensor<8xf32>) outs(%out : tensor<8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = math.absf %e : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// An op that overwrites a tensor doesn't read it after it has computed the new elements.

// CHECK-LABEL: func.func @cluster
// CHECK: linalg.generic
// CHECK: rc.write
// CHECK-NOT: arith.addf
// CHECK: rc.store
func.func @cluster(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %few = tensor.empty() : tensor<4xf32>
  %part = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%few : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %e = tensor.extract %x[%i] : tensor<8xf32>
    %v = arith.addf %e, %e : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %y = rc.write %x for (%c4) parallel : tensor<8xf32> -> tensor<8xf32> {
  ^bb0(%t: tensor<8xf32>, %i: index):
    %v = tensor.extract %part[%i] : tensor<4xf32>
    rc.store %t[%i] = %v : f32 in tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

// Dimensions of size 1 that a reshape adds or drops cost nothing: a row of a matrix is computed as
// a vector, reads of elements of a reshaped vector read the vector, and broadcasts of it broadcast
// the vector.

// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[I:.*]]: index)
// CHECK-NOT: rc.reshape
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8xf32>)
// CHECK: tensor.extract %[[X]][%[[I]], %{{.*}}]
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : tensor<4x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK: return
#all = affine_map<(i, j) -> (i, j)>
func.func @rows(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %i: index) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %r = tensor.empty() : tensor<1x8xf32>
  %row = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]} outs(%r : tensor<1x8xf32>) {
  ^bb0(%o: f32):
    %k = linalg.index 1 : index
    %e = tensor.extract %x[%i, %k] : tensor<4x8xf32>
    linalg.yield %e : f32
  } -> tensor<1x8xf32>
  %vector = rc.reshape %row() : tensor<1x8xf32> -> tensor<8xf32>
  %wide = rc.reshape %y() : tensor<8xf32> -> tensor<1x8xf32>
  %s = tensor.empty() : tensor<4x8xf32>
  %sums = linalg.generic {indexing_maps = [#all, affine_map<(i, j) -> (0, j)>, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %wide : tensor<4x8xf32>, tensor<1x8xf32>) outs(%s : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x8xf32>
  return %vector, %sums : tensor<8xf32>, tensor<4x8xf32>
}
