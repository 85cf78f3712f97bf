// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the predicate has type 'tensor<i32>', expected a tensor of i1}}
  %r, %ctl = IfRegion %i then {
    yield(%x) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the then region ends in tfg.condition, expected tfg.yield}}
  %r, %ctl = IfRegion %p then {
    condition %p : tensor<i1> (%x) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the else region yields 0 values, expected 1}}
  %r, %ctl = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield
  } {_mlir_name = "if"} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the else region: value 0 has type 'tensor<i32>', expected 'tensor<f32>'}}
  %r, %ctl = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield(%i) : tensor<i32>
  } {_mlir_name = "if"} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the then region has 1 arguments, expected none: a branch uses values from outside directly}}
  %r, %ctl = IfRegion %p then {
    ^bb0(%a: tensor<f32>):
    yield(%a) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the attributes of the then region list 1 arguments, expected 0}}
  %r, %ctl = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if", then_region_attrs = #tfg.region_attrs<{} [{}] [{}]>} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'if' (IfRegion): the attributes of the else region list 2 results, expected 1}}
  %r, %ctl = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if", else_region_attrs = #tfg.region_attrs<{} [] [{}, {}]>} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'case' (CaseRegion): the branch index has type 'tensor<i1>', expected a tensor of i32}}
  %r, %ctl = CaseRegion %p {
    yield(%x) : tensor<f32>
  }, {
    yield(%x) : tensor<f32>
  } {_mlir_name = "case"} : (tensor<i1>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'case' (CaseRegion): branch 1 yields 0 values, expected 1}}
  %r, %ctl = CaseRegion %i {
    yield(%x) : tensor<f32>
  }, {
    yield
  } {_mlir_name = "case"} : (tensor<i32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'case' (CaseRegion): 'branch_attrs' has 1 entries for 2 branches}}
  %r, %ctl = CaseRegion %i {
    yield(%x) : tensor<f32>
  }, {
    yield(%x) : tensor<f32>
  } {_mlir_name = "case", branch_attrs = [{}]} : (tensor<i32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'case' (CaseRegion): 'region_attrs' has 1 entries for 2 branches}}
  %r, %ctl = CaseRegion %i {
    yield(%x) : tensor<f32>
  }, {
    yield(%x) : tensor<f32>
  } {_mlir_name = "case", region_attrs = [#tfg.region_attrs<{} [] [{}]>]} : (tensor<i32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'case' (CaseRegion): the attributes of branch 1 list 0 results, expected 1}}
  %r, %ctl = CaseRegion %i {
    yield(%x) : tensor<f32>
  }, {
    yield(%x) : tensor<f32>
  } {_mlir_name = "case", region_attrs = [#tfg.region_attrs<{} [] [{}]>, #tfg.region_attrs<{} [] []>]} : (tensor<i32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}
