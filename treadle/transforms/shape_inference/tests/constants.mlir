// RUN: treadle-opt --tfg-shape-inference %s | FileCheck %s
// Values computed from constants are constant, except those that a run may feed.

tfg.graph #tf_type.version<producer = 2474, min_consumer = 0> {
  %x, %cx = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<*xf32>)
  %a, %ca = Const name("a") {dtype = f32, value = dense<[2.0, 2.5]> : tensor<2xf32>} : () -> (tensor<2xf32>)
  %floor, %cf = Floor(%a) name("floor") {T = f32} : (tensor<2xf32>) -> (tensor<*xf32>)
  %dims, %cd = Cast(%floor) name("dims") {SrcT = f32, DstT = i32, Truncate = false} : (tensor<*xf32>) -> (tensor<*xi32>)
  %fill, %cfill = Fill(%dims, %x) name("fill") {T = f32, index_type = i32} : (tensor<*xi32>, tensor<*xf32>) -> (tensor<*xf32>)
  %given, %cg = PlaceholderWithDefault(%a) name("given") {dtype = f32, shape = #tf_type.shape<*>} : (tensor<2xf32>) -> (tensor<*xf32>)
  %again, %cagain = Identity(%given) name("again") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
}

// CHECK: Fill({{.*}} -> (tensor<2x2xf32>)
// CHECK: Identity({{.*}} -> (tensor<*xf32>)
