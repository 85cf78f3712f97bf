// RUN: treadle-opt --rc-lower-control-flow %s | FileCheck %s

// A loop is lowered to branches, and a check in it to a conditional exit. All checks share one exit
// block.

// CHECK-LABEL: func.func @cluster
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](
// CHECK: ^[[HEAD]](%[[I:.*]]: i32):
// CHECK: %[[GO:.*]] = rc.running
// CHECK: cf.cond_br %[[GO]], ^{{.*}}, ^[[LEAVE:bb[0-9]+]]
// CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[LEAVE]]
// CHECK: return
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: rc.bail
// CHECK-NOT: rc.check
// CHECK-NOT: scf.
func.func @cluster(%n: i32, %step: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %r = scf.while (%i = %zero) : (i32) -> i32 {
    %running = rc.running
    rc.check %running
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %moves = arith.cmpi ne, %step, %zero : i32
    rc.check %moves
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return %r : i32
}
