// RUN: treadle-opt --tfg-prune="fetches=if:0" %s | FileCheck %s

// Values that a region uses are needed; dead nodes in regions are removed. An unused conditional
// without side effects is removed from a function.
// CHECK-LABEL: tfg.func @f
tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  // CHECK-NOT: name("unused")
  %u, %cu = Neg(%x) name("only_for_unused") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %a, %ca = IfRegion %p then {
    yield(%u) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "unused"} : (tensor<i1>) -> tensor<f32>
  // CHECK: IfRegion
  // CHECK-NEXT: PrintV2
  // CHECK-NEXT: yield
  %b = IfRegion %p then {
    %s, %cs = Const name("s") {dtype = !tf_type.string, value = dense<"s"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
    %n, %cn = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %pr = PrintV2(%str) name("print") : tensor<!tf_type.string>
    yield
  } else {
    yield
  } {_mlir_name = "effects"} : (tensor<i1>) -> ()
  %str, %cstr = AsString(%x) name("str") {T = f32} : (tensor<f32>) -> (tensor<!tf_type.string>)
  return(%x) : tensor<f32>
}

// A region names the function that it was created from, but doesn't call it.
// CHECK-NOT: tfg.func @gone
tfg.func @gone(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  return(%x) : tensor<f32>
}

// CHECK-LABEL: tfg.graph
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  // CHECK-NEXT: Placeholder name("p")
  // CHECK-NEXT: %[[X:.*]], %{{.*}} = Placeholder name("x")
  // CHECK-NEXT: %[[N:.*]], %{{.*}} = PartitionedCall
  // CHECK-NEXT: %{{.*}}, %[[M:.*]] = PartitionedCall
  // CHECK-NEXT: IfRegion
  // CHECK-NEXT: yield(%[[N]]) [%[[M]]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: yield(%[[X]])
  // CHECK-NEXT: } {_mlir_name = "if"{{.*}}
  // CHECK-NEXT: }
  %p, %cp = Placeholder name("p") {dtype = i1} : () -> (tensor<i1>)
  %x, %cx = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %y, %cy = Placeholder name("y") {dtype = f32} : () -> (tensor<f32>)
  %n, %cn = PartitionedCall(%p, %x) name("n") {Tin = [i1, f32], Tout = [f32], f = #tf_type.func<@callee, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  %m, %cm = PartitionedCall(%p, %x) name("m") {Tin = [i1, f32], Tout = [f32], f = #tf_type.func<@f, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
  %if, %ci = IfRegion %p then {
    %dead, %cd = Neg(%y) name("dead") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    yield(%n) [%cm] : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if", then_region_attrs = #tfg.region_attrs<{sym_name = "gone"} [] [{}]>} : (tensor<i1>) -> tensor<f32>
}

// Functions that nodes in regions call stay.
// CHECK: tfg.func @callee
// CHECK: tfg.func @f_of_region
tfg.func @callee(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  %if, %ci = IfRegion %p then {
    %n, %cn = PartitionedCall(%x) name("n") {Tin = [f32], Tout = [f32], f = #tf_type.func<@f_of_region, {}>} : (tensor<f32>) -> (tensor<f32>)
    yield(%n) : tensor<f32>
  } else {
    yield(%x) : tensor<f32>
  } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
  return(%if) : tensor<f32>
}
tfg.func @f_of_region(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {
  return(%x) : tensor<f32>
}
