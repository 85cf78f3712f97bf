// RUN: treadle-opt --tfg-v1-to-functional="keep=kept,gkept" --verify-diagnostics %s | FileCheck %s

// In a loop that isn't converted, two Switches of one predicate: one forwards the Merge's value,
// which is also alive when the loop ends; the other one forwards a value of the body. In one If,
// the Print would be lost.
// CHECK: Switch({{.*}}name("on")
// CHECK: Print({{.*}}name("print")
// CHECK: Merge({{.*}}name("joined")
// CHECK: Print({{.*}}name("gprint")
// CHECK: Merge({{.*}}name("gjoined")
// CHECK-NOT: If(
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %e, %0 = Enter(%x) name("e") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %limit, %1 = Enter(%n) name("limit") {T = i32, frame_name = "f", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %q, %qc = Enter(%p) name("q") {T = i1, frame_name = "f", is_constant = true} : (tensor<i1>) -> (tensor<i1>)
  %m:2, %2 = Merge(%e, %next) name("m") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %l, %3 = Less(%m#0, %limit) name("l") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %c, %4 = LoopCond(%l) name("c") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %5 = Switch(%m#0, %c) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %on:2, %onc = Switch(%m#0, %q) name("on") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{conditional of node 'on' isn't converted: node 'print' may run while other inputs of the conditional are dead}}
  %print, %printc = Print(%on#1, %on#1) name("print") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %joined:2, %joinedc = Merge(%on#0, %print) name("joined") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %in:2, %inc = Switch(%s#1, %q) name("in") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %neg, %negc = Neg(%in#1) name("neg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %both:2, %bothc = Merge(%in#0, %neg) name("both") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{loop 'f' isn't converted: node 'kept' must be kept}}
  %sum, %sumc = AddV2(%both#0, %joined#0) name("kept") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %6 = NextIteration(%sum) name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %7 = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // The value of an Enter is alive in the first iteration only.
  %ge, %g0 = Enter(%x) name("ge") {T = i32, frame_name = "g"} : (tensor<i32>) -> (tensor<i32>)
  %glimit, %g1 = Enter(%n) name("glimit") {T = i32, frame_name = "g", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %gq, %gqc = Enter(%p) name("gq") {T = i1, frame_name = "g", is_constant = true} : (tensor<i1>) -> (tensor<i1>)
  %gm:2, %g2 = Merge(%ge, %gnext) name("gm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %gl, %g3 = Less(%gm#0, %glimit) name("gl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %gc, %g4 = LoopCond(%gl) name("gc") : (tensor<i1>) -> (tensor<i1>)
  %gs:2, %g5 = Switch(%gm#0, %gc) name("gs") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %gon:2, %gonc = Switch(%gm#0, %gq) name("gon") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{conditional of node 'gon' isn't converted: node 'gprint' may run while other inputs of the conditional are dead}}
  %gprint, %gprintc = Print(%gon#1, %gon#1) name("gprint") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %gneg, %gnegc = Neg(%gon#0) [%g0] name("gneg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %gjoined:2, %gjoinedc = Merge(%gneg, %gprint) name("gjoined") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{loop 'g' isn't converted: node 'gkept' must be kept}}
  %gsum, %gsumc = AddV2(%gs#1, %gjoined#0) name("gkept") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %gnext, %g6 = NextIteration(%gsum) name("gnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %gexit, %g7 = Exit(%gs#0) name("gexit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
