// RUN: treadle-opt --rc-lower-control-flow %s | FileCheck %s

// Checks with only arithmetic between them are joined into one exit, on which all held references
// are released. A condition that is always true needs no check.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[X:.*]] = arith.cmpi eq
// CHECK-NOT: cf.cond_br
// CHECK: %[[Y:.*]] = arith.cmpi eq
// CHECK: %[[BOTH:.*]] = arith.andi %[[X]], %[[Y]]
// CHECK-NEXT: cf.cond_br %[[BOTH]]
// CHECK: rc.alloc
// CHECK-NEXT: cf.cond_br
// A tensor is read only after the check that it exists.
// CHECK: rc.dim
// CHECK: cf.cond_br
// CHECK-NOT: cf.cond_br
func.func @cluster(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>) {
  %three = arith.constant 3 : index
  %true = arith.constant true
  %n = rc.dim %x, 0 : <tensor<?xf32>>
  %ofX = arith.cmpi eq, %n, %three : index
  rc.check %ofX
  %m = rc.dim %y, 0 : <tensor<?xf32>>
  %ofY = arith.cmpi eq, %m, %three : index
  rc.check %ofY
  rc.check %true
  %made, %ok = rc.alloc(%n) : <tensor<?xf32>>
  rc.check %ok
  %k = rc.dim %made, 0 : <tensor<?xf32>>
  %ofMade = arith.cmpi eq, %k, %three : index
  rc.check %ofMade
  return
}
