// Two calls that use different results of a function get separate copies; neither has arguments
// that only the other one needs.
// RUN: treadle-opt "--tfg-prune-arguments=graph split" %s | FileCheck %s
// RUN: treadle-opt "--tfg-prune-arguments=graph" %s | FileCheck %s --check-prefix=TOGETHER

// CHECK: PartitionedCall(%[[Z:.*]]) name("first") {Tin = [i32], Tout = [i32]
// CHECK: PartitionedCall(%[[X:.*]]) name("second") {Tin = [i32], Tout = [i32]
// TOGETHER: PartitionedCall(%{{.*}}, %{{.*}}) name("first")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %x, %0 = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %z, %1 = Placeholder name("z") {dtype = i32} : () -> (tensor<i32>)
  %a:2, %2 = PartitionedCall(%x, %z) name("first") {Tin = [i32, i32], Tout = [i32, i32], f = #tf_type.func<@bar, {}>} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %b:2, %3 = PartitionedCall(%x, %z) name("second") {Tin = [i32, i32], Tout = [i32, i32], f = #tf_type.func<@bar, {}>} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %y, %4 = AddV2(%a#0, %b#1) name("y") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
}
tfg.func @bar(%a: tensor<i32> {tfg.name = "a"}, %b: tensor<i32> {tfg.name = "b"}) -> (tensor<i32> {tfg.name = "y"}, tensor<i32> {tfg.name = "w"}) {
  %n, %c = Neg(%b) name("n") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %m, %d = Square(%a) name("m") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  return(%n, %m) : tensor<i32>, tensor<i32>
}
