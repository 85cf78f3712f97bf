// RUN: treadle-opt --rc-lower-to-llvm %s | FileCheck %s

// The signature that the runtime calls; references are pointers to tensor blocks.

// CHECK-LABEL: llvm.func @cluster
// CHECK-SAME: (%[[FRAME:.*]]: !llvm.ptr, %[[IN:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr) -> i32
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.atomicrmw add %[[X]], %{{.*}} monotonic
// CHECK: llvm.call @treadle_allocate(%[[FRAME]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: llvm.cond_br
// CHECK: llvm.return %{{.*}} : i32
// CHECK: llvm.call @treadle_release(%[[X]])
// CHECK: llvm.return %{{.*}} : i32
func.func @cluster(%x: !rc.ref<tensor<?xf32>>) -> (!rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>) {
  %size = rc.dim %x, 0 : !rc.ref<tensor<?xf32>>
  rc.retain %x : !rc.ref<tensor<?xf32>>
  %r, %ok = rc.alloc(%size) : !rc.ref<tensor<?xf32>>
  cf.cond_br %ok, ^on, ^leave
^on:
  return %x, %r : !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>
^leave:
  rc.release %x : !rc.ref<tensor<?xf32>>
  rc.release %x : !rc.ref<tensor<?xf32>>
  rc.bail
}
