// RUN: treadle-opt --rc-lower-loops %s | FileCheck %s

// Rows that are too short for vectors are summed side by side: the innermost loop goes along a block
// of results, which stays in the cache.
// CHECK-LABEL: @cluster
// CHECK: arith.constant 1024 : index
// CHECK: memref.store %{{.*}} : memref<300xf32>
// CHECK: rc.parallel
// CHECK: memref.load %{{.*}}[%[[AT:.*]]] : memref<300xf32>
// CHECK: memref.load %{{.*}} : memref<20xf32>
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}[%[[AT]]] : memref<300xf32>
// CHECK: arith.addi %[[AT]]
func.func @cluster(%x: !rc.ref<tensor<300xf32>>, %n: !rc.ref<tensor<20xf32>>, %r: !rc.ref<tensor<300xf32>>) {
  %points = rc.view %x : !rc.ref<tensor<300xf32>> -> memref<300xf32>
  %terms = rc.view %n : !rc.ref<tensor<20xf32>> -> memref<20xf32>
  %sums = rc.view %r : !rc.ref<tensor<300xf32>> -> memref<300xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"], rc.starts = [0.0 : f32]} ins(%points, %terms : memref<300xf32>, memref<20xf32>) outs(%sums : memref<300xf32>) {
  ^bb0(%p: f32, %t: f32, %sum: f32):
    %product = arith.mulf %p, %t : f32
    %v = arith.addf %sum, %product fastmath<reassoc> : f32
    linalg.yield %v : f32
  }
  return
}
