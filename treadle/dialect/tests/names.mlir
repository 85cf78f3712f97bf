// RUN: treadle-opt %s | treadle-opt | FileCheck %s

// What reads back as something else must not be printed: arguments whose names clash stay
// apart from each other and from tokens.

// CHECK:      tfg.func @clash(%a_b: tensor<i1> {tfg.name = "a/b"},
// CHECK-NEXT:                 %a_b_0: tensor<i1> {tfg.name = "a b"},
// CHECK-NEXT:                 %a_b.ctl_0: tensor<i1> {tfg.name = "a_b.ctl"},
// CHECK-NEXT:                 %_1st: tensor<i1> {tfg.name = "1st"},
// CHECK-NEXT:                 %arg8: tensor<i1>)
// CHECK: NoOp [%a_b.ctl, %a_b_0.ctl, %a_b.ctl_0.ctl, %_1st.ctl, %arg8.ctl]
tfg.func @clash(%a: tensor<i1> {tfg.name = "a/b"}, %b: tensor<i1> {tfg.name = "a b"},
                %c: tensor<i1> {tfg.name = "a_b.ctl"}, %d: tensor<i1> {tfg.name = "1st"},
                %e: tensor<i1>) {
  %ctl = NoOp [%a.ctl, %b.ctl, %c.ctl, %d.ctl, %e.ctl]
  return
}

// An op whose name is no bare identifier prints in the generic form.
// CHECK: tfg.graph
// CHECK: "tfg.Addons>Op"(%{{.*}}) {_mlir_name = "x"} : (!tf_type.control) -> !tf_type.control
// CHECK: tfg.ns.Op name("dot")
// CHECK: NoOp name("quote\22 and \0A")
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %0 = "tfg.Addons>Op"(%0) {_mlir_name = "x"} : (!tf_type.control) -> (!tf_type.control)
  %1 = tfg.ns.Op name("dot")
  %2 = NoOp name("quote\" and \n")
}
