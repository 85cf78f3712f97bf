// RUN: treadle-opt --tfg-fuse-kernels %s | FileCheck %s
// RUN: treadle-opt --tfg-remap --allow-unregistered-dialect %s | FileCheck %s --check-prefix=REMAP

// A product doesn't get a dependency on a collective that only its epilogue depends on: by a
// control edge, a soft edge, or data. Nodes after the collective aren't fused with it, nodes before
// it are.
// CHECK-LABEL: tfg.func @epilogues
// CHECK: MatMul({{.*}}) name("hard_m")
// CHECK: BiasAdd({{.*}}) [{{.*}}] name("hard_b")
// CHECK: MatMul({{.*}}) name("soft_m")
// CHECK: BiasAdd({{.*}}) name("soft_b")
// CHECK: _FusedMatMul({{.*}}) name("data_m") {{.*}}fused_ops = ["BiasAdd"]
// CHECK: AddV2({{.*}}) name("data_a")
// CHECK: _FusedMatMul({{.*}}) name("both_m") {{.*}}fused_ops = ["BiasAdd", "Relu"]
// REMAP-LABEL: tfg.func @epilogues
// REMAP: MatMul({{.*}}) name("hard_m")
// REMAP: MatMul({{.*}}) name("soft_m")
tfg.func @epilogues(%x: tensor<8x8xf32> {tfg.name = "x"}, %v: tensor<8xf32> {tfg.name = "v"}) -> (tensor<8x8xf32> {tfg.name = "hard"}, tensor<8x8xf32> {tfg.name = "soft"}, tensor<8x8xf32> {tfg.name = "data"}, tensor<8x8xf32> {tfg.name = "both"}) {
  %n, %nc = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %s, %sc = CollectiveReduceV2(%v, %n, %n, %n) name("sum") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  %hm, %hmc = MatMul(%x, %x) name("hard_m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %hb, %hbc = BiasAdd(%hm, %v) [%sc] name("hard_b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %sm, %smc = MatMul(%x, %x) name("soft_m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %sb, %sbc = BiasAdd(%sm, %v) name("soft_b") {T = f32, _soft_inputs = ["sum"]} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %dm, %dmc = MatMul(%x, %x) name("data_m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %db, %dbc = BiasAdd(%dm, %v) name("data_b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %da, %dac = AddV2(%db, %s) name("data_a") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %bm, %bmc = MatMul(%x, %hb) name("both_m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %bb, %bbc = BiasAdd(%bm, %s) name("both_b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %br, %brc = Relu(%bb) name("both_r") {T = f32} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  return(%hb, %sb, %da, %br) : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Two collectives are both taken into account, also if one depends on the other, and so is one
// inside a call. A soft edge that contradicts other edges is ignored.
// CHECK-LABEL: tfg.func @several
// CHECK: MatMul({{.*}}) [{{.*}}] name("m")
// CHECK: BiasAdd({{.*}}) name("b")
// CHECK: MatMul({{.*}}) name("c")
// CHECK: _FusedMatMul({{.*}}) name("free") {{.*}}fused_ops = ["Relu"]
tfg.func @several(%x: tensor<8x8xf32> {tfg.name = "x"}, %v: tensor<8xf32> {tfg.name = "v"}) -> (tensor<8x8xf32> {tfg.name = "r"}, tensor<8x8xf32> {tfg.name = "d"}, tensor<8x8xf32> {tfg.name = "f"}) {
  %n, %nc = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %s, %sc = CollectiveReduceV2(%v, %n, %n, %n) name("first") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  %t, %tc = CollectiveReduceV2(%s, %n, %n, %n) name("second") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  %m, %mc = MatMul(%x, %x) [%sc] name("m") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %b, %bc = BiasAdd(%m, %t) name("b") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %e, %ec = exchanged(%v) name("called") : (tensor<8xf32>) -> (tensor<8xf32>)
  %c, %cc = MatMul(%x, %x) name("c") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %d, %dc = BiasAdd(%c, %e) name("d") {T = f32} : (tensor<8x8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>)
  %f, %fc = MatMul(%x, %x) name("free") {T = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %g, %gc = Relu(%f) name("g") {T = f32, _soft_inputs = ["late"]} : (tensor<8x8xf32>) -> (tensor<8x8xf32>)
  %u, %uc = CollectiveReduceV2(%v, %n, %n, %n) [%gc] name("late") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  return(%b, %d, %g) [%uc] : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

tfg.func @exchanged(%v: tensor<8xf32> {tfg.name = "v"}) -> (tensor<8xf32> {tfg.name = "s"}) {
  %n, %nc = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %s, %sc = CollectiveReduceV2(%v, %n, %n, %n) name("sum") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<8xf32>)
  return(%s) : tensor<8xf32>
}

// Attention whose values are communicated: the scores don't wait. A gelu whose last product is
// communicated.
// CHECK-LABEL: tfg.func @groups
// CHECK-NOT: _Attention
// CHECK: Softmax
// CHECK: _Attention({{.*}}) name("whole")
tfg.func @groups(%q: tensor<2x8x8xf32> {tfg.name = "q"}) -> (tensor<2x8x8xf32> {tfg.name = "o"}, tensor<2x8x8xf32> {tfg.name = "w"}) {
  %n, %nc = Const name("n") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
  %v, %vc = CollectiveReduceV2(%q, %n, %n, %n) name("values") {T = f32, Nordering_token = 0, final_op = "Id", merge_op = "Add"} : (tensor<2x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<2x8x8xf32>)
  %p, %pc = BatchMatMulV2(%q, %q) name("scores") {T = f32, adj_x = false, adj_y = true} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  %s, %sc = Softmax(%p) name("softmax") {T = f32} : (tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  %o, %oc = BatchMatMulV2(%s, %v) name("out") {T = f32, adj_x = false, adj_y = false} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  %p2, %p2c = BatchMatMulV2(%v, %v) name("scores2") {T = f32, adj_x = false, adj_y = true} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  %s2, %s2c = Softmax(%p2) name("softmax2") {T = f32} : (tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  %o2, %o2c = BatchMatMulV2(%s2, %v) name("whole") {T = f32, adj_x = false, adj_y = false} : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> (tensor<2x8x8xf32>)
  return(%o, %o2) : tensor<2x8x8xf32>, tensor<2x8x8xf32>
}
