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
