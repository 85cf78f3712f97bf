// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{node 'n' (Op): operand 0 is a control token, but a data operand follows it; control operands come last}}
  %ctl = "tfg.Op"(%x.ctl, %x) {_mlir_name = "n"} : (!tf_type.control, tensor<f32>) -> (!tf_type.control)
  return
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node without a name (Op): found no control token among 1 results, expected one as the last}}
  %0 = "tfg.Op"() : () -> (tensor<f32>)
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): found no control token among 0 results, expected one as the last}}
  "tfg.Op"() {_mlir_name = "n"} : () -> ()
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): found 2 control tokens as results, expected one}}
  %0:3 = "tfg.Op"() {_mlir_name = "n"} : () -> (tensor<f32>, !tf_type.control, !tf_type.control)
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): result 0 is a control token, but a data result follows it; the control token comes last}}
  %0:3 = "tfg.Op"() {_mlir_name = "n"} : () -> (!tf_type.control, tensor<f32>, !tf_type.control)
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node without a name (Op): attribute '_mlir_name' is 3 : i64, expected a string}}
  %ctl = Op {_mlir_name = 3}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute '_mlir_device' is empty; leave it out instead}}
  %ctl = Op device("") name("n")
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute '_mlir_fulltype' is "tensor", expected a #tf_type.full_type}}
  %ctl = Op name("n") {_mlir_fulltype = "tensor"}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-note @+1 {{the other node (First)}}
  %ctl0 = First name("n")
  // expected-error @+1 {{node 'n' (Second): its name is used by another node}}
  %ctl1 = Second name("n")
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0, %ctl0 = Op name("m") : () -> (i32)
  // expected-error @+1 {{node 'n' (Op): operand 0 has type 'i32', expected a tensor}}
  %ctl1 = Op(%0) name("n") : i32
}

// -----

tfg.func generic @f(%x: !tf_type.tensor) {
  // expected-error @+1 {{node 'n' (Op): found 2 data results in a generic function, expected one; tfg.get_result selects one of its outputs}}
  %0:2, %ctl = Op(%x) name("n") : (!tf_type.tensor) -> (!tf_type.tensor, !tf_type.tensor)
  return
}

// -----

tfg.func generic @f(%x: !tf_type.tensor) {
  // expected-error @+1 {{node 'n' (Op): result 0 has type 'tensor<f32>', expected !tf_type.tensor in a generic function}}
  %0, %ctl = Op(%x) name("n") : (!tf_type.tensor) -> (tensor<f32>)
  return
}
