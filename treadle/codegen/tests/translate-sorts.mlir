// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xi32>" %s | FileCheck %s

// Sorts short rows whose comparator is a total order by counting, for each element, the elements
// before it.

// CHECK-LABEL: func.func @cluster
// CHECK-NOT: rc.kernel
// CHECK: arith.cmpi slt
// CHECK-NOT: rc.kernel
// CHECK: rc.store
tfg.func @f(%i: tensor<5x40xi32> {tfg.name = "i"}) -> (tensor<5x40xi32> {tfg.name = "y"}) {
  %axis, %c0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %y, %c = XlaVariadicSort(%i, %axis) name("y") {T = [i32], comparator = #tf_type.func<@less, {}>, is_stable = true} : (tensor<5x40xi32>, tensor<i32>) -> (tensor<5x40xi32>)
  return(%y) : tensor<5x40xi32>
}
tfg.func @less(%a: tensor<*xi32> {tfg.name = "a"}, %b: tensor<*xi32> {tfg.name = "b"}) -> (tensor<*xi1> {tfg.name = "l"}) {
  %l, %c = Less(%a, %b) name("l") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi1>)
  return(%l) : tensor<*xi1>
}
