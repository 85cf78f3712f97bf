// RUN: treadle-opt --split-input-file --rc-insert-counts %s | FileCheck %s

// A swap of loop variables: every edge passes both on, so nothing is counted.

// CHECK-LABEL: func.func @cluster
// CHECK-NOT: rc.retain
// CHECK-NOT: rc.release
// CHECK: return
func.func @cluster(%n: index, %x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>)
    -> (!rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  cf.br ^head(%zero, %x, %y : index, !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>)
^head(%i: index, %a: !rc.ref<tensor<?xf32>>, %b: !rc.ref<tensor<?xf32>>):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %next = arith.addi %i, %one : index
  cf.br ^head(%next, %b, %a : index, !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>)
^end:
  return %a, %b : !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>
}

// -----

// A conditional that returns one of two values: the other one is released on the edge to each
// branch.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[P:.*]]: i1, %[[X:.*]]: !rc.ref<tensor<?xf32>>, %[[Y:.*]]: !rc.ref<tensor<?xf32>>)
// CHECK: cf.cond_br %[[P]], ^[[FIRST:bb[0-9]+]], ^[[SECOND:bb[0-9]+]]
// CHECK: ^[[FIRST]]:
// CHECK-NEXT: rc.release %[[Y]]
// CHECK-NEXT: cf.br ^[[END:bb[0-9]+]](%[[X]]
// CHECK: ^[[SECOND]]:
// CHECK-NEXT: rc.release %[[X]]
// CHECK-NEXT: cf.br ^[[END]](%[[Y]]
// CHECK-NOT: rc.retain
func.func @cluster(%p: i1, %x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>)
    -> !rc.ref<tensor<?xf32>> {
  cf.cond_br %p, ^end(%x : !rc.ref<tensor<?xf32>>), ^end(%y : !rc.ref<tensor<?xf32>>)
^end(%r: !rc.ref<tensor<?xf32>>):
  return %r : !rc.ref<tensor<?xf32>>
}

// -----

// A value that is passed on twice is retained once.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?xf32>>)
// CHECK-NEXT: rc.retain %[[X]]
// CHECK-NEXT: return %[[X]], %[[X]]
func.func @cluster(%x: !rc.ref<tensor<?xf32>>)
    -> (!rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>) {
  return %x, %x : !rc.ref<tensor<?xf32>>, !rc.ref<tensor<?xf32>>
}

// -----

// A failing check leaves the function: references that are still held are released on the way out.
// Those that end before the check aren't among them.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: (%[[X:.*]]: !rc.ref<tensor<?xf32>>, %[[Y:.*]]: !rc.ref<tensor<?xf32>>)
// CHECK: %[[Z:.*]]:2 = rc.kernel "Op" 0(%[[X]])
// CHECK-NEXT: rc.release %[[X]]
// CHECK-NEXT: cf.cond_br %[[Z]]#1, ^[[ON:bb[0-9]+]], ^[[LEAVE:bb[0-9]+]]
// CHECK: ^[[ON]]:
// CHECK-NEXT: rc.dim %[[Y]]
// CHECK-NEXT: rc.release %[[Y]]
// CHECK-NEXT: return %[[Z]]#0
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: rc.release %[[Z]]#0
// CHECK-NEXT: rc.release %[[Y]]
// CHECK-NEXT: cf.br ^[[EXIT:bb[0-9]+]]
// CHECK: ^[[EXIT]]:
// CHECK-NEXT: rc.bail
func.func @cluster(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>)
    -> !rc.ref<tensor<?xf32>> {
  %z, %ok = rc.kernel "Op" 0(%x) : (!rc.ref<tensor<?xf32>>) -> (!rc.ref<tensor<?xf32>>, i1)
  cf.cond_br %ok, ^on, ^leave
^on:
  %size = rc.dim %y, 0 : !rc.ref<tensor<?xf32>>
  return %z : !rc.ref<tensor<?xf32>>
^leave:
  rc.bail
}

// -----

// Exits that release the same values share a block.

// CHECK-LABEL: func.func @cluster
// CHECK-SAME: %[[X:[a-z0-9]+]]: !rc.ref<tensor<?xf32>>
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[EDGE:bb[0-9]+]]
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[EDGE]]
// CHECK: ^[[EDGE]]:
// CHECK-NEXT: rc.release %[[X]]
// CHECK-NOT: rc.release
func.func @cluster(%p: i1, %q: i1, %x: !rc.ref<tensor<?xf32>>) -> !rc.ref<tensor<?xf32>> {
  cf.cond_br %p, ^second, ^exit
^second:
  cf.cond_br %q, ^end, ^exit
^end:
  return %x : !rc.ref<tensor<?xf32>>
^exit:
  rc.bail
}
