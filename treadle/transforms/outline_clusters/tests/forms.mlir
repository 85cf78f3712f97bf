// RUN: treadle-opt --tfg-outline-clusters %s | FileCheck %s
// RUN: treadle-opt --tfg-outline-clusters=fetches=q %s | FileCheck %s --check-prefix=ASKED

// An activation of many nodes is left to the kernel that computes it in one pass, unless a part of
// it is fetched.
// CHECK-LABEL: tfg.graph
// CHECK-NOT: _cluster
// CHECK: _GeluApproximate(%{{.*}}) name("y")
// ASKED-NOT: _GeluApproximate
tfg.graph #tf_type.version<producer = 42, min_consumer = 33> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %three, %c0 = Const name("three") {dtype = f32, value = dense<3.0> : tensor<f32>} : () -> (tensor<f32>)
  %cubic, %c1 = Const name("cubic") {dtype = f32, value = dense<4.471500e-02> : tensor<f32>} : () -> (tensor<f32>)
  %root, %c2 = Const name("root") {dtype = f32, value = dense<0.797884583> : tensor<f32>} : () -> (tensor<f32>)
  %one, %c3 = Const name("one") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %half, %c4 = Const name("half") {dtype = f32, value = dense<0.5> : tensor<f32>} : () -> (tensor<f32>)
  %p, %pc = Pow(%x, %three) name("p") {T = f32} : (tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)
  %m, %mc = Mul(%cubic, %p) name("m") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %a, %ac = AddV2(%x, %m) name("a") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
  %r, %rc = Mul(%root, %a) name("r") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %t, %tc = Tanh(%r) name("t") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  %q, %qc = AddV2(%one, %t) name("q") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %h, %hc = Mul(%half, %x) name("h") {T = f32} : (tensor<f32>, tensor<*xf32>) -> (tensor<*xf32>)
  %y, %yc = Mul(%h, %q) name("y") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
}
