// RUN: treadle-opt --split-input-file --verify-diagnostics %s

// Device groups contain each device once; sizes must match the number of devices in a group.

func.func @twice(%x: tensor<2xf32>) {
  // expected-error@+1 {{replica_groups have 0 twice}}
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gap(%x: tensor<2xf32>) {
  // expected-error@+1 {{replica_groups don't contain all devices from 0 on}}
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @size(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimension 0 of 'tensor<3xf32>' isn't a multiple of that of 'tensor<2xf32>', or others differ}}
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @split(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of 'tensor<3xf32>' can't be split into 2 parts}}
  %y = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @sends_twice(%x: tensor<3xf32>) {
  // expected-error@+1 {{source_target_pairs has 0 -> 2, but one of these devices sends or receives twice}}
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @results(%x: tensor<4xf32>) {
  // expected-error@+1 {{has 1 operands and 2 results}}
  %y:2 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64,
      split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}
    : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
