// RUN: treadle-opt --split-input-file --verify-diagnostics --tf-executor-to-tfg %s

// expected-error@+1 {{function 'f' has no body, expected one}}
func.func private @f()

// -----

// expected-error@+1 {{unimplemented: function 'f' has several blocks, expected one}}
func.func @f() {
  "tf.Branch"()[^bb1] : () -> ()
^bb1:
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{unimplemented: function 'f' contains other ops besides its tf_executor.graph, expected only the graph}}
  tf_executor.graph {
  }
  "tf.NoOp"() : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{op 'tf.WhileRegion' has 1 regions, expected 2}}
  "tf.WhileRegion"() ({
  }) : () -> ()
  return
}

// -----

func.func private @g() {
  return
}
func.func @f() {
  // expected-error@+1 {{op 'func.constant' is in a function or island, expected operations of the tf dialect}}
  %0 = func.constant @g : () -> ()
  return
}
