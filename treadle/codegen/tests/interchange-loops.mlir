// RUN: treadle-opt %s --rc-interchange-loops --canonicalize --split-input-file | FileCheck %s

// The loop runs until the condition of all lanes fails, and keeps the variables of lanes whose
// condition has failed: each lane runs until its own condition fails.

// CHECK-LABEL: func.func @frozen
// CHECK-SAME: (%[[X:.*]]: tensor<100xf32>)
// CHECK: rc.write %[[X]] for(%{{.*}}) parallel : tensor<100xf32>
// CHECK-NEXT: ^bb0(%[[T:.*]]: tensor<100xf32>, %[[I:.*]]: index):
// CHECK-NEXT: %[[FIRST:.*]] = tensor.extract %[[X]][%[[I]]]
// CHECK-NEXT: %[[LAST:.*]] = scf.while (%[[S:.*]] = %[[FIRST]]) : (f32) -> f32
// CHECK-NEXT: %[[LESS:.*]] = arith.cmpf olt, %[[S]], %{{.*}}
// CHECK-NEXT: %[[RUNS:.*]] = rc.running
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[LESS]], %[[RUNS]]
// CHECK-NEXT: scf.condition(%[[BOTH]]) %[[S]]
// CHECK: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[S]], %[[S]]
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: rc.store %[[T]][%[[I]]] = %[[LAST]]
// CHECK: rc.check
#map = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @frozen(%x: tensor<100xf32>) -> tensor<100xf32> {
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %r = scf.while (%s = %x) : (tensor<100xf32>) -> tensor<100xf32> {
    %e = tensor.empty() : tensor<100xi1>
    %less = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%s : tensor<100xf32>) outs(%e : tensor<100xi1>) {
    ^bb0(%in: f32, %out: i1):
      %l = arith.cmpf olt, %in, %one : f32
      linalg.yield %l : i1
    } -> tensor<100xi1>
    %e0 = tensor.empty() : tensor<i1>
    %f = linalg.fill ins(%false : i1) outs(%e0 : tensor<i1>) -> tensor<i1>
    %any = linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction"]} ins(%less : tensor<100xi1>) outs(%f : tensor<i1>) {
    ^bb0(%in: i1, %out: i1):
      %o = arith.ori %out, %in : i1
      linalg.yield %o : i1
    } -> tensor<i1>
    %c = tensor.extract %any[] : tensor<i1>
    scf.condition(%c) %s : tensor<100xf32>
  } do {
  ^bb0(%s: tensor<100xf32>):
    %e = tensor.empty() : tensor<100xf32>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%s : tensor<100xf32>) outs(%e : tensor<100xf32>) {
    ^bb0(%in: f32, %out: f32):
      %sum = arith.addf %in, %in : f32
      %l = arith.cmpf olt, %in, %one : f32
      %n = arith.select %l, %sum, %in : f32
      linalg.yield %n : f32
    } -> tensor<100xf32>
    scf.yield %next : tensor<100xf32>
  }
  return %r : tensor<100xf32>
}

// -----

// Without the select, a lane's variables depend on how long other lanes run.

// CHECK-LABEL: func.func @not_frozen
// CHECK-NOT: rc.write
// CHECK: scf.while {{.*}} tensor<100xf32>
#map = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @not_frozen(%x: tensor<100xf32>) -> tensor<100xf32> {
  %one = arith.constant 1.0 : f32
  %false = arith.constant false
  %r = scf.while (%s = %x) : (tensor<100xf32>) -> tensor<100xf32> {
    %e0 = tensor.empty() : tensor<i1>
    %f = linalg.fill ins(%false : i1) outs(%e0 : tensor<i1>) -> tensor<i1>
    %any = linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction"]} ins(%s : tensor<100xf32>) outs(%f : tensor<i1>) {
    ^bb0(%in: f32, %out: i1):
      %l = arith.cmpf olt, %in, %one : f32
      %o = arith.ori %out, %l : i1
      linalg.yield %o : i1
    } -> tensor<i1>
    %c = tensor.extract %any[] : tensor<i1>
    scf.condition(%c) %s : tensor<100xf32>
  } do {
  ^bb0(%s: tensor<100xf32>):
    %e = tensor.empty() : tensor<100xf32>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%s : tensor<100xf32>) outs(%e : tensor<100xf32>) {
    ^bb0(%in: f32, %out: f32):
      %sum = arith.addf %in, %in : f32
      linalg.yield %sum : f32
    } -> tensor<100xf32>
    scf.yield %next : tensor<100xf32>
  }
  return %r : tensor<100xf32>
}

// -----

// A loop of fixed length: a lane reads its row of a tensor in each iteration and writes one of
// another, which stays in memory; the counter, which is the same for all lanes, has a loop of its
// own.

// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%[[S:.*]]: tensor<100xf32>, %[[XS:.*]]: tensor<9x100xf32>, %[[YS:.*]]: tensor<9x100xf32>)
// CHECK: rc.write %[[S]], %[[YS]] for(%{{.*}}) parallel
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<100xf32>, %[[OUT:.*]]: tensor<9x100xf32>, %[[LANE:.*]]: index):
// CHECK: scf.while
// CHECK: %[[AT:.*]] = arith.index_cast
// CHECK: %[[IN:.*]] = tensor.extract %[[XS]][%[[AT]], %[[LANE]]]
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: rc.store %[[OUT]][%[[AT]], %[[LANE]]] = %[[SUM]]
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32
#map = affine_map<(d0) -> (d0)>
func.func @scan(%s: tensor<100xf32>, %xs: tensor<9x100xf32>, %ys: tensor<9x100xf32>) -> (i32, tensor<100xf32>, tensor<9x100xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %r:3 = scf.while (%i = %c0, %a = %s, %b = %ys) : (i32, tensor<100xf32>, tensor<9x100xf32>) -> (i32, tensor<100xf32>, tensor<9x100xf32>) {
    %l = arith.cmpi slt, %i, %c9 : i32
    scf.condition(%l) %i, %a, %b : i32, tensor<100xf32>, tensor<9x100xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<100xf32>, %b: tensor<9x100xf32>):
    %k = arith.index_cast %i : i32 to index
    %e = tensor.empty() : tensor<100xf32>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%a : tensor<100xf32>) outs(%e : tensor<100xf32>) {
    ^bb0(%in: f32, %out: f32):
      %lane = linalg.index 0 : index
      %x = tensor.extract %xs[%k, %lane] : tensor<9x100xf32>
      %sum = arith.addf %in, %x : f32
      linalg.yield %sum : f32
    } -> tensor<100xf32>
    %size = arith.constant 100 : index
    %w = rc.write %b for (%size) parallel : tensor<9x100xf32> -> tensor<9x100xf32> {
    ^bb0(%t: tensor<9x100xf32>, %lane: index):
      %v = tensor.extract %next[%lane] : tensor<100xf32>
      rc.store %t[%k, %lane] = %v : f32 in tensor<9x100xf32>
    }
    %n = arith.addi %i, %c1 : i32
    scf.yield %n, %next, %w : i32, tensor<100xf32>, tensor<9x100xf32>
  }
  return %r#0, %r#1, %r#2 : i32, tensor<100xf32>, tensor<9x100xf32>
}

// -----

// A lane that reads its neighbour isn't independent.

// CHECK-LABEL: func.func @neighbours
// CHECK-NOT: rc.write
#map = affine_map<(d0) -> (d0)>
func.func @neighbours(%x: tensor<100xf32>) -> tensor<100xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %last = arith.constant 99 : index
  %r:2 = scf.while (%i = %c0, %a = %x) : (i32, tensor<100xf32>) -> (i32, tensor<100xf32>) {
    %l = arith.cmpi slt, %i, %c9 : i32
    scf.condition(%l) %i, %a : i32, tensor<100xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<100xf32>):
    %e = tensor.empty() : tensor<100xf32>
    %next = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%e : tensor<100xf32>) {
    ^bb0(%out: f32):
      %lane = linalg.index 0 : index
      %other = arith.subi %last, %lane : index
      %v = tensor.extract %a[%other] : tensor<100xf32>
      linalg.yield %v : f32
    } -> tensor<100xf32>
    %n = arith.addi %i, %c1 : i32
    scf.yield %n, %next : i32, tensor<100xf32>
  }
  return %r#1 : tensor<100xf32>
}

// -----

// Several dimensions of which all are lanes become one, if the tensors are accessed in order; a
// complex number is carried as its parts.

// CHECK-LABEL: func.func @together
// CHECK: rc.reshape %{{.*}} : tensor<30x2xcomplex<f32>> -> tensor<60xcomplex<f32>>
// CHECK: rc.write %{{.*}} for(%c60) parallel : tensor<60xcomplex<f32>>
// CHECK: scf.while ({{.*}}) : (f32, f32, i32) -> (f32, f32, i32)
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @together(%x: tensor<30x2xcomplex<f32>>) -> tensor<30x2xcomplex<f32>> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %r:2 = scf.while (%i = %c0, %a = %x) : (i32, tensor<30x2xcomplex<f32>>) -> (i32, tensor<30x2xcomplex<f32>>) {
    %l = arith.cmpi slt, %i, %c9 : i32
    scf.condition(%l) %i, %a : i32, tensor<30x2xcomplex<f32>>
  } do {
  ^bb0(%i: i32, %a: tensor<30x2xcomplex<f32>>):
    %e = tensor.empty() : tensor<30x2xcomplex<f32>>
    %next = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<30x2xcomplex<f32>>) outs(%e : tensor<30x2xcomplex<f32>>) {
    ^bb0(%in: complex<f32>, %out: complex<f32>):
      %re = complex.re %in : complex<f32>
      %im = complex.im %in : complex<f32>
      %swapped = complex.create %im, %re : complex<f32>
      linalg.yield %swapped : complex<f32>
    } -> tensor<30x2xcomplex<f32>>
    %n = arith.addi %i, %c1 : i32
    scf.yield %n, %next : i32, tensor<30x2xcomplex<f32>>
  }
  return %r#1 : tensor<30x2xcomplex<f32>>
}
