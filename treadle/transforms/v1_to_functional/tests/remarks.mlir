// RUN: treadle-opt --tfg-v1-to-functional --verify-diagnostics %s

// The loop has no condition.
tfg.func @endless(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  // expected-remark @+1 {{loop 'endless' isn't converted: it has no LoopCond}}
  %enter, %enterc = Enter(%x) name("enter") {T = i32, frame_name = "endless"} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%enter) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%exit) : tensor<i32>
}

// A frame whose values never change ends after its first iteration.
tfg.func @once(%x: tensor<i32> {tfg.name = "x"}, %p: tensor<i1> {tfg.name = "p"}) -> (tensor<i32> {tfg.name = "y"}) {
  %enter, %enterc = Enter(%x) name("enter") {T = i32, frame_name = "once", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %q, %qc = Enter(%p) name("q") {T = i1, frame_name = "once", is_constant = true} : (tensor<i1>) -> (tensor<i1>)
  // expected-remark @+1 {{loop 'once' isn't converted: it has no NextIteration}}
  %c, %cc = LoopCond(%q) name("c") : (tensor<i1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%enter, %c) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%exit) : tensor<i32>
}

// A node that runs when the loop ends isn't part of its body.
tfg.func @at_the_end(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %enter, %enterc = Enter(%x) name("enter") {T = i32, frame_name = "end"} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %mc = Merge(%enter, %next) name("merge") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %less, %lessc = Less(%m#0, %m#0) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %c, %cc = LoopCond(%less) name("c") : (tensor<i1>) -> (tensor<i1>)
  // expected-remark @+1 {{loop 'end' isn't converted: the loop uses the false output of node 's'}}
  %s:2, %sc = Switch(%m#0, %c) name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %print, %printc = Print(%s#0, %s#0) name("print") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %nextc = NextIteration(%s#1) name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%exit) : tensor<i32>
}

// The control input of the Switch delays the value's exit until it was printed.
tfg.func @late(%x: tensor<i32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %enter, %enterc = Enter(%x) name("enter") {T = i32, frame_name = "late"} : (tensor<i32>) -> (tensor<i32>)
  %m:2, %mc = Merge(%enter, %next) name("merge") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %print, %printc = Print(%m#0, %m#0) name("print") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %less, %lessc = Less(%m#0, %m#0) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %c, %cc = LoopCond(%less) name("c") : (tensor<i1>) -> (tensor<i1>)
  // expected-remark @+1 {{loop 'late' isn't converted: node 's' has control inputs}}
  %s:2, %sc = Switch(%m#0, %c) [%printc] name("s") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %next, %nextc = NextIteration(%s#1) name("next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%exit) : tensor<i32>
}

tfg.func @reference(%p: tensor<i1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %v, %vc = VariableV2 name("v") {dtype = f32} : () -> (tensor<!tf_type.f32ref>)
  // expected-remark @+1 {{conditional of node 's' isn't converted: node 's' takes a reference to a variable}}
  %s:2, %sc = RefSwitch(%v, %p) name("s") {T = f32} : (tensor<!tf_type.f32ref>, tensor<i1>) -> (tensor<!tf_type.f32ref>, tensor<!tf_type.f32ref>)
  %m:2, %mc = RefMerge(%s#0, %s#1) name("m") {N = 2 : i64, T = f32} : (tensor<!tf_type.f32ref>, tensor<!tf_type.f32ref>) -> (tensor<!tf_type.f32ref>, tensor<i32>)
  return(%m#0) : tensor<!tf_type.f32ref>
}

tfg.func @one_branch(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  // expected-remark @+1 {{conditional of node 's' isn't converted: its branches are not joined by a Merge}}
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return(%s#1) : tensor<f32>
}

// An If would accept any number as the predicate.
tfg.func @number(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i32> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  // expected-remark @+1 {{conditional of node 's' isn't converted: node 's' has a predicate that isn't a boolean scalar}}
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  %m:2, %mc = Merge(%s#0, %s#1) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return(%m#0) : tensor<f32>
}

// So would a While.
tfg.func @many(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<2xi1> {tfg.name = "p"}) -> (tensor<f32> {tfg.name = "y"}) {
  %enter, %enterc = Enter(%x) name("enter") {T = f32, frame_name = "many"} : (tensor<f32>) -> (tensor<f32>)
  %q, %qc = Enter(%p) name("q") {T = i1, frame_name = "many", is_constant = true} : (tensor<2xi1>) -> (tensor<2xi1>)
  %m:2, %mc = Merge(%enter, %next) name("merge") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  // expected-remark @+1 {{loop 'many' isn't converted: its condition isn't a boolean scalar}}
  %c, %cc = LoopCond(%q) name("c") : (tensor<2xi1>) -> (tensor<i1>)
  %s:2, %sc = Switch(%m#0, %c) name("switch") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %next, %nextc = NextIteration(%s#1) name("next") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %exit, %exitc = Exit(%s#0) name("exit") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%exit) : tensor<f32>
}

// The sum may be dead while the loop isn't; a While has all of its values or none.
tfg.func @dead_in_part(%no: tensor<i1> {tfg.name = "no"}, %n: tensor<i32> {tfg.name = "n"}) -> (tensor<i32> {tfg.name = "count"}) {
  %dead:2, %0 = Switch(%n, %no) name("dead") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %start, %1 = Enter(%n) name("start") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  // expected-remark @+1 {{loop 'f' isn't converted: node 'bound' may be dead while the rest of the loop runs}}
  %bound, %2 = Enter(%dead#1) name("bound") {T = i32, frame_name = "f", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %total, %3 = Enter(%n) name("total") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %i:2, %4 = Merge(%start, %inext) name("i") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %t:2, %5 = Merge(%total, %tnext) name("t") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %less, %6 = Less(%i#0, %i#0) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %7 = LoopCond(%less) name("cond") : (tensor<i1>) -> (tensor<i1>)
  %is:2, %8 = Switch(%i#0, %cond) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ts:2, %9 = Switch(%t#0, %cond) name("ts") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %sum, %10 = AddV2(%ts#1, %bound) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %inext, %11 = NextIteration(%is#1) name("inext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  // expected-remark @+1 {{conditional of node 'dead' isn't converted: it crosses the boundary of a loop that isn't converted}}
  %tnext, %12 = NextIteration(%sum) name("tnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %count, %13 = Exit(%is#0) name("count") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %sums, %14 = Exit(%ts#0) name("sums") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%count) : tensor<i32>
}

// A single node would depend on itself: the bound of the sum enters after the count has left.
tfg.func @feedback(%n: tensor<i32> {tfg.name = "n"}) -> (tensor<i32> {tfg.name = "sum"}) {
  // expected-remark @+1 {{loop 'f' isn't converted: its inputs depend on its own results}}
  %start, %1 = Enter(%n) name("start") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %i:2, %2 = Merge(%start, %inext) name("i") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %less, %3 = Less(%i#0, %i#0) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %4 = LoopCond(%less) name("cond") : (tensor<i1>) -> (tensor<i1>)
  %is:2, %5 = Switch(%i#0, %cond) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %inext, %6 = NextIteration(%is#1) name("inext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %count, %7 = Exit(%is#0) name("count") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %zero, %8 = Const [%7] name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %total, %9 = Enter(%zero) name("total") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %t:2, %10 = Merge(%total, %tnext) name("t") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %ts:2, %11 = Switch(%t#0, %cond) name("ts") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %sum, %12 = AddV2(%ts#1, %is#1) name("sum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %tnext, %13 = NextIteration(%sum) name("tnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %sums, %14 = Exit(%ts#0) name("sums") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%sums) : tensor<i32>
}
