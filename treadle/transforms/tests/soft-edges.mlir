// RUN: treadle-opt --tfg-cse %s | FileCheck %s --check-prefix=CSE
// RUN: treadle-opt "--tfg-prune=fetches=late:0" %s | FileCheck %s --check-prefix=PRUNE
// RUN: treadle-opt --tfg-name-compress %s | FileCheck %s --check-prefix=SHORT
// RUN: treadle-opt --tfg-inline=keep-names=false %s | FileCheck %s --check-prefix=INLINE

// Nodes that differ in soft edges only are merged; the remaining one gets the soft edges of both.
// CSE: name("one") {{.*}}_soft_inputs = ["other"]
// CSE-NOT: name("two")
// CSE: name("late") {{.*}}_soft_inputs = ["call", "one"]

// A soft edge keeps no node alive.
// PRUNE-NOT: name("one")
// PRUNE: name("late") {T = f32} :
// PRUNE-NOT: tfg.func

// SHORT: name("c") {{.*}}_soft_inputs = ["a"]
// SHORT: name("f") {{.*}}_soft_inputs = ["c", "e"]

// Soft edges from a call become soft edges from the nodes of its results; soft edges to a call
// become soft edges to its nodes without inputs from the body.
// INLINE: name("call/n") {{.*}}_soft_inputs = ["other"]
// INLINE: name("call/m") {{.*}}_soft_inputs = ["call/n"]
// INLINE: name("late") {{.*}}_soft_inputs = ["two", "call/m"]
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %o, %oc = Abs(%x) name("other") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a, %ac = Neg(%x) name("one") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Neg(%x) name("two") {T = f32, _soft_inputs = ["other"]} : (tensor<f32>) -> (tensor<f32>)
  %s, %sc = Sub(%a, %b) name("sub") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
  %r, %rc = PartitionedCall(%x) name("call") {Tin = [f32], Tout = [f32], _soft_inputs = ["other"], f = #tf_type.func<@f, {}>} : (tensor<f32>) -> (tensor<f32>)
  %l, %lc = Exp(%x) name("late") {T = f32, _soft_inputs = ["two", "call"]} : (tensor<f32>) -> (tensor<f32>)
}

tfg.func @f(%y: tensor<f32> {tfg.name = "y"}) -> (tensor<f32> {tfg.name = "z"}) {
  %n, %nc = Neg(%y) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %m, %mc = Abs(%n) name("m") {T = f32, _soft_inputs = ["n"]} : (tensor<f32>) -> (tensor<f32>)
  return(%m) : tensor<f32>
}
