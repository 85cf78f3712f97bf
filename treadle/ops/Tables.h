// Internal to treadle/ops: declarations of the arrays that generate.py writes.
#pragma once

#include "treadle/ops/OpTable.h"

namespace treadle::ops {

extern const char texts[];
extern const int64_t ints[]; // dimensions and values of constants
extern const AttrConstant constants[];
extern const ArgDef args[];
extern const AttrDef attrs[];
extern const OpFacts facts[];
extern const OpDef ops[]; // sorted by name
extern const size_t numOps;

/// An alias and its op, as indices into `ops`, sorted by alias.
struct OpAlias {
  uint16_t op, same;
};
extern const OpAlias opAliases[];
extern const size_t numOpAliases;

/// An open hash table with linear probing: an index into `ops` plus one, or 0 if free. The size is
/// a power of two.
extern const uint16_t slots[];
extern const size_t numSlots;

} // namespace treadle::ops
