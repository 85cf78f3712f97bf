// RUN: treadle-opt --tfg-preserve-order=after=mm:add,mul:mm,mul:neg %s | FileCheck %s
// RUN: treadle-opt "--tfg-preserve-order=soft after=mm:add,mul:mm,mul:neg" %s | FileCheck %s --check-prefix=SOFT
// RUN: treadle-opt "--tfg-preserve-order=function=f after=b:a" %s | FileCheck %s --check-prefix=FUNC

// Names and existing control inputs stay; a node may follow several nodes.
// CHECK: %[[ADD:.*]], %[[ADDC:.*]] = AddV2(%[[X:.*]], %[[X]]) name("add")
// CHECK: %[[MM:.*]], %[[MMC:.*]] = MatMul({{.*}}) [%[[INIT:.*]], %[[ADDC]]] name("mm")
// CHECK: %{{.*}}, %[[NEGC:.*]] = Neg({{.*}}) name("neg")
// CHECK: Mul(%[[ADD]], %[[ADD]]) [%[[MMC]], %[[NEGC]]] name("mul")

// SOFT: MatMul(%{{[^)]*}}) [%{{[a-zA-Z_0-9]*}}] name("mm") {{.*}}_soft_inputs = ["add"]
// SOFT: Mul({{[^)]*}}) name("mul") {{.*}}_soft_inputs = ["mm", "neg"]
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %init = NoOp name("init")
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<2x2xf32>)
  %add, %addc = AddV2(%x, %x) name("add") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %mm, %mmc = MatMul(%x, %x) [%init] name("mm") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %neg, %negc = Neg(%mm) name("neg") {T = f32} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
  %mul, %mulc = Mul(%add, %add) name("mul") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
}

// FUNC-LABEL: tfg.func @f
// FUNC: %{{.*}}, %[[A:.*]] = Neg({{.*}}) name("a")
// FUNC: Abs({{.*}}) [%[[A]]] name("b")
tfg.func @f(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %a, %ac = Neg(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Abs(%x) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  return(%b) : tensor<f32>
}
