// Frames stay frames: the chain becomes a variable of the frame, and existing nodes stay. A second
// run changes nothing.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s
// RUN: treadle-opt --tfg-deps-to-chains %s > %t && treadle-opt --tfg-deps-to-chains %t | diff %t -

// CHECK-NOT: While
// CHECK: Enter({{.*}}) {{.*}} {T = !tf_type.resource, {{.*}}frame_name = "while"
// CHECK: %[[ARG:.*]], %{{.*}} = Identity(%{{.*}}#1) name("while/arg_1") {T = !tf_type.resource,
// CHECK: ReadVariableOp(%[[ARG]]) {{.*}}name("while/read")
// CHECK: %[[WRITE:.*]] = AssignVariableOp(%[[ARG]], {{.*}}name("while/write")
// CHECK: %[[ADD:.*]], %{{.*}} = AddV2({{.*}}) [%[[WRITE]]] name("while/add")
// CHECK: %[[CHAIN:.*]], %{{.*}} = Identity(%[[ARG]]) [%[[WRITE]]] name("v/next")
// CHECK: NextIteration(%[[ADD]])
// CHECK: NextIteration(%[[CHAIN]])
// CHECK: %{{.*}}, %[[EXIT:.*]] = Identity({{.*}}) name("while/exit")
// CHECK: ReadVariableOp({{.*}}) [%[[EXIT]]] name("last")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %v, %1 = VarHandleOp name("v") {container = "", dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %init = AssignVariableOp(%v, %zero) name("init") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %enter, %2 = Enter(%zero) [%init] name("while/enter") {T = i32, frame_name = "while", is_constant = false, parallel_iterations = 10 : i64} : (tensor<i32>) -> (tensor<i32>)
  %handle, %3 = Enter(%v) name("while/handle") {T = !tf_type.resource, frame_name = "while", is_constant = true, parallel_iterations = 10 : i64} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  %merge:2, %4 = Merge(%enter, %next) name("while/merge") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %three, %5 = Const [%4] name("while/three") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %less, %6 = Less(%merge#0, %three) name("while/less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %7 = LoopCond(%less) name("while/cond") : (tensor<i1>) -> (tensor<i1>)
  %switch:2, %8 = Switch(%merge#0, %cond) name("while/switch") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %i, %9 = Identity(%switch#1) name("while/i") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %one, %10 = Const [%9] name("while/one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %read, %11 = ReadVariableOp(%handle) [%9] name("while/read") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %double, %12 = AddV2(%read, %read) name("while/double") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %more, %13 = AddV2(%double, %one) name("while/more") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %write = AssignVariableOp(%handle, %more) name("while/write") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %add, %14 = AddV2(%i, %one) [%write] name("while/add") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %15 = NextIteration(%add) name("while/next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %16 = Exit(%switch#0) name("while/exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %last, %17 = ReadVariableOp(%v) [%16] name("last") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
}
