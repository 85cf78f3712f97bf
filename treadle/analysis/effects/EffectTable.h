// What each op does to what its handles stand for, and to what it reaches without one.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace treadle::tfg {

/// Which end of a resource an access concerns. Putting something into a first-in-first-out queue
/// and taking something out of it give the same in either order, so they don't meet.
enum class Part : uint8_t { In = 1, Out = 2, Whole = In | Out };

struct Access {
  enum Kind : uint8_t { None, Read, Write } kind = None;
  Part part = Part::Whole;
};

/// What an op does besides giving its results.
struct OpEffects {
  /// To each resource that one of its inputs is a handle or a reference to.
  Access handles;
  /// What it accesses without being given a handle.
  enum class Reach : uint8_t {
    Nothing,
    World,   // printing, Python, files, whatever is unknown
    Own,     // a state that only this node has: the generator of a random op
    Named,   // a staging area, by its attributes container and shared_name
    Channel, // between a Send and its Recv, by their attributes
  } reach = Reach::Nothing;
  Access reached;
  /// Gives a description of work that is done later, by whoever gets it (a dataset): it holds the
  /// handles that it is given, and whatever its functions access.
  bool isDeferred = false;
};

/// What is known of an op of this name. Ops that the op table has but this one doesn't: stateful
/// ones write what they have handles to, or else the world; others have no effects. An op that
/// nobody knows does both.
OpEffects lookupEffects(llvm::StringRef op);

/// The family of resources that an op makes (`variable`, `table`, `queue`, ...): handles that
/// equal names of one family stand for one resource. Empty if the op makes none.
llvm::StringRef resourceFamily(llvm::StringRef op);

} // namespace treadle::tfg
