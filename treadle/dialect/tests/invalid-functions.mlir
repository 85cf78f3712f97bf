// RUN: treadle-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{function 'f' has an empty body, expected at least a tfg.return}}
tfg.func @f() {
}

// -----

// expected-error @+1 {{'tfg.func' op has an empty body, expected at least a tfg.return}}
"tfg.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({}) : () -> ()

// -----

// expected-error @+1 {{its body ends in tfg.NoOp, expected tfg.return}}
tfg.func @f() {
  %ctl = NoOp
}

// -----

tfg.func @f(%x: tensor<f32>) -> (tensor<f32>) {
  // expected-error @+1 {{returns 0 values, but function 'f' has 1 results}}
  return
}

// -----

tfg.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{returns 1 values, but function 'f' has 0 results}}
  return(%x) : tensor<f32>
}

// -----

tfg.func @f(%x: tensor<2xf32>) -> (tensor<*x!tf_type.f32ref>, tensor<3xf32>) {
  // expected-error @+1 {{value 1 has type 'tensor<2xf32>', but result 1 of function 'f' has type 'tensor<3xf32>'}}
  return(%x, %x) : tensor<2xf32>, tensor<2xf32>
}

// -----

tfg.func @f() {
  %ctl = NoOp
  // expected-error @+1 {{has attributes for 1 control results, but 2 control operands}}
  "tfg.return"(%ctl, %ctl) <{control_ret_attrs = [{}]}> : (!tf_type.control, !tf_type.control) -> ()
}

// -----

tfg.func @f(%x: tensor<f32>) -> (tensor<f32>) {
  // expected-error @+1 {{operand 0 is a control token, but a value follows it; control operands come last}}
  "tfg.return"(%x.ctl, %x) <{control_ret_attrs = []}> : (!tf_type.control, tensor<f32>) -> ()
}

// -----

// expected-error @+1 {{function 'f' has 1 arguments in memory, expected pairs of a value and a control token}}
"tfg.func"() <{function_type = (tensor<f32>) -> (), sym_name = "f"}> ({
^bb0(%0: tensor<f32>):
  "tfg.return"() <{control_ret_attrs = []}> : () -> ()
}) : () -> ()

// -----

tfg.func @f() {
  // expected-error @+1 {{requires attribute 'control_ret_attrs'}}
  "tfg.return"() : () -> ()
}

// -----

// expected-error @+1 {{argument 0 is followed by a value of type 'tensor<f32>', expected its control token}}
"tfg.func"() <{function_type = (tensor<f32>, tensor<f32>) -> (), sym_name = "f"}> ({
^bb0(%0: tensor<f32>, %1: tensor<f32>):
  "tfg.return"() <{control_ret_attrs = []}> : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{the types of its block arguments differ from its signature '(tensor<f32>, !tf_type.control) -> ()'}}
"tfg.func"() <{function_type = (tensor<f32>, !tf_type.control) -> (), sym_name = "f"}> ({
^bb0(%0: tensor<i32>, %1: !tf_type.control):
  "tfg.return"() <{control_ret_attrs = []}> : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{argument 0 has type 'i32', expected a tensor}}
tfg.func @f(%x: i32) {
  return
}

// -----

// expected-error @+1 {{result 0 has type 'i32', expected a tensor}}
tfg.func @f(%x: tensor<i32>) -> (i32) {
  return(%x) : tensor<i32>
}

// -----

// expected-error @+1 {{argument 0 of a generic function has type 'tensor<f32>', expected !tf_type.tensor}}
tfg.func generic @f(%x: tensor<f32>) {
  return
}
