// The attribute _chained is ignored: a side effect that was added to a loop with chains gets one.
// RUN: treadle-opt --tfg-deps-to-chains %s | FileCheck %s
// RUN: treadle-opt --tfg-deps-to-chains %s > %t && treadle-opt --tfg-deps-to-chains %t | diff %t -

// CHECK: %[[SAY:.*]] = PrintV2({{.*}}) [%chain.ctl] name("say")
// CHECK: Identity(%chain) [%[[SAY]]] name("chain/next")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %Placeholder, %ctl = Placeholder name("n") {dtype = i32, shape = #tf_type.shape<>} : () -> (tensor<i32>)
  %VarHandleOp, %ctl_0 = VarHandleOp name("v") {container = "", dtype = i32, shape = #tf_type.shape<>, shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %Const, %ctl_1 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %ctl_2 = AssignVariableOp(%VarHandleOp, %Const) name("init") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %Const_3, %ctl_4 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %While:3, %ctl_5 = While(%Placeholder, %Const_3, %VarHandleOp) name("while") {T = [i32, i32, !tf_type.resource], _chained = true, body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>, output_shapes = [#tf_type.shape<>, #tf_type.shape<>, #tf_type.shape<>], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<i32>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<i32>, tensor<!tf_type.resource>)
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, 
               %s: tensor<i32> {tfg.name = "s"}, 
               %v: tensor<!tf_type.resource> {tfg.name = "v"})
     -> (tensor<i1> {tfg.name = "more"})
 {
  %Const, %ctl = Const name("z") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %Greater, %ctl_0 = Greater(%i, %Const) name("greater") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%Greater) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, 
               %s: tensor<i32> {tfg.name = "s"}, 
               %v: tensor<!tf_type.resource> {tfg.name = "v"})
     -> (tensor<i32> {tfg.name = "i_out"}, 
         tensor<i32> {tfg.name = "s_out"}, 
         tensor<!tf_type.resource> {tfg.name = "v_out"})
 {
  %Const, %ctl = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %ReadVariableOp, %ctl_0 = ReadVariableOp(%v) name("r") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %Square, %ctl_1 = Square(%ReadVariableOp) name("expensive") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %AddV2, %ctl_2 = AddV2(%s, %Square) name("s_next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %ctl_3 = AssignAddVariableOp(%v, %Const) [%ctl_0] name("assign") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  %Sub, %ctl_4 = Sub(%i, %Const) name("i_next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %Identity, %ctl_5 = Identity(%Sub) name("o0") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %Identity_6, %ctl_7 = Identity(%AddV2) name("o1") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %Identity_8, %ctl_9 = Identity(%v) name("o2") {T = !tf_type.resource} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  %Identity_10, %ctl_11 = Identity(%v) [%ctl_3] name("v/next") {T = !tf_type.resource} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  %text, %ctext = Const name("text") {dtype = !tf_type.string, value = dense<"effect"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %cprint = PrintV2(%text) name("say") {end = "\0A", output_stream = "stdout"} : tensor<!tf_type.string>
  return(%Identity, %Identity_6, %Identity_10) : tensor<i32>, tensor<i32>, tensor<!tf_type.resource>
}
