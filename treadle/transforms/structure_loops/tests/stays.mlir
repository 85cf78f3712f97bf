// RUN: treadle-opt --tfg-structure-loops="keep=fetched" --verify-diagnostics %s

tfg.graph #tf_type.version<producer = 1, min_consumer = 0> {
  %x, %xc = Placeholder name("x") {dtype = i32} : () -> (tensor<i32>)
  %n, %nc = Placeholder name("n") {dtype = i32} : () -> (tensor<i32>)
  %queue, %queuec = FIFOQueueV2 name("queue") {component_types = [i32]} : () -> (tensor<!tf_type.resource>)

  // In a frame, iterations continue while one of them blocks.
  %we, %w0 = Enter(%x) name("we") {T = i32, frame_name = "waits"} : (tensor<i32>) -> (tensor<i32>)
  %wn, %w1 = Enter(%n) name("wn") {T = i32, frame_name = "waits", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %wm:2, %w2 = Merge(%we, %wnext) name("wm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %wl, %w3 = Less(%wm#0, %wn) name("wl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %wc, %w4 = LoopCond(%wl) name("wc") : (tensor<i1>) -> (tensor<i1>)
  %ws:2, %w5 = Switch(%wm#0, %wc) name("ws") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %handle, %handlec = Enter(%queue) name("handle") {T = !tf_type.resource, frame_name = "waits", is_constant = true} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
  // expected-remark @+1 {{loop 'waits' isn't converted: node 'item' may block}}
  %item, %itemc = QueueDequeueV2(%handle) [%w5] name("item") {component_types = [i32]} : (tensor<!tf_type.resource>) -> (tensor<i32>)
  %wsum, %wsumc = AddV2(%ws#1, %item) name("wsum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %wnext, %w6 = NextIteration(%wsum) name("wnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %wx, %w7 = Exit(%ws#0) name("wx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // A node of the loop is fetched.
  %fe, %f0 = Enter(%x) name("fe") {T = i32, frame_name = "seen"} : (tensor<i32>) -> (tensor<i32>)
  %fn, %f1 = Enter(%n) name("fn") {T = i32, frame_name = "seen", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %fm:2, %f2 = Merge(%fe, %fnext) name("fm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %fl, %f3 = Less(%fm#0, %fn) name("fl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %fc, %f4 = LoopCond(%fl) name("fc") : (tensor<i1>) -> (tensor<i1>)
  %fs:2, %f5 = Switch(%fm#0, %fc) name("fs") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{loop 'seen' isn't converted: node 'fetched' must be kept}}
  %fneg, %fnegc = Neg(%fs#1) name("fetched") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %fnext, %f6 = NextIteration(%fneg) name("fnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %fx, %f7 = Exit(%fs#0) name("fx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // Its iterations are marked to overlap.
  // expected-remark @+1 {{loop 'overlaps' isn't converted: its frame is marked to overlap, has no name, or has an invalid parallel_iterations}}
  %ve, %v0 = Enter(%x) name("ve") {T = i32, _overlap = true, frame_name = "overlaps"} : (tensor<i32>) -> (tensor<i32>)
  %vn, %v1 = Enter(%n) name("vn") {T = i32, frame_name = "overlaps", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %vm:2, %v2 = Merge(%ve, %vnext) name("vm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %vl, %v3 = Less(%vm#0, %vn) name("vl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %vc, %v4 = LoopCond(%vl) name("vc") : (tensor<i1>) -> (tensor<i1>)
  %vs:2, %v5 = Switch(%vm#0, %vc) name("vs") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %vneg, %vnegc = Neg(%vs#1) name("vneg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %vnext, %v6 = NextIteration(%vneg) name("vnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %vx, %v7 = Exit(%vs#0) name("vx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // When the loop ends, the frame computes the sum once more.
  %be, %b0 = Enter(%x) name("be") {T = i32, frame_name = "both"} : (tensor<i32>) -> (tensor<i32>)
  %bn, %b1 = Enter(%n) name("bn") {T = i32, frame_name = "both", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %bm:2, %b2 = Merge(%be, %bnext) name("bm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %bl, %b3 = Less(%bm#0, %bn) name("bl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %bc, %b4 = LoopCond(%bl) name("bc") : (tensor<i1>) -> (tensor<i1>)
  %bs:2, %b5 = Switch(%bm#0, %bc) name("bs") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{loop 'both' isn't converted: node 'bsum' runs once more than the body that uses its value}}
  %bsum, %bsumc = AddV2(%bm#0, %bn) name("bsum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %bmul, %bmulc = Mul(%bsum, %bs#1) name("bmul") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %bnext, %b6 = NextIteration(%bmul) name("bnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %bx, %b7 = Exit(%bs#0) name("bx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // The nodes after the Merge repeat endlessly, whatever the condition is.
  %ee, %e0 = Enter(%x) name("ee") {T = i32, frame_name = "endless"} : (tensor<i32>) -> (tensor<i32>)
  %en, %e1 = Enter(%n) name("en") {T = i32, frame_name = "endless", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %em:2, %e2 = Merge(%ee, %enext) name("em") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %el, %e3 = Less(%em#0, %en) name("el") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %ec, %e4 = LoopCond(%el) name("ec") : (tensor<i1>) -> (tensor<i1>)
  %es:2, %e5 = Switch(%em#0, %ec) name("es") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+1 {{loop 'endless' isn't converted: node 'enext' may be dead when the loop continues, or alive when it ends}}
  %enext, %e6 = NextIteration(%em#0) name("enext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %ex, %e7 = Exit(%es#0) name("ex") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // If x isn't less than n, the condition's token is dead and the frame just stops.
  %ke, %k0 = Enter(%x) name("ke") {T = i32, frame_name = "dies"} : (tensor<i32>) -> (tensor<i32>)
  %kn, %k1 = Enter(%n) name("kn") {T = i32, frame_name = "dies", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %km:2, %k2 = Merge(%ke, %knext) name("km") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %kl, %k3 = Less(%km#0, %kn) name("kl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %kp:2, %k8 = Switch(%km#0, %kl) name("kp") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ki, %k9 = Identity(%kp#1) name("ki") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  // expected-remark @+1 {{loop 'dies' isn't converted: node 'kc' may be dead while the rest of the loop runs}}
  %kc, %k4 = LoopCond(%kl) [%k9] name("kc") : (tensor<i1>) -> (tensor<i1>)
  %ks:2, %k5 = Switch(%km#0, %kc) name("ks") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %kneg, %knegc = Neg(%ks#1) name("kneg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %knext, %k6 = NextIteration(%kneg) name("knext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %kx, %k7 = Exit(%ks#0) name("kx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // A ControlTrigger runs when the loop ends.
  %te, %t0 = Enter(%x) name("te") {T = i32, frame_name = "trigger"} : (tensor<i32>) -> (tensor<i32>)
  %tn, %t1 = Enter(%n) name("tn") {T = i32, frame_name = "trigger", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %tm:2, %t2 = Merge(%te, %tnext) name("tm") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %tl, %t3 = Less(%tm#0, %tn) name("tl") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %tc, %t4 = LoopCond(%tl) name("tc") : (tensor<i1>) -> (tensor<i1>)
  %ts:2, %t5 = Switch(%tm#0, %tc) name("ts") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %tneg, %tnegc = Neg(%ts#1) name("tneg") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %trigger = ControlTrigger [%tnegc] name("trigger")
  // expected-remark @+1 {{loop 'trigger' isn't converted: node 'tprint' may run when the loop ends}}
  %tprint, %tprintc = Print(%tn, %tn) [%trigger] name("tprint") {T = i32, U = [i32]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %tnext, %t6 = NextIteration(%tneg) [%tprintc] name("tnext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %tx, %t7 = Exit(%ts#0) name("tx") {T = i32} : (tensor<i32>) -> (tensor<i32>)

  // The inner loop may block, so the outer one may.
  %oe, %o0 = Enter(%x) name("oe") {T = i32, frame_name = "out"} : (tensor<i32>) -> (tensor<i32>)
  %on, %o1 = Enter(%n) name("on") {T = i32, frame_name = "out", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %om:2, %o2 = Merge(%oe, %onext) name("om") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %ol, %o3 = Less(%om#0, %on) name("ol") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %oc, %o4 = LoopCond(%ol) name("oc") : (tensor<i1>) -> (tensor<i1>)
  %os:2, %o5 = Switch(%om#0, %oc) name("os") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  %ie, %i0 = Enter(%os#1) name("ie") {T = i32, frame_name = "in"} : (tensor<i32>) -> (tensor<i32>)
  %in, %i1 = Enter(%os#1) name("in") {T = i32, frame_name = "in", is_constant = true} : (tensor<i32>) -> (tensor<i32>)
  %im:2, %i2 = Merge(%ie, %inext) name("im") {N = 2 : i64, T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %il, %i3 = Less(%im#0, %in) name("il") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
  %ic, %i4 = LoopCond(%il) name("ic") : (tensor<i1>) -> (tensor<i1>)
  %is:2, %i5 = Switch(%im#0, %ic) name("is") {T = i32} : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
  // expected-remark @+2 {{loop 'in' isn't converted: node 'stage' may block}}
  // expected-remark @+1 {{loop 'out' isn't converted: a nested loop isn't converted}}
  %stage, %stagec = Unstage [%i5] name("stage") {dtypes = [i32]} : () -> (tensor<i32>)
  %isum, %isumc = AddV2(%is#1, %stage) name("isum") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %inext, %i6 = NextIteration(%isum) name("inext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %ix, %i7 = Exit(%is#0) name("ix") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %onext, %o6 = NextIteration(%ix) name("onext") {T = i32} : (tensor<i32>) -> (tensor<i32>)
  %ox, %o7 = Exit(%os#0) name("ox") {T = i32} : (tensor<i32>) -> (tensor<i32>)
}
