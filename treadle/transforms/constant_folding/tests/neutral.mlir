// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s

// x + 0.0 isn't x if x is -0.0, but x + -0.0 is.
// CHECK-LABEL: tfg.func @floats
// CHECK: AddV2{{.*}}name("plus")
// CHECK: Identity(%x) name("minus")
// CHECK: Identity(%x) name("plusminus")
// CHECK: Identity(%x) name("times")
// CHECK: Mul{{.*}}name("wider")
// CHECK: return(%{{.*}}, %x, %x, %x, %{{.*}})
tfg.func @floats(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<*xf32> {tfg.name = "d"}, tensor<*xf32> {tfg.name = "e"}) {
  %n0, %k0 = Const name("zero") {dtype = f32, value = dense<0.0> : tensor<f32>} : () -> (tensor<f32>)
  %n, %nc = Const name("negzero") {dtype = f32, value = dense<-0.0> : tensor<f32>} : () -> (tensor<f32>)
  %n1, %k1 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %v, %vc = Const name("ones") {dtype = f32, value = dense<1.0> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %a, %ac = AddV2(%x, %n0) name("plus") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %b, %bc = Sub(%x, %n0) name("minus") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %c, %cc = AddV2(%n, %x) name("plusminus") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %d, %dc = Mul(%n1, %x) name("times") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %e, %ec = Mul(%v, %x) name("wider") {T = f32} : (tensor<2xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  return(%a, %b, %c, %d, %e) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: tfg.func @others
// CHECK: Identity(%x) name("over")
// CHECK: Const [%{{.*}}] name("none") {dtype = i32, value = dense<0> : tensor<2xi32>}
// CHECK: NotEqual(%x, %x) name("differ")
// CHECK: Neg
// CHECK: return(%x, %{{.*}}, %{{.*}}, %x)
tfg.func @others(%x: tensor<2xi32> {tfg.name = "x"}) -> (tensor<*xi32> {tfg.name = "a"}, tensor<2xi32> {tfg.name = "b"}, tensor<*xi1> {tfg.name = "c"}, tensor<*xi32> {tfg.name = "d"}) {
  %n0, %k0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %n1, %k1 = Const name("ones") {dtype = i32, value = dense<1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %a, %ac = FloorDiv(%x, %n1) name("over") {T = i32} : (tensor<2xi32>, tensor<1xi32>) -> (tensor<*xi32>)
  %b, %bc = Mul(%x, %n0) name("none") {T = i32} : (tensor<2xi32>, tensor<i32>) -> (tensor<2xi32>)
  %e, %ec = Equal(%x, %x) name("same") {T = i32} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<*xi1>)
  %c, %cc = LogicalNot(%e) name("differ") : (tensor<*xi1>) -> (tensor<*xi1>)
  %n, %nc = Neg(%x) name("neg") {T = i32} : (tensor<2xi32>) -> (tensor<*xi32>)
  %d, %dc = Neg(%n) name("negneg") {T = i32} : (tensor<*xi32>) -> (tensor<*xi32>)
  return(%a, %b, %c, %d) : tensor<*xi32>, tensor<2xi32>, tensor<*xi1>, tensor<*xi32>
}

// A rule for a form applies to all of its ops.
// CHECK-LABEL: tfg.func @forms
// CHECK: Identity(%x) name("cast")
tfg.func @forms(%x: tensor<2x3xi32> {tfg.name = "x"}) -> (tensor<2x3xi32> {tfg.name = "y"}) {
  %y, %yc = _HostCast(%x) name("cast") {SrcT = i32, DstT = i32} : (tensor<2x3xi32>) -> (tensor<2x3xi32>)
  return(%y) : tensor<2x3xi32>
}
