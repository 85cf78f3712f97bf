// RUN: treadle-opt %s | FileCheck %s

// Older spellings are parsed, and printed as TensorFlow 2.21 does.

// CHECK: tfg.graph #tf_type.version<producer = 42, min_consumer = 33> {
// CHECK:   NoOp {alias = !tf_type.control}
tfg.graph #tfg.version<producer = 42, min_consumer = 33> {
  %ctl = "tfg.NoOp"() {alias = !tfg.control} : () -> !tfg.control
}

// CHECK: tfg.func generic @f(%x: !tf_type.tensor {tfg.name = "x"})
// CHECK:   return(%x) : !tf_type.tensor
tfg.func generic @f(%x : !tfg.tensor {tfg.name = "x"}) -> (!tfg.tensor) {
  return(%x) : !tfg.tensor
}
