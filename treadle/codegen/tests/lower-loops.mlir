// RUN: treadle-opt --split-input-file --rc-lower-loops %s | FileCheck %s

// What is read and written in the order of memory is one row, whatever its rank.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?x?xf32>>, %[[Y:.*]]: !rc.ref<tensor<?x?xf32>>)
// CHECK: %[[IN:.*]] = rc.view %[[X]] : {{.*}} -> memref<?xf32>
// CHECK: %[[OUT:.*]] = rc.view %[[Y]] : {{.*}} -> memref<?xf32>
// CHECK: rc.parallel
// CHECK-NEXT: %[[A:.*]] = memref.load %[[IN]][%[[I:.*]]]
// CHECK-NEXT: %[[R:.*]] = arith.negf %[[A]]
// CHECK-NEXT: memref.store %[[R]], %[[OUT]][%[[I]]]
// CHECK-NOT: linalg.generic
func.func @cluster(%x: !rc.ref<tensor<?x?xf32>>, %y: !rc.ref<tensor<?x?xf32>>) {
  %in = rc.view %x : !rc.ref<tensor<?x?xf32>> -> memref<?x?xf32>
  %out = rc.view %y : !rc.ref<tensor<?x?xf32>> -> memref<?x?xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%in : memref<?x?xf32>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %negative = arith.negf %a : f32
    linalg.yield %negative : f32
  }
  return
}

// -----

// A row that is repeated takes a loop for each dimension.

// CHECK-LABEL: func.func @cluster
// CHECK: memref.load %{{.*}}[%[[J:[^,]*]]] : memref<?xf32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[J]]] : memref<?x?xf32>
func.func @cluster(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?x?xf32>>) {
  %in = rc.view %x : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %out = rc.view %y : !rc.ref<tensor<?x?xf32>> -> memref<?x?xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%in : memref<?xf32>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
