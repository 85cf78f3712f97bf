// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s

// In a generic function, a node has one result; tfg.get_result selects an output of it.

// CHECK:      tfg.func generic @pick(%x: !tf_type.tensor {tfg.name = "x"})
// CHECK-NEXT:      -> (!tf_type.tensor {tfg.name = "y"})
// CHECK-NEXT:  attributes {control_output = ["done"]} {
// CHECK-NEXT:   %Switch, %ctl = Switch(%x, %x) [%x.ctl] name("s") {T = #tf_type.placeholder<"T">} : (!tf_type.tensor, !tf_type.tensor) -> (!tf_type.tensor)
// CHECK-NEXT:   %0 = get_result(%Switch) "output_true" : 0
// CHECK-NEXT:   %1 = get_result(%Switch) "output_false" : 12
// CHECK-NEXT:   %ctl_0 = Print(%1) : !tf_type.tensor
// CHECK-NEXT:   return(%0) [%ctl {tfg.name = "done"}] : !tf_type.tensor
tfg.func generic @pick(%x: !tf_type.tensor {tfg.name = "x"}) -> (!tf_type.tensor {tfg.name = "y"})
    attributes {control_output = ["done"]} {
  %s, %ctl0 = Switch(%x, %x) [%x.ctl] name("s") {T = #tf_type.placeholder<"T">}
      : (!tf_type.tensor, !tf_type.tensor) -> (!tf_type.tensor)
  %true = get_result(%s) "output_true" : 0
  // Types, dialect prefix and parentheses are optional.
  %false = tfg.get_result %s "output_false" : 12
  %ctl1 = tfg.Print(%false)
  tfg.return(%true) [%ctl0 {tfg.name = "done"}]
}
