// RUN: treadle-opt --tfg-v1-to-functional --verify-diagnostics %s

// Nothing says when it ends.
tfg.func @endless(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  // expected-remark @+1 {{loop 'endless' stays as it is: it has no LoopCond}}
  %enter, %enterc = Enter(%x) name("enter") {T = i32, frame_name = "endless"} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%enter) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%exit) : tensor<i32>
}

tfg.func @reference(%p: tensor<i1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %v, %vc = VariableV2 name("v") {dtype = f32} : () -> (tensor<!tf_type.f32ref>)
  // expected-remark @+1 {{conditional of node 's' stays as it is: node 's' takes a reference to a variable}}
  %s:2, %sc = RefSwitch(%v, %p) name("s") {T = f32} : (tensor<!tf_type.f32ref>, tensor<i1>) -> (tensor<!tf_type.f32ref>, tensor<!tf_type.f32ref>)
  %m:2, %mc = RefMerge(%s#0, %s#1) name("m") {N = 2 : i64, T = f32} : (tensor<!tf_type.f32ref>, tensor<!tf_type.f32ref>) -> (tensor<!tf_type.f32ref>, tensor<i32>)
  return(%m#0) : tensor<!tf_type.f32ref>
}

tfg.func @one_branch(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  // expected-remark @+1 {{conditional of node 's' stays as it is: no Merge joins its branches}}
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return(%s#1) : tensor<f32>
}

// An If would take any number for true or false.
tfg.func @number(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i32> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  // expected-remark @+1 {{conditional of node 's' stays as it is: node 's' has a predicate that is no bool scalar}}
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  %m:2, %mc = Merge(%s#0, %s#1) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return(%m#0) : tensor<f32>
}

// So would a While.
tfg.func @many(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<2xi1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %enter, %enterc = Enter(%x) name("enter") {T = f32, frame_name = "many"} : (tensor<f32>) -> (tensor<f32>)
  %q, %qc = Enter(%p) name("q") {T = i1, frame_name = "many", is_constant = true} : (tensor<2xi1>) -> (tensor<2xi1>)
  %m:2, %mc = Merge(%enter, %next) name("merge") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  // expected-remark @+1 {{loop 'many' stays as it is: its condition is no bool scalar}}
  %c, %cc = LoopCond(%q) name("c") : (tensor<2xi1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %c) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %next, %nextc = NextIteration(%s#1) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%exit) : tensor<f32>
}
