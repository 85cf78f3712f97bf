// RUN: treadle-opt %s -canonicalize -cse | FileCheck %s

// Upstream passes keep all nodes: any node may be fetched and may have side effects.

// CHECK-LABEL: tfg.graph
// CHECK-NEXT:    %Const, %ctl = Const name("a")
// CHECK-NEXT:    %Const_0, %ctl_1 = Const name("b")
// CHECK-NEXT:    %ctl_2 = NoOp
// CHECK-NEXT:    %ctl_3 = NoOp
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0, %ctl0 = Const name("a") : () -> (tensor<i32>)
  %1, %ctl1 = Const name("b") : () -> (tensor<i32>)
  %ctl2 = NoOp
  %ctl3 = NoOp
}

// get_result has no side effects, so duplicates are removed.
// CHECK-LABEL: @once
// CHECK:      %[[Y:.*]] = get_result(%Op) "y" : 0
// CHECK-NEXT: return(%[[Y]], %[[Y]])
tfg.func generic @once(%x: !tf_type.tensor {tfg.name = "x"}) -> (!tf_type.tensor, !tf_type.tensor) {
  %op, %ctl = Op(%x) : (!tf_type.tensor) -> (!tf_type.tensor)
  %0 = get_result(%op) "y" : 0
  %1 = get_result(%op) "y" : 0
  %2 = get_result(%op) "z" : 0
  return(%0, %1) : !tf_type.tensor, !tf_type.tensor
}
