// RUN: treadle-opt %s | treadle-opt | FileCheck %s --strict-whitespace
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s --strict-whitespace

// Arguments print without their tokens, which are named after them.

// CHECK:      {{^ *}}tfg.func @sum(%x: tensor<10xf32> {tfg.name = "x"}, {{$}}
// CHECK-NEXT: {{^}}                %y: tensor<10xf32> {tfg.name = "y"})
// CHECK-NEXT: {{^}}       -> (tensor<10xf32> {tfg.name = "first"}, {{$}}
// CHECK-NEXT: {{^}}           tensor<*xf32>)
// CHECK-NEXT: {{^}}   attributes {description = "adds", is_stateful} {
// CHECK-NEXT:     %AddV2, %ctl = AddV2(%x, %y) [%y.ctl] name("add") : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>)
// CHECK-NEXT:     %ctl_0 = NoOp [%x.ctl] name("after")
// CHECK-NEXT:     return(%AddV2, %x) [%ctl {tfg.name = "done"}, %x.ctl, %ctl_0] : tensor<10xf32>, tensor<10xf32>
// CHECK-NEXT:   }
tfg.func @sum(%a: tensor<10xf32> {tfg.name = "x"}, %b: tensor<10xf32> {tfg.name = "y"})
    -> (tensor<10xf32> {tfg.name = "first"}, tensor<*xf32>)
    attributes {description = "adds", is_stateful} {
  %sum, %ctl0 = AddV2(%a, %b) [%b.ctl] name("add")
      : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>)
  %ctl1 = NoOp [%a.ctl] name("after")
  return(%sum, %a) [%ctl0 {tfg.name = "done"}, %a.ctl, %ctl1] : tensor<10xf32>, tensor<10xf32>
}

// CHECK:      {{^ *}}tfg.func private @nothing()
// CHECK-NEXT: {{^}}   attributes {gradient = @sum} {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
tfg.func private @nothing() attributes {gradient = @sum} {
  return : () -> ()
}

// The generic form prints pairs of arguments and, in a return, the attributes of control results.
// CHECK:      {{^ *}}tfg.func @pairs(%arg0: tensor<*xi32>, {{$}}
// CHECK-NEXT:                   %arg2: tensor<*xi32>)
// CHECK-NEXT:        -> (tensor<*xi32> {tfg.name = "result1"})
// CHECK-NEXT: {{^}}   {
// CHECK-NEXT:     %ctl = NoOp [%arg2.ctl]
// CHECK-NEXT:     return(%arg0) : tensor<*xi32>
"tfg.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<*xi32>, !tf_type.control, tensor<*xi32>, !tf_type.control) -> tensor<*xi32>, res_attrs = [{tfg.name = "result1"}], sym_name = "pairs"}> ({
^bb0(%0: tensor<*xi32>, %1: !tf_type.control, %2: tensor<*xi32>, %3: !tf_type.control):
  %4 = "tfg.NoOp"(%3) : (!tf_type.control) -> (!tf_type.control)
  "tfg.return"(%0) <{control_ret_attrs = []}> : (tensor<*xi32>) -> ()
}) : () -> ()
