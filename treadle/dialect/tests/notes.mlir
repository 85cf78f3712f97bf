// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s

// Treadle's notes on nodes round-trip.

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // CHECK: {tfg.problem = #tfg.problem<"its program: it has 2 arguments">}
  %a = Op name("a") {tfg.problem = #tfg.problem<"its program: it has 2 arguments">}
  // CHECK: {tfg.problem = #tfg.problem<unimplemented "a \22word\22">}
  %b = Op name("b") {tfg.problem = #tfg.problem<unimplemented "a \22word\22">}
  // CHECK: {tfg.op_traits = #tfg.op_traits<waits = true, touches_world = false, reads = ["clock"], writes = []>}
  %c = Op name("c") {tfg.op_traits = #tfg.op_traits<waits = true, touches_world = false, reads = ["clock"], writes = []>}
  // CHECK: {tfg.switch}
  %d = Op name("d") {tfg.switch}
}
