// RUN: treadle-opt --rc-lower-loops %s | FileCheck %s

// The sum of a row is kept in a register; the row is summed in blocks, so that partial sums stay
// small. The loop doesn't write to memory, so that its iterations may be interleaved.
// CHECK-LABEL: func.func private @part0
// CHECK: rc.parallel
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc>
// CHECK: memref.store
// CHECK: return

// Along columns, sums are kept in memory, and the innermost loop traverses them.
// CHECK-LABEL: func.func private @part1
// CHECK: memref.store %{{.*}}
// CHECK: rc.parallel
// CHECK: memref.load
// CHECK: memref.load
// CHECK: arith.maximumf
// CHECK: memref.store
func.func @cluster(%x: !rc.ref<tensor<?x?xf32>>, %r: !rc.ref<tensor<?xf32>>, %c: !rc.ref<tensor<?xf32>>) {
  %in = rc.view %x : !rc.ref<tensor<?x?xf32>> -> memref<?x?xf32>
  %rows = rc.view %r : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %columns = rc.view %c : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"], rc.starts = [0.0 : f32]} ins(%in : memref<?x?xf32>) outs(%rows : memref<?xf32>) {
  ^bb0(%e: f32, %sum: f32):
    %v = arith.addf %sum, %e fastmath<reassoc> : f32
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"], rc.starts = [0xFF800000 : f32]} ins(%in : memref<?x?xf32>) outs(%columns : memref<?xf32>) {
  ^bb0(%e: f32, %most: f32):
    %v = arith.maximumf %most, %e fastmath<nsz> : f32
    linalg.yield %v : f32
  }
  return
}
