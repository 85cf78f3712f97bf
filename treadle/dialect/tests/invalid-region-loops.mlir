// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): a loop of 1 values has 0 results, expected one for each}}
  %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> ()
  return(%x) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): result 0 has type 'tensor<i32>', but its initial value has type 'tensor<f32>'}}
  %q, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<i32>)
  return(%x) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the condition ends in tfg.yield, expected tfg.condition}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the body ends in tfg.condition, expected tfg.yield}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the condition yields 0 values, expected 1}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the body yields 2 values, expected 1}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v, %v) : tensor<f32>, tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the body has 1 arguments, expected 1 values and a control token for each}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the condition: argument 0 has type '!tf_type.control', expected 1 values, then one control token for each}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v_ctl: !tf_type.control, %v: tensor<f32>):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the body: argument 0 has type 'tensor<i32>', expected 'tensor<f32>'}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<i32>, %v_ctl: !tf_type.control):
    yield(%x) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{op requires attribute 'parallel_iterations'}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop"} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the attributes of the condition list 2 results, expected 1}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64, cond_region_attrs = #tfg.region_attrs<{} [{}] [{}, {}]>} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'loop' (WhileRegion): the attributes of the body list 0 arguments, expected 1}}
  %r, %ctl = WhileRegion(%x) {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } do {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "loop", parallel_iterations = 1 : i64, body_region_attrs = #tfg.region_attrs<{} [] [{}]>} : (tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'for' (ForRegion): start has type 'tensor<f32>', expected a tensor of i32}}
  %r, %ctl = ForRegion(%x) from %x to %i by %i {
  ^bb0(%n: tensor<i32>, %v: tensor<f32>, %n_ctl: !tf_type.control, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "for"} : (tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'for' (ForRegion): the body has 2 arguments, expected 2 values and a control token for each}}
  %r, %ctl = ForRegion(%x) from %i to %i by %i {
  ^bb0(%v: tensor<f32>, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "for"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'for' (ForRegion): the body: argument 0 has type 'tensor<f32>', expected 'tensor<*xi32>'}}
  %r, %ctl = ForRegion(%x) from %i to %i by %i {
  ^bb0(%n: tensor<f32>, %v: tensor<f32>, %n_ctl: !tf_type.control, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "for"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'for' (ForRegion): the body ends in tfg.condition, expected tfg.yield}}
  %r, %ctl = ForRegion(%x) from %i to %i by %i {
  ^bb0(%n: tensor<i32>, %v: tensor<f32>, %n_ctl: !tf_type.control, %v_ctl: !tf_type.control):
    condition %p : tensor<i1> (%v) : tensor<f32>
  } {_mlir_name = "for"} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}

// -----

tfg.func @f(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{node 'for' (ForRegion): the attributes of the body list 1 arguments, expected 2}}
  %r, %ctl = ForRegion(%x) from %i to %i by %i {
  ^bb0(%n: tensor<i32>, %v: tensor<f32>, %n_ctl: !tf_type.control, %v_ctl: !tf_type.control):
    yield(%v) : tensor<f32>
  } {_mlir_name = "for", region_attrs = #tfg.region_attrs<{} [{}] [{}]>} : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<f32>)
  return(%r) : tensor<f32>
}
