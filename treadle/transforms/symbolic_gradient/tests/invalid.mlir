// RUN: treadle-opt --tfg-expand-symbolic-gradients --split-input-file --verify-diagnostics %s

tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // expected-error @below {{node 'g' (SymbolicGradient): in the gradient of function 'hsv': node 'd' (RGBToHSV): no gradient is defined for op 'RGBToHSV'; declare a gradient function for the function that contains it}}
  %g, %gc = SymbolicGradient(%x, %x) name("g") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@hsv, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
}
tfg.func @hsv(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %d, %dc = RGBToHSV(%x) name("d") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%d) : tensor<*xf32>
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // expected-error @below {{node 'g' (SymbolicGradient): function 'nothing' is not in the graph's library}}
  %g, %gc = SymbolicGradient(%x, %x) name("g") {Tin = [f32, f32], Tout = [f32], f = #tf_type.func<@nothing, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  // expected-error @below {{node 'g' (SymbolicGradient): it has 3 inputs and 1 outputs, but the gradient function 'neg_gradient' takes 2 and returns 1}}
  %g, %gc = SymbolicGradient(%x, %x, %x) name("g") {Tin = [f32, f32, f32], Tout = [f32], f = #tf_type.func<@neg, {}>} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
}
tfg.func @neg(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %y, %yc = Neg(%x) name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
  return(%y) : tensor<*xf32>
}
