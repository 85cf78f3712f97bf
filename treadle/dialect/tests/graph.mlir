// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -emit-bytecode | treadle-opt | FileCheck %s

// The syntax of nodes: results are named after the op, tokens are omitted from the type, and uses
// may precede definitions.

// CHECK-LABEL: tfg.graph #tf_type.version<producer = 42, min_consumer = 33> {
// CHECK-NEXT:    %Placeholder, %ctl = Placeholder : () -> (tensor<*xi32>)
// CHECK-NEXT:    %AddV2, %ctl_0 = AddV2(%Placeholder, %Placeholder_1) [%ctl_2, %ctl] device("GPU") assigned_device("TPU") name("add") {note = "some"} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
// CHECK-NEXT:    %Placeholder_1, %ctl_2 = Placeholder device("CPU") name("foo/bar") : () -> (tensor<*xi32>)
// CHECK-NEXT:    %ctl_3 = NoOp
// CHECK-NEXT:    %ctl_4 = AssignVariableOp(%AddV2, %Placeholder) [%ctl_4] : tensor<*xi32>, tensor<*xi32>
// CHECK-NEXT:    %Split:2, %ctl_5 = Split(%AddV2) : (tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>)
// CHECK-NEXT:    %Merge, %ctl_6 = Merge(%NextIteration, %Split#1) : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
// CHECK-NEXT:    %NextIteration, %ctl_7 = NextIteration(%Merge) : (tensor<*xi32>) -> (tensor<*xi32>)
// CHECK-NEXT:  }
tfg.graph #tf_type.version<producer = 42, min_consumer = 33> {
  %0, %ctl0 = "tfg.Placeholder"() : () -> (tensor<*xi32>, !tf_type.control)
  %sum, %ctl1 = tfg.AddV2(%0, %1) [%ctl2, %ctl0] name("add") assigned_device("TPU") device("GPU") {note = "some"}
      : (tensor<*xi32>, tensor<*xi32>) -> tensor<*xi32>
  %1, %ctl2 = Placeholder() {_mlir_device = "CPU", _mlir_name = "foo/bar"} : () -> (tensor<*xi32>)
  %ctl3 = NoOp
  %ctl4 = AssignVariableOp(%sum, %0) [%ctl4] : tensor<*xi32>, tensor<*xi32>
  %split:2, %ctl5 = Split(%sum) : (tensor<*xi32>) -> (tensor<*xi32>, tensor<*xi32>)
  %merge, %ctl6 = Merge(%next, %split#1) : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  %next, %ctl7 = NextIteration(%merge) : (tensor<*xi32>) -> (tensor<*xi32>)
}

// CHECK-LABEL: tfg.graph #tf_type.version<producer = 1, min_consumer = 1> attributes {tfg.extra = "kept"} {
// CHECK-NEXT:  }
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> attributes {tfg.extra = "kept"} {
}
