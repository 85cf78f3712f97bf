// RUN: treadle-opt --tfg-region-to-functional -split-input-file -verify-diagnostics %s

tfg.func @handed_on(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'w' (WhileRegion): its condition forwards other values than its own arguments, in their order; a functional loop can't (unimplemented)}}
  %w, %c = WhileRegion(%x) {
  ^bb0(%a: tensor<f32>, %ac: !tf_type.control):
    %n, %cn = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    condition %p : tensor<i1> (%n) : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>, %ac: !tf_type.control):
    yield(%a) : tensor<f32>
  } {_mlir_name = "w", parallel_iterations = 1 : i64} : (tensor<f32>) -> tensor<f32>
  return(%w) : tensor<f32>
}

// -----

tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %v, %cv = VariableV2 name("v") {dtype = f32} : () -> (tensor<!tf_type.f32ref>)
  // expected-error@+1 {{node 'i' (IfRegion): its regions use the reference 'v', which can't be passed to a function; use a resource variable}}
  %c = IfRegion %p then {
    %n, %cn = Identity(%v) name("n") {T = f32} : (tensor<!tf_type.f32ref>) -> (tensor<f32>)
    yield [%cn]
  } else {
    yield
  } {_mlir_name = "i"} : (tensor<i1>) -> ()
}
