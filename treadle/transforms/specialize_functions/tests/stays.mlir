// A call without a required attribute stays, with a remark, and so does the function.
// RUN: treadle-opt --tfg-specialize-functions %s 2>&1 | FileCheck %s

// CHECK: remark: call of 'neg' is not specialized: function 'neg': argument 'a': attribute 'T' is missing in the call and has no default
// CHECK: neg(%{{.*}}) name("y") :
// CHECK: tfg.func generic @neg
tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<*xf32>)
  %y, %yc = neg(%x) name("y") : (tensor<*xf32>) -> (tensor<*xf32>)
}
tfg.func generic @neg(%a: !tf_type.tensor {tfg.name = "a", tfg.type_attr = "T"}) -> (!tf_type.tensor {tfg.name = "b", tfg.type_attr = "T"}) {
  %n, %nc = Neg(%a) name("n") {T = #tf_type.placeholder<"T">} : (!tf_type.tensor) -> (!tf_type.tensor)
  %0 = get_result(%n) "y" : 0
  return(%0) : !tf_type.tensor
}
