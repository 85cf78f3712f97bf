// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xf32>" %s | FileCheck %s

// The position of the greatest element is found by two loops that can be vectorized: one for the
// element, and one for its first position.

// CHECK-LABEL: func.func @cluster
// CHECK: linalg.generic
// CHECK-SAME: "reduction"
// CHECK: arith.maximumf
// CHECK: linalg.generic
// CHECK-SAME: "reduction"
// CHECK: %[[BEST:.*]] = arith.ori
// CHECK: %[[AT:.*]] = arith.select %[[BEST]]
// CHECK: arith.minsi %{{.*}}, %[[AT]]
// CHECK-NOT: rc.kernel
tfg.func @f(%x: tensor<5x40xf32> {tfg.name = "x"}) -> (tensor<5xi32> {tfg.name = "y"}) {
  %i, %c0 = Const name("i") {dtype = i32, value = dense<7> : tensor<5x40xi32>} : () -> (tensor<5x40xi32>)
  %least, %c1 = Const name("least") {dtype = f32, value = dense<0xFF800000> : tensor<f32>} : () -> (tensor<f32>)
  %zero, %c2 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %y:2, %c = XlaVariadicReduceV2(%x, %i, %least, %zero) name("y") {T = [f32, i32], dimensions_to_reduce = [1], reducer = #tf_type.func<@reducer, {}>} : (tensor<5x40xf32>, tensor<5x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
  return(%y#1) : tensor<5xi32>
}
tfg.func @reducer(%a: tensor<*xf32> {tfg.name = "a"}, %i: tensor<*xi32> {tfg.name = "i"}, %b: tensor<*xf32> {tfg.name = "b"}, %j: tensor<*xi32> {tfg.name = "j"}) -> (tensor<*xf32> {tfg.name = "value"}, tensor<*xi32> {tfg.name = "position"}) {
  %more, %c0 = Greater(%a, %b) name("more") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xi1>)
  %nan, %c1 = NotEqual(%a, %a) name("nan") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xi1>)
  %wins, %c2 = LogicalOr(%more, %nan) name("wins") : (tensor<*xi1>, tensor<*xi1>) -> (tensor<*xi1>)
  %same, %c3 = Equal(%a, %b) name("same") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xi1>)
  %first, %c4 = Less(%i, %j) name("first") {T = i32} : (tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi1>)
  %tie, %c5 = LogicalAnd(%same, %first) name("tie") : (tensor<*xi1>, tensor<*xi1>) -> (tensor<*xi1>)
  %picks, %c6 = LogicalOr(%wins, %tie) name("picks") : (tensor<*xi1>, tensor<*xi1>) -> (tensor<*xi1>)
  %value, %c7 = SelectV2(%wins, %a, %b) name("value") {T = f32} : (tensor<*xi1>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %position, %c8 = SelectV2(%picks, %i, %j) name("position") {T = i32} : (tensor<*xi1>, tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)
  return(%value, %position) : tensor<*xf32>, tensor<*xi32>
}
