// RUN: treadle-opt --tfg-inline="explain" -verify-diagnostics %s

// A function with regions isn't inlined.
tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %i, %ci = IfRegion %p then {
    yield(%x) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "i"} : (tensor<i1>) -> tensor<f32>
  return(%i) : tensor<f32>
}
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // expected-remark@+1 {{node 'call' (PartitionedCall): function 'f' isn't inlined: its node 'i' (IfRegion) has regions; run tfg-region-to-functional first}}
  %y, %cy = PartitionedCall(%p, %x) name("call") {Tin = [i1, f32], Tout = [f32], f = #tf_type.func<@f, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
}
