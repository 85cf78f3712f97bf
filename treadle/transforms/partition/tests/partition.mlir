// RUN: treadle-opt "--tfg-partition=rank=0 ranks=2 fetches=b" %s | FileCheck %s --check-prefix=ZERO
// RUN: treadle-opt "--tfg-partition=rank=1 ranks=2 fetches=b" %s | FileCheck %s --check-prefix=ONE
// RUN: not treadle-opt "--tfg-partition=rank=0 ranks=1" %s 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not treadle-opt "--tfg-partition=rank=2 ranks=2" %s 2>&1 | FileCheck %s --check-prefix=RANK

// FEW: error: node 'b' is placed on task 1, but there is 1 process; start more: mpirun -n 2
// RANK: error: rank is 2, expected a number from 0 below 2

// A fetched value from another rank has its name on this one.
// ZERO: %[[A:.*]], %{{.*}} = Neg({{.*}}) device("/job:worker/task:0") name("a")
// ZERO: _Send(%[[A]]) {{.*}}recv_device = "/job:worker/replica:0/task:1/device:CPU:0"{{.*}}tensor_name = "a:0"
// ZERO-NOT: Abs
// ZERO: %{{.*}}, %[[D:.*]] = _Recv {{.*}}tensor_name = "b:control"
// ZERO: %[[B:.*]], %{{.*}} = _Recv name("b/recv") {{.*}}send_device = "/job:worker/replica:0/task:1/device:CPU:0"{{.*}}tensor_name = "b:0"
// ZERO: Exp({{.*}}) [%[[D]]] name("all")
// ZERO: Identity(%[[B]]) name("b")

// ONE-NOT: Neg
// ONE: %[[A:.*]], %{{.*}} = _Recv name("a/recv")
// ONE: %[[B:.*]], %[[BC:.*]] = Abs(%[[A]])
// ONE: %[[D:.*]], %{{.*}} = Const [%[[BC]]]
// ONE: _Send(%[[D]])
// ONE: _Send(%[[B]])
// ONE: name("all")
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
  %a, %ac = Neg(%x) device("/job:worker/task:0") name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %b, %bc = Abs(%a) device("/job:worker/task:1") name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
  %all, %allc = Exp(%x) [%bc] name("all") {T = f32} : (tensor<f32>) -> (tensor<f32>)
}
