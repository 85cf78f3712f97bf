// RUN: treadle-opt --tfg-outline-clusters="fetches=after" %s | FileCheck %s

// A loop that assigns is a cluster even if its results are unused; a read after it joins the
// cluster.
// CHECK: %[[V:.*]], %{{.*}} = VarHandleOp name("v")
// An assignment outside of a loop stays.
// CHECK: %[[FIRST:.*]] = AssignVariableOp(%[[V]], {{.*}}) name("first")
// CHECK: %[[CALL:.*]], %{{.*}} = StatefulPartitionedCall({{.*}}%[[V]]{{.*}}) [%[[FIRST]]] name("cluster") {{{.*}}_cluster = true
// CHECK: Identity(%[[CALL]]) [{{.*}}] name("after")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %v, %vc = VarHandleOp name("v") {dtype = i32, shape = #tf_type.shape<>, container = "", shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %first = AssignVariableOp(%v, %n) name("first") {dtype = i32, validate_shape = false} : tensor<!tf_type.resource>, tensor<i32>
  %w:2, %wc = While(%n, %v) [%first] name("w") {T = [i32, !tf_type.resource], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<!tf_type.resource>)
  %r, %rc = ReadVariableOp(%v) [%wc] name("after") {dtype = i32} : (tensor<!tf_type.resource>) -> (tensor<i32>)
}

tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i1> {tfg.name = "p"}) {
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %p, %c = Greater(%i, %zero) name("greater") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i32> {tfg.name = "a"}, tensor<!tf_type.resource> {tfg.name = "b"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %j, %c = Sub(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %add = AssignAddVariableOp(%v, %i) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
  return(%j, %v) [%add {tfg.name = "add"}] : tensor<i32>, tensor<!tf_type.resource>
}

// CHECK: tfg.func @cluster(
// CHECK: %{{.*}}:2, %[[LOOP:.*]] = While({{.*}}) name("w")
// CHECK: ReadVariableOp({{.*}}) [%[[LOOP]]] name("after")
