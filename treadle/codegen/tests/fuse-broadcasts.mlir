// RUN: treadle-opt --rc-fuse-elementwise %s | FileCheck %s

// A tensor that is read along the loops of an op is an operand of it, so that broadcasts and their
// sums are one op. A cheap op on broadcast elements is computed by each of its readers.
// CHECK-LABEL: func.func @cluster
// CHECK-NOT: tensor.extract
// CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg1, %arg0 : tensor<20xf32>, tensor<300xf32>)
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: %[[PRODUCTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg1, %arg0 : tensor<20xf32>, tensor<300xf32>)
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: return %[[SUMS]], %[[PRODUCTS]]
func.func @cluster(%x: tensor<300xf32>, %n: tensor<20xf32>, %zeros: tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>) {
  %e = tensor.empty() : tensor<300x20xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<300x20xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<300xf32>
    linalg.yield %v : f32
  } -> tensor<300x20xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<300x20xf32>) {
  ^bb0(%o: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %n[%j] : tensor<20xf32>
    linalg.yield %v : f32
  } -> tensor<300x20xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<300x20xf32>, tensor<300x20xf32>) outs(%e : tensor<300x20xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.addf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<300x20xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<300x20xf32>) outs(%zeros : tensor<300xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %o, %p : f32
    linalg.yield %v : f32
  } -> tensor<300xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<300x20xf32>) outs(%zeros : tensor<300xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.mulf %o, %p : f32
    linalg.yield %v : f32
  } -> tensor<300xf32>
  return %s, %t : tensor<300xf32>, tensor<300xf32>
}
