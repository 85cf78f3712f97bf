// RUN: treadle-opt --tfg-v1-to-functional %s | FileCheck %s

// Merge returns the index of its input, and side effects of a branch stay in it.
// CHECK-LABEL: tfg.func @index
// CHECK: %[[IF:.*]]:2, %[[CTL:.*]] = If(%{{.*}}, %{{.*}}) name("m/If")
// CHECK: return(%[[IF]]#0, %[[IF]]#1) [%[[CTL]]
// CHECK: tfg.func @m_If_true
// CHECK: %[[PRINT:.*]] = Print
// CHECK: Const {{.*}}value = dense<0>
// CHECK: return({{.*}}) [%[[PRINT]]
// CHECK: tfg.func @m_If_false
// CHECK: Const {{.*}}value = dense<1>
tfg.func @index(%x: tensor<f32> {tfg.name = "x"}, %p: tensor<i1> {tfg.name = "p"})
    -> (tensor<f32> {tfg.name = "y"}, tensor<i32> {tfg.name = "i"}) {
  %s:2, %sc = Switch(%x, %p) name("s") {T = f32} : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
  %printc = Print(%s#1) name("print") : tensor<f32>
  %m:2, %mc = Merge(%s#1, %s#0) name("m") {N = 2 : i64, T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
  return(%m#0, %m#1) [%printc {tfg.name = "done"}] : tensor<f32>, tensor<i32>
}
