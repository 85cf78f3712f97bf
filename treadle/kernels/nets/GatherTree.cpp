// GatherTree: the sequences that a beam search found. Each step has an id and a parent for each
// beam; a sequence is read backwards from its last step, and ends at its first end token.
#include "treadle/kernels/Element.h"

#include <algorithm>

namespace treadle {
namespace {

/// Ids, parents and results of shape [time, batch, beams].
struct BeamTree {
  const int32_t *ids, *parents;
  int32_t *sequences;
  int64_t batch, beams;

  int64_t at(int64_t t, int64_t b, int64_t beam) const { return (t * batch + b) * beams + beam; }
};

/// Writes the sequence of `length` steps that ends in `beam`. Returns an invalid parent, or -1 if
/// all are valid.
int64_t follow(const BeamTree &tree, int64_t b, int64_t beam, int64_t length, int64_t &step) {
  int64_t from = beam;
  for (step = length - 1; step >= 0; --step) {
    if (from < 0 || from >= tree.beams)
      return from;
    tree.sequences[tree.at(step, b, beam)] = tree.ids[tree.at(step, b, from)];
    from = tree.parents[tree.at(step, b, from)];
  }
  return -1;
}

/// Fills the sequence with end tokens after the first one.
void endSequence(const BeamTree &tree, int64_t b, int64_t beam, int64_t length, int32_t end) {
  bool hasEnded = false;
  for (int64_t t = 0; t < length; ++t) {
    int32_t &id = tree.sequences[tree.at(t, b, beam)];
    id = hasEnded ? end : id;
    hasEnded |= id == end;
  }
}

bool checkInputs(OpContext &ctx) {
  const Tensor &ids = ctx.input(0), &parents = ctx.input(1), &lengths = ctx.input(2);
  if (ids.rank() == 3 && std::ranges::equal(ids.dims(), parents.dims()) && lengths.rank() == 1 &&
      lengths.dim(0) == ids.dim(1) && ctx.input(3).rank() == 0)
    return true;
  ctx.fail(invalidArgument("step_ids and parent_ids must be of [time,batch,beams], "
                           "max_sequence_lengths of [batch] and end_token a scalar, but they are ",
                           tensorTypeText(ids), ", ", tensorTypeText(parents), ", ",
                           tensorTypeText(lengths), " and ", tensorTypeText(ctx.input(3))));
  return false;
}

void gatherTree(OpContext &ctx) {
  if (!checkInputs(ctx))
    return;
  const Tensor ids = ctx.input(0), parents = ctx.input(1), lengths = ctx.input(2);
  int32_t end = *ctx.input(3).data<int32_t>();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, ids.dims()));
  std::fill_n(out->data<int32_t>(), out->count(), end);
  BeamTree tree{ids.data<int32_t>(), parents.data<int32_t>(), out->data<int32_t>(), ids.dim(1),
                ids.dim(2)};
  for (int64_t b = 0; b < tree.batch; ++b) {
    int64_t length = std::min<int64_t>(ids.dim(0), lengths.data<int32_t>()[b]);
    for (int64_t beam = 0; beam < tree.beams; ++beam) {
      int64_t step = 0, parent = follow(tree, b, beam, length, step);
      if (step >= 0)
        return ctx.fail(invalidArgument("parent_ids[", step + 1, ",", b, "] has ", parent,
                                        ", expected one of ", tree.beams, " beams"));
      endSequence(tree, b, beam, length, end);
    }
  }
}

const KernelEntry gatherTreeTable[] = {
    {"Addons>GatherTree", bindPlain<gatherTree>},
    {"GatherTree", bindPlain<gatherTree>},
};

} // namespace

std::span<const KernelEntry> gatherTreeKernels() { return gatherTreeTable; }

} // namespace treadle
