// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0, %ctl = Op : () -> (!tf_type.tensor)
  // expected-error @+1 {{is outside a generic function, expected uses of the node's own results}}
  %1 = get_result(%0) "y" : 0
}

// -----

tfg.func generic @f(%x: !tf_type.tensor) {
  // expected-error @+1 {{selects an output of a function argument, expected the result of a node}}
  %1 = get_result(%x) "y" : 0
  return
}

// -----

tfg.func generic @f(%x: !tf_type.tensor) {
  %0, %ctl = Op(%x) : (!tf_type.tensor) -> (!tf_type.tensor)
  // expected-error @+1 {{selects output -1 of "y", expected at least 0}}
  %1 = get_result(%0) "y" : -1
  return
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{'tfg.return' op expects parent op 'tfg.func'}}
  return
}
