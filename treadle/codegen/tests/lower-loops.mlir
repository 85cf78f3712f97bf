// RUN: treadle-opt --split-input-file --rc-lower-loops %s | FileCheck %s

// Elements that are accessed in memory order are a single row, whatever the rank.

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

// A broadcast row needs a loop per dimension.

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

// -----

// A branch on an index is resolved by splitting the loop.

// CHECK-LABEL: func.func @cluster
// CHECK: memref.store
// CHECK-NOT: arith.select
// CHECK: memref.store
// CHECK-NOT: arith.select
// CHECK: return
func.func @cluster(%x: !rc.ref<tensor<99xf32>>, %y: !rc.ref<tensor<100xf32>>) {
  %in = rc.view %x : !rc.ref<tensor<99xf32>> -> memref<99xf32>
  %out = rc.view %y : !rc.ref<tensor<100xf32>> -> memref<100xf32>
  %edge = arith.constant 0.5 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%out : memref<100xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %one = arith.constant 1 : index
    %first = arith.cmpi slt, %i, %one : index
    %e = scf.if %first -> f32 {
      scf.yield %edge : f32
    } else {
      %before = arith.subi %i, %one : index
      %v = memref.load %in[%before] : memref<99xf32>
      scf.yield %v : f32
    }
    linalg.yield %e : f32
  }
  return
}

// -----

// An op that writes a tensor is lowered to a loop nest as well.

// CHECK-LABEL: func.func @cluster
// CHECK: cf.cond_br
// CHECK: memref.store
// CHECK-NOT: rc.write
// CHECK: return
func.func @cluster(%x: !rc.ref<tensor<99xf32>>, %v: f32) {
  %in = rc.view %x : !rc.ref<tensor<99xf32>> -> memref<99xf32>
  %size = arith.constant 50 : index
  rc.write %in for (%size) : memref<99xf32> {
  ^bb0(%i: index):
    memref.store %v, %in[%i] : memref<99xf32>
  }
  return
}

// -----

// A loop around loops is vectorized here: the inner loop runs until it has ended for all elements
// of the vectors, and the mask keeps the values of those for which it has.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}} : vector<[[W:.*]]xindex>
// CHECK: %[[FIRST:.*]] = vector.maskedload %{{.*}}, %[[INSIDE]]
// CHECK: cf.br ^[[HEAD:.*]](%[[INSIDE]], %[[FIRST]]
// CHECK: ^[[HEAD]](%[[MASK:.*]]: vector<{{.*}}xi1>, %[[V:.*]]: vector<{{.*}}xf32>)
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[V]]
// CHECK: %[[ACTIVE:.*]] = arith.andi %[[MASK]], %[[LESS]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[ACTIVE]]
// CHECK: cf.cond_br %[[ANY]]
// CHECK: %[[NEXT:.*]] = arith.addf
// CHECK: arith.select %{{.*}}, %[[NEXT]]
// CHECK: vector.maskedstore %{{.*}}, %[[INSIDE]]
func.func @cluster(%x: !rc.ref<tensor<50xf32>>) {
  %in = rc.view %x : !rc.ref<tensor<50xf32>> -> memref<50xf32>
  %size = arith.constant 50 : index
  %one = arith.constant 1.0 : f32
  rc.write %in for (%size) parallel : memref<50xf32> {
  ^bb0(%i: index):
    %first = memref.load %in[%i] : memref<50xf32>
    %last = scf.while (%v = %first) : (f32) -> f32 {
      %l = arith.cmpf olt, %v, %one : f32
      scf.condition(%l) %v : f32
    } do {
    ^bb0(%v: f32):
      %next = arith.addf %v, %v : f32
      scf.yield %next : f32
    }
    memref.store %last, %in[%i] : memref<50xf32>
  }
  return
}
