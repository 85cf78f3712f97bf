// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s

// A result that would be too large to store isn't computed at all: this one has 4 TB.
// CHECK: Fill({{.*}}) name("large")
// CHECK: Range({{.*}}) name("range")
// CHECK: Range({{.*}}) name("floats")
// CHECK: Const name("small") {{.*}}dense<1.000000e+00> : tensor<3xf32>
tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
  %d, %dc = Const name("d") {dtype = i64, value = dense<[1000000, 1000000]> : tensor<2xi64>} : () -> (tensor<2xi64>)
  %s, %sc = Const name("s") {dtype = i64, value = dense<3> : tensor<1xi64>} : () -> (tensor<1xi64>)
  %v, %vc = Const name("v") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
  %l, %lc = Fill(%d, %v) name("large") {T = f32, index_type = i64} : (tensor<2xi64>, tensor<f32>) -> (tensor<*xf32>)
  %a, %ac = Const name("a") {dtype = i64, value = dense<0> : tensor<i64>} : () -> (tensor<i64>)
  %b, %bc = Const name("b") {dtype = i64, value = dense<1000000000000> : tensor<i64>} : () -> (tensor<i64>)
  %c, %cc = Const name("c") {dtype = i64, value = dense<1> : tensor<i64>} : () -> (tensor<i64>)
  %r, %rc = Range(%a, %b, %c) name("range") {Tidx = i64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<*xi64>)
  %p, %pc = Const name("p") {dtype = f64, value = dense<0.5> : tensor<f64>} : () -> (tensor<f64>)
  %q, %qc = Const name("q") {dtype = f64, value = dense<1.0e12> : tensor<f64>} : () -> (tensor<f64>)
  %g, %gc = Range(%p, %q, %p) name("floats") {Tidx = f64} : (tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<*xf64>)
  %f, %fc = Fill(%s, %v) name("small") {T = f32, index_type = i64} : (tensor<1xi64>, tensor<f32>) -> (tensor<*xf32>)
}
