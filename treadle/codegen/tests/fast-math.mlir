// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xf32>,tensor<?xf32> fast-math" %s | FileCheck %s
// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xf32>,tensor<?xf32>" %s | FileCheck %s --check-prefix=OFF

// Each operation gets the flags that apply to it, but none that ignores infinities or NaN.

// CHECK-LABEL: func.func @cluster
// CHECK: math.exp %{{.*}} fastmath<afn> : f32
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<arcp> : f32
// CHECK: arith.cmpf oge, %{{[^ ]*}}, %{{[^ ]*}} : f32
// OFF-LABEL: func.func @cluster
// OFF-NOT: afn
// OFF-NOT: contract
// OFF: fastmath<reassoc>
// OFF-NOT: arcp
tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"}) -> (tensor<*xf32> {tfg.name = "r"}) {
  %axis, %c0 = Const name("axis") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %e, %c1 = Exp(%x) name("e") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %m, %c2 = Mul(%e, %y) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %s, %c3 = Sum(%m, %axis) name("s") {T = f32, Tidx = i32, keep_dims = true} : (tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)
  %q, %c4 = RealDiv(%m, %s) name("q") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %c5 = Maximum(%q, %y) name("r") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%r) : tensor<*xf32>
}
