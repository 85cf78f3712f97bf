// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xf32>" %s | FileCheck %s

// Arrays of bools are combined as bytes, which can be vectorized.

// CHECK-LABEL: func.func @cluster
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]{{.*}} ins(%{{.*}} : tensor<5x40xi8>) outs(%{{.*}} : tensor<i8>)
// CHECK: arith.ori %{{.*}}, %{{.*}} : i8
// CHECK: arith.trunci %{{.*}} : i8 to i1
tfg.func @f(%x: tensor<5x40xf32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "y"}) {
  %zero, %c0 = Const name("zero") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %axes, %c1 = Const name("axes") {dtype = i32, value = dense<[0, 1]> : tensor<2xi32>} : () -> (tensor<2xi32>)
  %less, %c2 = Less(%x, %zero) name("less") {T = f32} : (tensor<5x40xf32>, tensor<f32>) -> (tensor<5x40xi1>)
  %y, %c3 = Any(%less, %axes) name("y") {Tidx = i32, keep_dims = false} : (tensor<5x40xi1>, tensor<2xi32>) -> (tensor<i1>)
  return(%y) : tensor<i1>
}
