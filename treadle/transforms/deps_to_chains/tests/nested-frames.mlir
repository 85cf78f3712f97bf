// The outer frame isn't converted, because a node uses the value index of its Merge. The chain of
// the inner one starts in it: the Const depends on the inner frame's input.
// RUN: treadle-opt --tfg-deps-to-chains="loop-overlap=on" %s | FileCheck %s

// CHECK: %{{.*}}, %[[OUTER:.*]] = Merge(%{{.*}}, %{{.*}}) name("f/i")
// CHECK: %[[CHAIN:.*]], %{{.*}} = Const [%[[OUTER]]] name("{{.*}}chain")
// CHECK: Enter(%[[CHAIN]])
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %zero, %0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %three, %1 = Const name("three") {dtype = i32, value = dense<3> : tensor<i32>} : () -> (tensor<i32>)
  %enter, %2 = Enter(%zero) name("f/enter") {T = i32, frame_name = "f"} : (tensor<i32>) -> (tensor<i32>)
  %limit, %3 = Enter(%three) name("f/limit") {T = i32, frame_name = "f", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %i:2, %4 = Merge(%enter, %next) name("f/i") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %which, %5 = Identity(%i#1) name("f/which") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %less, %6 = Less(%i#0, %limit) name("f/less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %cond, %7 = LoopCond(%less) name("f/cond") : (tensor<i1>) -> (tensor<i1>)
  %switch:2, %8 = Switch(%i#0, %cond) name("f/switch") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)

  %ienter, %10 = Enter(%i#0) name("g/enter") {T = i32, frame_name = "g"} : (tensor<i32>) -> (tensor<i32>)
  %ilimit, %11 = Enter(%limit) name("g/limit") {T = i32, frame_name = "g", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %j:2, %12 = Merge(%ienter, %inext) name("g/j") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %iless, %13 = Less(%j#0, %ilimit) name("g/less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %icond, %14 = LoopCond(%iless) name("g/cond") : (tensor<i1>) -> (tensor<i1>)
  %iswitch:2, %15 = Switch(%j#0, %icond) name("g/switch") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ione, %16 = Const [%15] name("g/one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %istep, %17 = AddV2(%iswitch#1, %ione) name("g/step") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %print, %18 = Print(%istep, %istep) name("g/print") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %inext, %19 = NextIteration(%istep) [%18] name("g/next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %iexit, %20 = Exit(%iswitch#0) name("g/exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  %step, %21 = AddV2(%switch#1, %which) [%20] name("f/step") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %next, %22 = NextIteration(%step) name("f/next") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %exit, %23 = Exit(%switch#0) name("f/exit") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
