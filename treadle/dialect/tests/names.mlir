// RUN: treadle-opt %s | treadle-opt | FileCheck %s

// Printed names must parse back to the same IR: arguments with clashing names remain distinct from
// each other and from tokens.

// CHECK:      tfg.func @clash(%a2Fb: tensor<i1> {tfg.name = "a/b"},
// CHECK-NEXT:                 %a2Fb_0: tensor<i1> {tfg.name = "a2Fb"},
// CHECK-NEXT:                 %a2Fb.ctl_0: tensor<i1> {tfg.name = "a2Fb.ctl"},
// CHECK-NEXT:                 %_1st: tensor<i1> {tfg.name = "1st"},
// CHECK-NEXT:                 %arg0: tensor<i1>)
// CHECK: NoOp [%a2Fb.ctl, %a2Fb_0.ctl, %a2Fb.ctl_0.ctl, %_1st.ctl, %arg0.ctl]
tfg.func @clash(%a: tensor<i1> {tfg.name = "a/b"}, %b: tensor<i1> {tfg.name = "a2Fb"},
                %c: tensor<i1> {tfg.name = "a2Fb.ctl"}, %d: tensor<i1> {tfg.name = "1st"},
                %e: tensor<i1>) {
  %ctl = NoOp [%a.ctl, %b.ctl, %c.ctl, %d.ctl, %e.ctl]
  return
}

// An op whose name isn't a bare identifier prints in the generic form.
// CHECK: tfg.graph
// CHECK: "tfg.Addons>Op"(%{{.*}}) {_mlir_name = "x"} : (!tf_type.control) -> !tf_type.control
// CHECK: tfg.ns.Op name("dot")
// CHECK: NoOp name("quote\22 and \0A")
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0 = "tfg.Addons>Op"(%0) {_mlir_name = "x"} : (!tf_type.control) -> (!tf_type.control)
  %1 = tfg.ns.Op name("dot")
  %2 = NoOp name("quote\" and \n")
}
