// RUN: treadle-opt --split-input-file --rc-elide-counts %s | FileCheck %s

// A retain and a release cancel out if nothing between them reads counts.

// CHECK-LABEL: func.func @cluster
// CHECK-NOT: rc.retain
// CHECK-NOT: rc.release
// CHECK: return
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> !rc.ref<tensor<*xf32>> {
  rc.retain %x : !rc.ref<tensor<?xf32>>
  %y = rc.cast %x : !rc.ref<tensor<?xf32>> -> !rc.ref<tensor<*xf32>>
  rc.release %x : !rc.ref<tensor<?xf32>>
  return %y : !rc.ref<tensor<*xf32>>
}

// -----

// They are kept around a kernel, which may free its operands.

// CHECK-LABEL: func.func @cluster
// CHECK: rc.retain
// CHECK-NEXT: rc.kernel
// CHECK-SAME: takes = array<i1: true>
// CHECK-NEXT: return
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> (!rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>) {
  rc.retain %x : !rc.ref<tensor<?xf32>>
  %z, %ok = rc.kernel "Op" 0(%x) : (!rc.ref<tensor<?xf32>>) -> (!rc.ref<tensor<?xf32>>, i1)
  rc.release %x : !rc.ref<tensor<?xf32>>
  return %x, %z : !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>
}

// -----

// An allocation reuses the buffer of a tensor that is released once the new tensor is filled.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?xf32>>)
// CHECK: %[[R:.*]], %{{.*}} = rc.reuse %[[X]](
// CHECK-NOT: rc.alloc
// CHECK: rc.drop %[[X]], %[[R]]
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> !rc.ref<tensor<?xf32>> {
  %size = rc.dim %x, 0 : !rc.ref<tensor<?xf32>>
  %r, %ok = rc.alloc(%size) like(%x : !rc.ref<tensor<?xf32>>) : !rc.ref<tensor<?xf32>>
  %in = rc.view %x : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %out = rc.view %r : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                  iterator_types = ["parallel"]}
      ins(%in : memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %negative = arith.negf %a : f32
    linalg.yield %negative : f32
  }
  rc.release %x : !rc.ref<tensor<?xf32>>
  return %r : !rc.ref<tensor<?xf32>>
}

// -----

// Not if the tensor is used later.

// CHECK-LABEL: func.func @cluster
// CHECK: rc.alloc(%{{.*}}) :
// CHECK-NOT: rc.reuse
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> (!rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>) {
  %size = rc.dim %x, 0 : !rc.ref<tensor<?xf32>>
  %r, %ok = rc.alloc(%size) like(%x : !rc.ref<tensor<?xf32>>) : !rc.ref<tensor<?xf32>>
  %in = rc.view %x : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %out = rc.view %r : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                  iterator_types = ["parallel"]}
      ins(%in : memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %negative = arith.negf %a : f32
    linalg.yield %negative : f32
  }
  return %x, %r : !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>
}

// -----

// Not if a later op reads both tensors.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?xf32>>)
// CHECK: rc.alloc(
// CHECK: rc.reuse %[[X]](
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> !rc.ref<tensor<?xf32>> {
  %size = rc.dim %x, 0 : !rc.ref<tensor<?xf32>>
  %r, %ok = rc.alloc(%size) like(%x : !rc.ref<tensor<?xf32>>) : !rc.ref<tensor<?xf32>>
  %in = rc.view %x : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %out = rc.view %r : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in : memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %negative = arith.negf %a : f32
    linalg.yield %negative : f32
  }
  %s, %ok2 = rc.alloc(%size) like(%x : !rc.ref<tensor<?xf32>>) : !rc.ref<tensor<?xf32>>
  %again = rc.view %r : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  %sum = rc.view %s : !rc.ref<tensor<?xf32>> -> memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%in, %again : memref<?xf32>, memref<?xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  }
  rc.release %x : !rc.ref<tensor<?xf32>>
  rc.release %r : !rc.ref<tensor<?xf32>>
  return %s : !rc.ref<tensor<?xf32>>
}
