// RUN: treadle-opt "--tfg-inline=explain" %s 2>&1 | FileCheck %s

// CHECK-DAG: remark: node 'n' (fixed): function 'fixed' isn't inlined: its attribute '_noinline' is true
// CHECK-DAG: remark: node 'r' (loop): function 'loop' isn't inlined: it calls itself
// CHECK-DAG: remark: node 'q' (queue): function 'queue' isn't inlined: its node 'fifo' (FIFOQueueV2) owns an unnamed resource
// CHECK-DAG: remark: node 'c' (conditional): function 'conditional' isn't inlined: its node 'print' (PrintV2) has side effects and depends on a Switch or Enter
// CHECK-DAG: remark: node 'few' (loop): function 'loop' isn't inlined: it calls itself
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %n, %nc = fixed(%x) name("n") : (tensor<f32>) -> (tensor<f32>)
  %r, %rc = loop(%x) name("r") : (tensor<f32>) -> (tensor<f32>)
  %q, %qc = queue name("q") : () -> (tensor<!tf_type.resource>)
  %p, %pc = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %s, %sc = Placeholder name("s") {dtype = !tf_type.string} : () -> (tensor<!tf_type.string>)
  %c = conditional(%p, %s) name("c") : tensor<i1>, tensor<!tf_type.string>
}
tfg.func @fixed(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) attributes {_noinline = true} {
  return(%x) : tensor<f32>
}
tfg.func @loop(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %y, %yc = loop(%x) name("few") : (tensor<f32>) -> (tensor<f32>)
  return(%y) : tensor<f32>
}
tfg.func @queue() -> (tensor<!tf_type.resource> {tfg.name = "y"}) {
  %y, %yc = FIFOQueueV2 name("fifo") {component_types = [f32], container = "", shared_name = ""} : () -> (tensor<!tf_type.resource>)
  return(%y) : tensor<!tf_type.resource>
}
tfg.func @conditional(%p: tensor<i1> {tfg.name = "p"}, %s: tensor<!tf_type.string> {tfg.name = "s"}) {
  %t:2, %tc = Switch(%s, %p) name("switch") {T = !tf_type.string} : (tensor<!tf_type.string>, tensor<i1>) -> (tensor<!tf_type.string>, tensor<!tf_type.string>)
  %w = PrintV2(%t#1) name("print") {end = "\n", output_stream = "stderr"} : tensor<!tf_type.string>
  return [%w {tfg.name = "w"} ]
}
