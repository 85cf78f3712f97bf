// RUN: treadle-opt --rc-translate="function=f arguments=tensor<?x?xcomplex<f32>>,tensor<?x?xcomplex<f32>>" %s | FileCheck %s

// Small complex systems are solved in registers, in double precision.

// CHECK-LABEL: func.func @cluster
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: rc.kernel
tfg.func @f(%a: tensor<3x3xcomplex<f32>> {tfg.name = "a"}, %b: tensor<3x2xcomplex<f32>> {tfg.name = "b"}) -> (tensor<3x2xcomplex<f32>> {tfg.name = "x"}) {
  %lu:3, %c0 = XlaCustomCallV2(%a) name("lu") {backend_config = "", call_target_name = "lapack_cgetrf_ffi", has_side_effect = false, operand_dtypes = [complex<f32>], result_dtypes = [complex<f32>, i32, i32], result_shapes = [#tf_type.shape<3x3>, #tf_type.shape<3>, #tf_type.shape<>]} : (tensor<3x3xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3xi32>, tensor<i32>)
  %y, %c1 = XlaCustomCallV2(%lu#0, %b) name("y") {backend_config = "diag=85;side=76;trans_x=78;uplo=76;", call_target_name = "lapack_ctrsm_ffi", has_side_effect = false, operand_dtypes = [complex<f32>, complex<f32>], result_dtypes = [complex<f32>], result_shapes = [#tf_type.shape<3x2>]} : (tensor<3x3xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> (tensor<3x2xcomplex<f32>>)
  return(%y) : tensor<3x2xcomplex<f32>>
}
