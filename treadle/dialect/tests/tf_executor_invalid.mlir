// RUN: treadle-opt --split-input-file --verify-diagnostics %s

func.func @not_of_the_dialect() {
  tf_executor.graph {
    // expected-error@+1 {{is directly in a tf_executor.graph, expected only operations of tf_executor; wrap it in a tf_executor.island}}
    "tf.NoOp"() : () -> ()
    tf_executor.fetch
  }
  return
}

// -----

func.func @graph_in_graph() {
  tf_executor.graph {
    // expected-error@+1 {{is directly in another tf_executor.graph}}
    tf_executor.graph {
    }
    tf_executor.fetch
  }
  return
}

// -----

func.func @fetch_of_another_type(%x: tensor<f32>) {
  "tf_executor.graph"() ({
    // expected-error@+1 {{yields 'tensor<f32>' as operand 0, but result 0 of tf_executor.graph is 'tensor<i32>'}}
    tf_executor.fetch %x : tensor<f32>
  }) : () -> tensor<i32>
  return
}

// -----

func.func @fetch_of_too_few() {
  "tf_executor.graph"() ({
    // expected-error@+1 {{has 0 data operands, but tf_executor.graph has 1 results}}
    tf_executor.fetch
  }) : () -> tensor<i32>
  return
}

// -----

func.func @data_after_control(%x: tensor<f32>) {
  tf_executor.graph {
    %c = tf_executor.ControlTrigger {}
    // expected-error@+1 {{failed to verify that control operands to follow all data operands}}
    tf_executor.fetch %c, %x : !tf_executor.control, tensor<f32>
  }
  return
}

// -----

func.func @no_fetch() {
  "tf_executor.graph"() ({
    // expected-error@+1 {{block with no terminator}}
    %c = "tf_executor.island"() ({
      tf_executor.yield
    }) : () -> !tf_executor.control
  }) : () -> ()
  return
}

// -----

func.func @island_alone() {
  // expected-error@+1 {{expects parent op 'tf_executor.graph'}}
  %c = tf_executor.island wraps "tf.NoOp"() : () -> ()
  return
}

// -----

func.func @yield_of_too_many(%x: tensor<f32>) {
  tf_executor.graph {
    %c = "tf_executor.island"() ({
      // expected-error@+1 {{has 1 data operands, but tf_executor.island has 0 results}}
      tf_executor.yield %x : tensor<f32>
    }) : () -> !tf_executor.control
    tf_executor.fetch
  }
  return
}

// -----

func.func @yield_of_control() {
  tf_executor.graph {
    %t = tf_executor.ControlTrigger {}
    %c = "tf_executor.island"() ({
      // expected-error@+1 {{operand #0 must be variadic of data, but got '!tf_executor.control'}}
      tf_executor.yield %t : !tf_executor.control
    }) : () -> !tf_executor.control
    tf_executor.fetch
  }
  return
}

// -----

func.func @switch_of_another_type(%x: tensor<f32>, %p: tensor<i1>) {
  tf_executor.graph {
    // expected-error@+1 {{forwards 'tensor<f32>' as 'tensor<i32>', expected equal element types}}
    %f, %t, %c = tf_executor.Switch %x, %p : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<i32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @switch_by_a_number(%x: tensor<f32>, %p: tensor<i32>) {
  tf_executor.graph {
    // expected-error@+1 {{operand #1 must be tensor of 1-bit signless integer values}}
    %f, %t, %c = tf_executor.Switch %x, %p : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @switch_without_predicate(%x: tensor<f32>) {
  tf_executor.graph {
    // expected-error@+1 {{found 1 operands, expected at least 2}}
    %f, %t, %c = tf_executor.Switch %x : tensor<f32>
    tf_executor.fetch
  }
  return
}

// -----

func.func @no_reference(%x: tensor<f32>, %p: tensor<i1>) {
  tf_executor.graph {
    // expected-error@+1 {{only a reference can be forwarded as a reference}}
    %f, %t, %c = tf_executor.Switch %x, %p : (tensor<f32>, tensor<i1>) -> (tensor<!tf_type.f32ref>, tensor<f32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @switch_n_count(%x: tensor<f32>, %i: tensor<i32>) {
  tf_executor.graph {
    // expected-error@+1 {{has 2 outputs, but 'num_outs' is 3}}
    %0:3 = "tf_executor._SwitchN"(%x, %i) {num_outs = 3 : i64} : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @switch_n_none(%x: tensor<f32>, %i: tensor<i32>) {
  tf_executor.graph {
    // expected-error@+1 {{found 0 outputs, expected at least one}}
    %c = tf_executor._SwitchN %x, %i of 0 : tensor<f32>
    tf_executor.fetch
  }
  return
}

// -----

func.func @merge_of_nothing() {
  tf_executor.graph {
    %t = tf_executor.ControlTrigger {}
    // expected-error@+1 {{has no data inputs, expected at least one}}
    %m, %v, %c = tf_executor.Merge %t : (!tf_executor.control) -> (tensor<f32>, tensor<i32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @merge_of_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  tf_executor.graph {
    // expected-error@+1 {{forwards 'tensor<3xf32>' as 'tensor<2xf32>', expected equal element types and compatible shapes}}
    %m, %v, %c = tf_executor.Merge %x, %y : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<i32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @enter_of_another_type(%x: tensor<f32>) {
  tf_executor.graph {
    // expected-error@+1 {{forwards 'tensor<f32>' as 'tensor<i32>'}}
    %e, %c = tf_executor.Enter %x frame "f" : (tensor<f32>) -> (tensor<i32>, !tf_executor.control)
    tf_executor.fetch
  }
  return
}

// -----

func.func @exit_of_a_tuple(%x: tuple<>) {
  tf_executor.graph {
    // expected-error@+1 {{forwards 'tuple<>' as 'tuple<>', expected tensors}}
    %e, %c = tf_executor.Exit %x : tuple<>
    tf_executor.fetch
  }
  return
}

// -----

func.func @source_without_sink() {
  tf_executor.graph {
    // expected-error@+1 {{has a token with 0 uses, expected one tf_executor.NextIteration.Sink to use it}}
    %x, %token, %c = tf_executor.NextIteration.Source : tensor<f32>
    tf_executor.fetch
  }
  return
}

// -----

func.func @source_with_another_user() {
  tf_executor.graph {
    // expected-error@+1 {{has a token that 'tf.A' uses}}
    %x, %token, %c = tf_executor.NextIteration.Source : tensor<f32>
    %c1 = tf_executor.island wraps "tf.A"(%token) : (!tf_executor.token) -> ()
    tf_executor.fetch
  }
  return
}

// -----

func.func @sink_without_source(%token: !tf_executor.token, %x: tensor<f32>) {
  tf_executor.graph {
    // expected-error@+1 {{has a token that isn't the result of a tf_executor.NextIteration.Source}}
    tf_executor.NextIteration.Sink [%token] %x : tensor<f32>
    tf_executor.fetch
  }
  return
}

// -----

func.func @sink_of_another_type(%x: tensor<i32>) {
  tf_executor.graph {
    %next, %token, %c = tf_executor.NextIteration.Source : tensor<f32>
    // expected-error@+1 {{takes 'tensor<i32>', but its tf_executor.NextIteration.Source yields 'tensor<f32>'}}
    tf_executor.NextIteration.Sink [%token] %x : tensor<i32>
    tf_executor.fetch
  }
  return
}

// -----

func.func @loop_cond_of_a_number(%x: tensor<i32>) {
  tf_executor.graph {
    // expected-error@+1 {{operand #0 must be tensor of 1-bit signless integer values}}
    %p, %c = tf_executor.LoopCond %x : tensor<i32>
    tf_executor.fetch
  }
  return
}
