// RUN: treadle-opt --rc-hoist-invariants %s | FileCheck %s

// A loop-invariant product is computed and checked once, before the loop, and so are the ops that
// depend on it. Ops that use a loop variable, that may be told to stop, or that are under a
// condition stay in the loop.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[P:.*]] = rc.kernel "MatMul" 0(
// CHECK: %[[D:.*]] = tensor.dim %[[P]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[D]]
// CHECK: rc.check %[[SAME]]
// CHECK: scf.while
// CHECK: rc.running
// CHECK: rc.kernel "Softmax" 1(
// CHECK: scf.if
// CHECK: rc.kernel "Tanh" 2(%[[P]])
func.func @cluster(%w: tensor<?x?xf32>, %x: tensor<?x?xf32>, %n: i32) -> tensor<?x?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %first = arith.constant 0 : i32
  %rows = tensor.dim %w, %zero : tensor<?x?xf32>
  %r:2 = scf.while (%i = %first, %y = %x) : (i32, tensor<?x?xf32>) -> (i32, tensor<?x?xf32>) {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i, %y : i32, tensor<?x?xf32>
  } do {
  ^bb0(%i: i32, %y: tensor<?x?xf32>):
    %goes = rc.running
    rc.check %goes
    %p = rc.kernel "MatMul" 0(%w, %w) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %d = tensor.dim %p, %zero : tensor<?x?xf32>
    %same = arith.cmpi eq, %d, %rows : index
    rc.check %same
    %s = rc.kernel "Softmax" 1(%y) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %even = arith.cmpi eq, %i, %one : i32
    %z = scf.if %even -> tensor<?x?xf32> {
      %t = rc.kernel "Tanh" 2(%p) : (tensor<?x?xf32>) -> tensor<?x?xf32>
      scf.yield %t : tensor<?x?xf32>
    } else {
      scf.yield %s : tensor<?x?xf32>
    }
    %j = arith.addi %i, %one : i32
    scf.yield %j, %z : i32, tensor<?x?xf32>
  }
  return %r#1 : tensor<?x?xf32>
}
