// RUN: treadle-opt %s --tfg-expand-programs | FileCheck %s

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  %x, %c0 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<2>} : () -> (tensor<2xf32>)
  // CHECK: name("platform") {{.*}}tfg.problem = #tfg.problem<unimplemented "its program: the program was exported for TPU, CUDA, not for the CPU"
  %a, %c1 = XlaCallModule(%x) name("platform") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 10 : i64, platforms = ["TPU", "CUDA"], module = ""} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("version") {{.*}}tfg.problem = #tfg.problem<unimplemented "its program: its calling convention has version 11, expected one from 2 to 10"
  %b, %c2 = XlaCallModule(%x) name("version") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 11 : i64, module = ""} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("op") {{.*}}tfg.problem = #tfg.problem<unimplemented "its program: line 1, column {{[0-9]+}}: stablehlo.custom_call @gpu is not known"
  %c, %c3 = XlaCallModule(%x) name("op") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 9 : i64, module = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { %y = stablehlo.custom_call @gpu(%x) : (tensor<2xf32>) -> tensor<2xf32> return %y : tensor<2xf32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("dtype") {{.*}}tfg.problem = #tfg.problem<"its program: input 0 of the node doesn't have the dtype of argument 0"
  %d, %c4 = XlaCallModule(%x) name("dtype") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 9 : i64, module = "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> { return %x : tensor<2xi32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("count") {{.*}}tfg.problem = #tfg.problem<"its program: it has 2 arguments and 1 results, but the node 1 and 1"
  %e, %c5 = XlaCallModule(%x) name("count") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 9 : i64, module = "func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("called") {{.*}}tfg.problem = #tfg.problem<"its program: {{.*}}it calls function 7 of the 0 in 'function_list'"
  %f, %c6 = XlaCallModule(%x) name("called") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 9 : i64, module = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { %y = stablehlo.custom_call @tf.call_tf_function(%x) {tf.backend_config = {called_index = 7 : i64, has_token_input_output = false}} : (tensor<2xf32>) -> tensor<2xf32> return %y : tensor<2xf32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("no_such_argument") {{.*}}tfg.problem = #tfg.problem<"its program: {{.*}}the size of dimension 3 of argument 0 is requested, but doesn't exist"
  %g, %c7 = XlaCallModule(%x) name("no_such_argument") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 4 : i64, dim_args_spec = ["0.3"], module = "func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("too_few") {{.*}}tfg.problem = #tfg.problem<"its program: {{.*}}@main has 1 arguments, expected at least 2"
  %h, %c8 = XlaCallModule(%x) name("too_few") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 4 : i64, dim_args_spec = ["0.0", "0.0"], module = "func.func @main(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> }"} : (tensor<2xf32>) -> (tensor<2xf32>)
  // CHECK: name("bytes") {{.*}}tfg.problem = #tfg.problem<"its program: {{.*}}the text isn't MLIR
  %i, %c9 = XlaCallModule(%x) name("bytes") {Sout = [#tf_type.shape<2>], Tin = [f32], Tout = [f32], version = 9 : i64, module = "\01\02"} : (tensor<2xf32>) -> (tensor<2xf32>)
}
