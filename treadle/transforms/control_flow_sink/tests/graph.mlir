// RUN: treadle-opt --tfg-cf-sink %s | FileCheck %s --check-prefix=STAY
// RUN: treadle-opt --tfg-cf-sink="graph keep=kept feeds=fed:0" %s | FileCheck %s --check-prefix=SINK

// Nodes of the graph may be fetched, so they stay unless the option is set.
// STAY: Neg{{.*}} name("kept")
// STAY-NEXT: Neg{{.*}} name("fed")
// STAY-NEXT: Neg{{.*}} name("other")
// STAY-NEXT: IfRegion
// SINK: Neg{{.*}} name("kept")
// SINK-NEXT: Neg{{.*}} name("fed")
// SINK-NEXT: IfRegion
// SINK-NEXT: Neg{{.*}} name("other")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %k, %ck = Neg(%x) name("kept") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %f, %cf = Neg(%x) name("fed") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %o, %co = Neg(%x) name("other") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %if:4, %ci = IfRegion %p then {
    yield(%k, %f, %o, %x) : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  } else {
    yield(%x, %x, %x, %x) : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
}
