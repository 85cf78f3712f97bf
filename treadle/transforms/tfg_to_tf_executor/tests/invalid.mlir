// RUN: treadle-opt --split-input-file --verify-diagnostics --tfg-to-tf-executor %s

tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  // expected-error@+1 {{node 'a' (Neg): input 0 closes a cycle, but tf_executor only allows cycles through NextIteration}}
  %a, %c0 = Neg(%b) name("a") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %b, %c1 = Neg(%a) name("b") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}

// -----

// expected-error@+1 {{unimplemented: function 'main' has the name of the graph in tf_executor; rename it}}
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
}
tfg.func @main() {
  return
}
