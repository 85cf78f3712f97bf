// RUN: treadle-opt --tfg-outline-clusters="keep=kept fetches=user" %s | FileCheck %s

// CHECK: tfg.graph
// CHECK: %[[N:.*]], %{{.*}} = Placeholder name("n")
// CHECK: %[[X:.*]], %{{.*}} = Placeholder name("x")
// The loop and the nodes connected to it become one call; constants are copied into the function.
// CHECK: %[[CALL:.*]], %[[CTL:.*]] = PartitionedCall(%[[N]], %[[X]]) name("cluster") {Tin = [i32, f32], Tout = [f32], _cluster = true, f = #tf_type.func<@cluster, {}>}
// CHECK: Neg(%[[CALL]]) name("kept")
// A cluster may read variables; the call is then stateful and has the loop's control inputs.
// CHECK: %[[V:.*]], %{{.*}} = VarHandleOp name("v")
// CHECK: %[[PRINT:.*]] = PrintV2({{.*}}) name("print")
// CHECK: %[[USED:.*]], %[[UC:.*]] = StatefulPartitionedCall(%[[N]], %[[V]]) [%[[PRINT]]] name("cluster_1")
// A fetched node stays under its name.
// CHECK: Identity(%[[USED]]) [%[[UC]]] name("user")
// A loop that prints isn't outlined, nor is code without loops that is too small.
// CHECK: While({{.*}}) name("printing")
// CHECK: Abs({{.*}}) name("straight")
tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %zero, %zc = Const name("zero") {dtype = i32, value = dense<0> : tensor<i32>} : () -> (tensor<i32>)
  %w:3, %wc = While(%zero, %n, %x) name("pure") {T = [i32, i32, f32], body = #tf_type.func<@body, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<f32>)
  %t, %tc = Tanh(%w#2) name("tanh") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %k, %kc = Neg(%t) name("kept") {T = f32} : (tensor<f32>) -> (tensor<f32>)

  %v, %vc = VarHandleOp name("v") {dtype = f32, shape = #tf_type.shape<>, container = "", shared_name = "v"} : () -> (tensor<!tf_type.resource>)
  %s, %sc = Const name("s") {dtype = !tf_type.string, value = dense<"s"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %print = PrintV2(%s) name("print") {end = "\0A", output_stream = "stderr"} : tensor<!tf_type.string>
  %r:3, %rc = While(%n, %n, %v) [%print] name("reading") {T = [i32, i32, !tf_type.resource], body = #tf_type.func<@reading, {}>, cond = #tf_type.func<@rcond, {}>} : (tensor<i32>, tensor<i32>, tensor<!tf_type.resource>) -> (tensor<i32>, tensor<i32>, tensor<!tf_type.resource>)
  %ra, %rac = Neg(%r#0) name("negative") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %rb, %rbc = Abs(%ra) name("user") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  %p:3, %pc = While(%zero, %n, %x) name("printing") {T = [i32, i32, f32], body = #tf_type.func<@printing, {}>, cond = #tf_type.func<@cond, {}>} : (tensor<i32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<f32>)
  %a, %ac = Abs(%x) name("straight") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}

tfg.func @cond(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<i1> {tfg.name = "p"}) {
  %p, %c = Less(%i, %n) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "a"}, tensor<i32> {tfg.name = "b"}, tensor<f32> {tfg.name = "c"}) {
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %j, %c = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%j, %n, %x) : tensor<i32>, tensor<i32>, tensor<f32>
}
tfg.func @rcond(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i1> {tfg.name = "p"}) {
  %p, %c = Less(%i, %n) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  return(%p) : tensor<i1>
}
tfg.func @reading(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> (tensor<i32> {tfg.name = "a"}, tensor<i32> {tfg.name = "b"}, tensor<!tf_type.resource> {tfg.name = "c"}) {
  %r, %rc = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
  %k, %kc = Cast(%r) name("cast") {SrcT = f32, DstT = i32} : (tensor<f32>) -> (tensor<i32>)
  %j, %c = AddV2(%i, %k) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%j, %n, %v) : tensor<i32>, tensor<i32>, tensor<!tf_type.resource>
}
tfg.func @printing(%i: tensor<i32> {tfg.name = "i"}, %n: tensor<i32> {tfg.name = "n"}, %x: tensor<f32> {tfg.name = "x"}) -> (tensor<i32> {tfg.name = "a"}, tensor<i32> {tfg.name = "b"}, tensor<f32> {tfg.name = "c"}) {
  %s, %sc = Const name("s") {dtype = !tf_type.string, value = dense<"s"> : tensor<!tf_type.string>} : () -> (tensor<!tf_type.string>)
  %print = PrintV2(%s) name("print") {end = "\0A", output_stream = "stderr"} : tensor<!tf_type.string>
  %one, %oc = Const name("one") {dtype = i32, value = dense<1> : tensor<i32>} : () -> (tensor<i32>)
  %j, %c = AddV2(%i, %one) name("next") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  return(%j, %n, %x) [%print {tfg.name = "print"}] : tensor<i32>, tensor<i32>, tensor<f32>
}

// CHECK: tfg.func @cluster(%{{.*}}: tensor<i32> {tfg.name = "n"}
// CHECK: Const name("zero")
// CHECK: While({{.*}}) name("pure")
// CHECK: Tanh({{.*}}) name("tanh")
