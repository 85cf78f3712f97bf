// RUN: treadle-opt %s -split-input-file -verify-diagnostics

// The rules for nodes of a graph hold in regions too: names are unique.
tfg.func @names(%p: tensor<i1>, %x: tensor<f32>) {
  %ctl = IfRegion %p then {
    // expected-note@+1 {{the other node (Neg)}}
    %a, %c0 = Neg(%x) name("n") : (tensor<f32>) -> (tensor<f32>)
    // expected-error@+1 {{node 'n' (Abs): its name is used by another node}}
    %b, %c1 = Abs(%x) name("n") : (tensor<f32>) -> (tensor<f32>)
    yield
  } else {
    // Another region may use the same name.
    %a, %c0 = Neg(%x) name("n") : (tensor<f32>) -> (tensor<f32>)
    yield
  } : (tensor<i1>) -> ()
  return
}

// -----

tfg.func @terminator(%x: tensor<f32>) -> (tensor<f32>) {
  // expected-error@+1 {{'tfg.yield' op is in tfg.func, expected a region of a conditional or a loop}}
  yield(%x) : tensor<f32>
}

// -----

tfg.func @predicate(%x: tensor<f32>) {
  %ctl = WhileRegion {
    // expected-error@+1 {{expected a tensor of i1 as the predicate, found 'tensor<f32>'}}
    condition %x : tensor<f32>
  } do {
    yield
  } {parallel_iterations = 1 : i64}
  return
}

// -----

tfg.func @order(%p: tensor<i1>, %x: tensor<f32>) {
  %ctl = IfRegion %p then {
    // expected-error@+1 {{'tfg.yield' op operand 0 is a control token, but a value follows it; control operands come last}}
    "tfg.yield"(%x.ctl, %x) : (!tf_type.control, tensor<f32>) -> ()
  } else {
    yield
  } : (tensor<i1>) -> ()
  return
}

// -----

tfg.func @operands(%p: tensor<i1>) {
  // expected-error@+1 {{node without a name (IfRegion): has 2 data operands, expected only the predicate: branches use values from outside directly}}
  %ctl = "tfg.IfRegion"(%p, %p) ({
    yield
  }, {
    yield
  }) : (tensor<i1>, tensor<i1>) -> !tf_type.control
  return
}

// -----

tfg.func @bounds(%i: tensor<i32>) {
  // expected-error@+1 {{node without a name (ForRegion): has 1 data operands, expected start, limit and delta first}}
  %ctl = "tfg.ForRegion"(%i) ({
  ^bb0(%n: tensor<i32>, %n_ctl: !tf_type.control):
    yield
  }) : (tensor<i32>) -> !tf_type.control
  return
}

// -----

tfg.func @branches(%i: tensor<i32>) {
  // expected-error@+1 {{node without a name (CaseRegion): has no branches, expected at least one}}
  %ctl = "tfg.CaseRegion"(%i) : (tensor<i32>) -> !tf_type.control
  return
}

// -----

tfg.func @types(%p: tensor<i1>) {
  %ctl = IfRegion %p then {
    yield
  } else {
    yield
  // expected-error@+1 {{found 0 input types for 1 data operands}}
  } : () -> ()
  return
}

// -----

tfg.func @yield_types(%p: tensor<i1>, %x: tensor<f32>) {
  %ctl = IfRegion %p then {
    // expected-error@+1 {{found 0 types for 1 values}}
    yield(%x)
  } else {
    yield
  } : (tensor<i1>) -> ()
  return
}

// -----

// expected-error@+1 {{found #tfg.region, expected #tfg.version or #tfg.region_attrs; other attributes are #tf_type.region}}
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> attributes {a = #tfg.region<1>} {
}
