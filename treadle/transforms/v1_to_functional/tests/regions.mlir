// RUN: treadle-opt --tfg-v1-to-functional -verify-diagnostics %s | FileCheck %s

// A v1 conditional in a body with regions isn't converted.
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // CHECK: Switch
  %s:2, %cs = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  // CHECK: IfRegion
  // expected-remark@+1 {{node 'i' (IfRegion) has regions, so the v1 control flow around it isn't converted; run tfg-region-to-functional first}}
  %i, %ci = IfRegion %p then {
    yield(%s#1) : tensor<f32>
  } else {
    yield(%s#1) : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  // CHECK: Merge
  %m:2, %cm = Merge(%s#0, %i) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
}
