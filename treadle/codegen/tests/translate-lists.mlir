// RUN: treadle-opt --split-input-file --rc-translate="function=f arguments=tensor<i32>,tensor<?xf32>" %s | FileCheck %s

// A list with unknown element shape is open before a loop that sets its elements, a tensor in the
// loop, and the tensor of its elements after it.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[OPEN:.*]] = rc.list(%{{.*}}) open : tensor<?x?xf32>
// CHECK: %[[LOOP:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[OPEN]])
// CHECK: ^bb0(%[[I:.*]]: i32, %[[LIST:.*]]: tensor<?x?xf32>)
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[I]]
// CHECK: rc.set %[[LIST]][%[[INDEX]]] = %{{.*}} : tensor<?xf32> in tensor<?x?xf32>
// CHECK: rc.stack %[[LOOP]]#1
// CHECK-NOT: rc.kernel
tfg.func @f(%n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
  %zero, %c0 = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %shape, %c1 = Const name("shape") {dtype = i32, value = dense<-1> : tensor<i32>} : () -> (tensor<i32>)
  %list, %c2 = TensorListReserve(%shape, %n) name("list") {element_dtype = f32, shape_type = i32} : (tensor<i32>, tensor<i32>) -> (tensor<!tf_type.variant>)
  %w:4, %c3 = While(%zero, %n, %x, %list) name("w") {T = [i32, i32, f32, !tf_type.variant], cond = #tf_type.func<@cond, {}>, body = #tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (tensor<i32>, tensor<i32>, tensor<*xf32>, tensor<!tf_type.variant>) -> (tensor<i32>, tensor<i32>, tensor<*xf32>, tensor<!tf_type.variant>)
  %y, %c4 = TensorListStack(%w#3, %shape) name("y") {element_dtype = f32, num_elements = -1 : i64} : (tensor<!tf_type.variant>, tensor<i32>) -> (tensor<*xf32>)
  return(%y) : tensor<*xf32>
}
tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}, %l: tensor<!tf_type.variant> {tfg.name = "l"}) -> (tensor<i1> {tfg.name = "p"}) {
  %p, %c = Less(%i, %n) name("p") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}, %l: tensor<!tf_type.variant> {tfg.name = "l"}) -> (tensor<i32> {tfg.name = "a"}, tensor<i32> {tfg.name = "b"}, tensor<*xf32> {tfg.name = "c"}, tensor<!tf_type.variant> {tfg.name = "d"}) {
  %one, %c0 = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %next, %c1 = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %set, %c2 = TensorListSetItem(%l, %i, %x) name("set") {element_dtype = f32} : (tensor<!tf_type.variant>, tensor<i32>, tensor<*xf32>) -> (tensor<!tf_type.variant>)
  return(%next, %n, %x, %set) : tensor<i32>, tensor<i32>, tensor<*xf32>, tensor<!tf_type.variant>
}

// -----

// A list is converted to a handle for an op without a translation; its elements are the rows of the
// tensor.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[ROWS:.*]] = rc.stack
// CHECK: %[[HANDLE:.*]] = rc.kernel "TensorListFromTensor" 0(%[[ROWS]],
// CHECK: rc.kernel "TensorListResize" 1(%[[HANDLE]],
// CHECK: rc.kernel "TensorListLength" 2
tfg.func @f(%n: tensor<i32> {tfg.name = "n"}, %x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "y"}) {
  %shape, %c0 = Const name("shape") {dtype = i32, value = dense<[]> : tensor<0xi32>} : () -> (tensor<0xi32>)
  %list, %c1 = TensorListFromTensor(%x, %shape) name("list") {element_dtype = f32, shape_type = i32} : (tensor<*xf32>, tensor<0xi32>) -> (tensor<!tf_type.variant>)
  %more, %c2 = TensorListResize(%list, %n) name("more") : (tensor<!tf_type.variant>, tensor<i32>) -> (tensor<!tf_type.variant>)
  %y, %c3 = TensorListLength(%more) name("y") : (tensor<!tf_type.variant>) -> (tensor<i32>)
  return(%y) : tensor<i32>
}
