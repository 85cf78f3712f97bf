// RUN: treadle-opt %s -split-input-file -verify-diagnostics

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute 'tfg.problem' is "why", expected a #tfg.problem}}
  %ctl = Op name("n") {tfg.problem = "why"}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute 'tfg.switch' is true, expected a unit}}
  %ctl = Op name("n") {tfg.switch = true}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute 'tfg.loop_condition' is "yes", expected a unit}}
  %ctl = Op name("n") {tfg.loop_condition = "yes"}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute 'tfg.from_frame' is unit, expected a bool}}
  %ctl = Op name("n") {tfg.from_frame}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{node 'n' (Op): attribute 'tfg.op_traits' is ["world"], expected a #tfg.op_traits}}
  %ctl = Op name("n") {tfg.op_traits = ["world"]}
}

// -----

tfg.graph #tf_type.version<producer = 1, min_consumer = 1> {
  // expected-error @+1 {{found [1], expected the names of resources}}
  %ctl = Op name("n") {tfg.op_traits = #tfg.op_traits<waits = true, touches_world = false, reads = [1], writes = []>}
}
