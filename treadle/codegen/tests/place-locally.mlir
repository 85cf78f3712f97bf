// RUN: treadle-opt --split-input-file --rc-place-locally %s | FileCheck %s

// A tensor that is only read and written by index is on the stack; one that is returned isn't.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[T:.*]] = rc.local : <tensor<64xf32>>
// CHECK-NOT: rc.check
// CHECK: rc.view %[[T]]
// CHECK: rc.alloc() : <tensor<64xf64>>
func.func @cluster(%x: !rc.ref<tensor<64xf32>>) -> !rc.ref<tensor<64xf64>> {
  %t, %ok = rc.alloc () like (%x : !rc.ref<tensor<64xf32>>) : <tensor<64xf32>>
  rc.check %ok
  %tv = rc.view %t : <tensor<64xf32>> -> memref<64xf32>
  %y, %fine = rc.alloc () : <tensor<64xf64>>
  rc.check %fine
  %yv = rc.view %y : <tensor<64xf64>> -> memref<64xf64>
  return %y : !rc.ref<tensor<64xf64>>
}

// -----

// A tensor whose buffer another one may reuse stays in place, and so does a large one.

// CHECK-LABEL: func.func @cluster
// CHECK-NOT: rc.local
func.func @cluster(%x: !rc.ref<tensor<64xf32>>) -> !rc.ref<tensor<64xf32>> {
  %t, %ok = rc.alloc () : <tensor<64xf32>>
  rc.check %ok
  %tv = rc.view %t : <tensor<64xf32>> -> memref<64xf32>
  %y, %fine = rc.alloc () like (%t : !rc.ref<tensor<64xf32>>) : <tensor<64xf32>>
  rc.check %fine
  %large, %enough = rc.alloc () : <tensor<5000xf32>>
  rc.check %enough
  %lv = rc.view %large : <tensor<5000xf32>> -> memref<5000xf32>
  return %y : !rc.ref<tensor<64xf32>>
}
