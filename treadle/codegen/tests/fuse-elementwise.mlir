// RUN: treadle-opt --rc-fuse-elementwise %s | FileCheck %s

// A producer is fused into its consumer; one with two consumers is computed once, in one loop with
// both.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK: arith.negf
// CHECK: math.exp
// CHECK: math.absf
// CHECK: math.sqrt
// CHECK-NOT: linalg.generic
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @cluster(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %empty = tensor.empty(%size) : tensor<?xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = arith.negf %e : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = math.exp %e : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%b : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = math.absf %e : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%b : tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = math.sqrt %e : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %c, %d : tensor<?xf32>, tensor<?xf32>
}

// A reduction of two results combines elements one after the other: functions keep a loop of their
// own, which is vectorized.

// CHECK-LABEL: func.func @greatest
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.negf
// CHECK-NEXT: linalg.index
// CHECK-NOT: linalg.generic
func.func @greatest(%x: tensor<16x?xf32>) -> tensor<16xindex> {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<16x?xf32>
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty(%size) : tensor<16x?xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x?xf32>) outs(%empty : tensor<16x?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.sin %e : f32
    %t = math.tanh %s : f32
    %v = math.exp %t : f32
    linalg.yield %v : f32
  } -> tensor<16x?xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<16x?xf32>) outs(%empty : tensor<16x?xf32>) {
  ^bb0(%e: f32, %o: f32):
    %v = arith.negf %e : f32
    linalg.yield %v : f32
  } -> tensor<16x?xf32>
  %values = tensor.empty() : tensor<16xf32>
  %places = tensor.empty() : tensor<16xindex>
  %start = linalg.fill ins(%least : f32) outs(%values : tensor<16xf32>) -> tensor<16xf32>
  %first = linalg.fill ins(%zero : index) outs(%places : tensor<16xindex>) -> tensor<16xindex>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%b : tensor<16x?xf32>) outs(%start, %first : tensor<16xf32>, tensor<16xindex>) {
  ^bb0(%e: f32, %greatest: f32, %place: index):
    %at = linalg.index 1 : index
    %wins = arith.cmpf ogt, %e, %greatest : f32
    %value = arith.select %wins, %e, %greatest : f32
    %where = arith.select %wins, %at, %place : index
    linalg.yield %value, %where : f32, index
  } -> (tensor<16xf32>, tensor<16xindex>)
  return %r#1 : tensor<16xindex>
}
