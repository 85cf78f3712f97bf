// RUN: treadle-opt --tfg-constant-folding %s | FileCheck %s

// CHECK-LABEL: tfg.func @known
// CHECK: Const [%x.ctl] name("shape") {dtype = i32, value = dense<[2, 3]> : tensor<2xi32>}
// CHECK: Const [%x.ctl] name("rank") {dtype = i32, value = dense<2> : tensor<i32>}
// CHECK: Const [%x.ctl] name("size") {dtype = i64, value = dense<6> : tensor<i64>}
// CHECK: Shape(%y) name("partly")
// CHECK: Const [%{{.*}}] name("columns") {dtype = i32, value = dense<3> : tensor<i32>}
tfg.func @known(%x: tensor<2x3xf32> {tfg.name = "x"}, %y: tensor<?x3xf32> {tfg.name = "y"}) -> (tensor<*xi32> {tfg.name = "a"}, tensor<*xi32> {tfg.name = "b"}, tensor<*xi64> {tfg.name = "c"}, tensor<*xi32> {tfg.name = "d"}) {
  %s, %sc = Shape(%x) name("shape") {T = f32, out_type = i32} : (tensor<2x3xf32>) -> (tensor<*xi32>)
  %r, %rc = Rank(%x) name("rank") {T = f32} : (tensor<2x3xf32>) -> (tensor<*xi32>)
  %z, %zc = Size(%x) name("size") {T = f32, out_type = i64} : (tensor<2x3xf32>) -> (tensor<*xi64>)
  %p, %pc = Shape(%y) name("partly") {T = f32, out_type = i32} : (tensor<?x3xf32>) -> (tensor<*xi32>)
  %n1, %k1 = Const name("1") {dtype = i32, value = dense<1> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %n2, %k2 = Const name("2") {dtype = i32, value = dense<2> : tensor<1xi32>} : () -> (tensor<1xi32>)
  %d, %dc = StridedSlice(%p, %n1, %n2, %n1) name("columns") {Index = i32, T = i32, begin_mask = 0 : i64, ellipsis_mask = 0 : i64, end_mask = 0 : i64, new_axis_mask = 0 : i64, shrink_axis_mask = 1 : i64} : (tensor<*xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<*xi32>)
  return(%s, %r, %z, %d) : tensor<*xi32>, tensor<*xi32>, tensor<*xi64>, tensor<*xi32>
}

// Two transposes become one. Casts to the same dtype and reshapes to the same shape are removed.
// CHECK-LABEL: tfg.func @moves
// CHECK: %[[P:.*]], %{{.*}} = Const name("b/folded") {dtype = i32, value = dense<[2, 0, 1]> : tensor<3xi32>}
// CHECK: %[[B:.*]], %{{.*}} = Transpose(%x, %[[P]]) name("b")
// CHECK: return(%[[B]], %x, %x)
tfg.func @moves(%x: tensor<2x?x4xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "a"}, tensor<*xf32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}) {
  %p, %pc = Const name("perm") {dtype = i32, value = dense<[1, 2, 0]> : tensor<3xi32>} : () -> (tensor<3xi32>)
  %a, %ac = Transpose(%x, %p) name("a") {T = f32, Tperm = i32} : (tensor<2x?x4xf32>, tensor<3xi32>) -> (tensor<*xf32>)
  %b, %bc = Transpose(%a, %p) name("b") {T = f32, Tperm = i32} : (tensor<*xf32>, tensor<3xi32>) -> (tensor<*xf32>)
  %c, %cc = Cast(%x) name("c") {DstT = f32, SrcT = f32, Truncate = false} : (tensor<2x?x4xf32>) -> (tensor<*xf32>)
  %s, %sc = Const name("s") {dtype = i32, value = dense<[2, -1, 4]> : tensor<3xi32>} : () -> (tensor<3xi32>)
  %r, %rc = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<2x?x4xf32>, tensor<3xi32>) -> (tensor<*xf32>)
  return(%b, %c, %r) : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
