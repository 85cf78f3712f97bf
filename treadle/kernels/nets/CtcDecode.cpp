// CTC decoders: greedy, and beam search (A. Graves, "Supervised sequence labelling with recurrent
// neural networks", section 7.5).
#include "treadle/kernels/Element.h"
#include "treadle/kernels/nets/Ctc.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace treadle {
namespace {

using Path = std::vector<int64_t>;

bool checkInputs(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &lengths = ctx.input(1);
  if (in.rank() != 3 || !in.count() || lengths.rank() != 1) {
    ctx.fail(invalidArgument("inputs must be of [time,batch,classes], none of them 0, and "
                             "sequence_length a vector, but they are ",
                             tensorTypeText(in), " and ", tensorTypeText(lengths)));
    return false;
  }
  if (lengths.count() != in.dim(1) ||
      std::ranges::any_of(lengths.values<int32_t>(), [&](int32_t n) { return n > in.dim(0); })) {
    ctx.fail(failedPrecondition("sequence_length must have ", in.dim(1), " elements of up to ",
                                in.dim(0), ", but it is ", tensorTypeText(lengths)));
    return false;
  }
  return true;
}

// Sets path `p` of each batch row as a sparse tensor: outputs p, p + count and p + 2 * count.
bool setPaths(OpContext &ctx, int p, int count, const std::vector<Path> &rows) {
  int64_t total = 0, longest = 0;
  for (const Path &row : rows) {
    total += std::ssize(row);
    longest = std::max<int64_t>(longest, std::ssize(row));
  }
  Tensor *indices = ctx.allocateOutput(p, DType::Int64, {total, 2});
  Tensor *values = ctx.allocateOutput(p + count, DType::Int64, {total});
  Tensor *shape = ctx.allocateOutput(p + 2 * count, DType::Int64, {2});
  if (!indices || !values || !shape)
    return false;
  int64_t *index = indices->data<int64_t>(), *value = values->data<int64_t>();
  for (size_t b = 0; b < rows.size(); ++b)
    for (size_t i = 0; i < rows[b].size(); ++i) {
      *index++ = static_cast<int64_t>(b);
      *index++ = static_cast<int64_t>(i);
      *value++ = rows[b][i];
    }
  shape->data<int64_t>()[0] = std::ssize(rows);
  shape->data<int64_t>()[1] = longest;
  return true;
}

// --- CTCGreedyDecoder ----------------------------------------------------------------------------

struct GreedyOptions {
  bool mergesRepeated;
  int64_t blank; // negative: counted from the end
};

template <typename T> struct GreedyDecoder {
  static void run(OpContext &ctx) {
    if (!checkInputs(ctx))
      return;
    const auto &options = ctx.state<GreedyOptions>();
    const Tensor &in = ctx.input(0);
    int64_t batch = in.dim(1), classes = in.dim(2);
    int64_t blank = options.blank < 0 ? classes + options.blank : options.blank;
    if (blank < 0 || blank >= classes)
      return ctx.fail(invalidArgument("blank_index is ", options.blank, ", but there are only ",
                                      classes, " classes"));
    Tensor *scores = TREADLE_OR_RETURN(ctx.allocateOutput(3, dtypeOf<T>, {batch, 1}));
    std::vector<Path> rows(static_cast<size_t>(batch));
    for (int64_t b = 0; b < batch; ++b) {
      T score = 0;
      int64_t previous = -1;
      for (int64_t t = 0; t < ctx.input(1).data<int32_t>()[b]; ++t) {
        const T *step = in.data<T>() + (t * batch + b) * classes;
        int64_t best = std::max_element(step, step + classes) - step;
        score -= step[best];
        if (best != blank && !(options.mergesRepeated && best == previous))
          rows[static_cast<size_t>(b)].push_back(best);
        previous = best;
      }
      scores->data<T>()[b] = score;
    }
    setPaths(ctx, 0, 1, rows);
  }
};

// --- CTCBeamSearchDecoder ------------------------------------------------------------------------

struct BeamOptions {
  int64_t width;
  int paths;
  bool mergesRepeated;
};

/// Log probabilities of a prefix: ending in a blank, in its last label, in either.
template <typename T> struct PrefixProbability {
  T total = logZero<T>, blank = logZero<T>, label = logZero<T>;
};

/// A prefix of labels, in a tree of prefixes.
template <typename T> struct Prefix {
  Prefix *parent;
  int64_t label;
  PrefixProbability<T> before = {}, now = {};
  std::map<int64_t, Prefix *> children = {};

  bool isActive() const { return now.total != logZero<T>; }
  Path path(bool mergesRepeated) const {
    Path labels;
    int64_t previous = -1;
    for (const Prefix *p = this; p->parent; p = p->parent) {
      if (!mergesRepeated || p->label != previous)
        labels.push_back(p->label);
      previous = p->label;
    }
    std::ranges::reverse(labels);
    return labels;
  }
};

template <typename T> class BeamSearch {
public:
  BeamSearch(int64_t classes, int64_t width) : classes(classes), width(width) {
    Prefix<T> &root = prefixes.emplace_back(Prefix<T>{nullptr, -1});
    root.now.total = root.now.blank = 0;
    beam.insert(&root);
  }

  void step(const T *activations) {
    T highest = *std::max_element(activations, activations + classes), sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(activations[c] - highest);
    T offset = highest + std::log(sum); // normalizes logits to log probabilities
    std::vector<Prefix<T> *> branches(beam.begin(), beam.end());
    beam.clear();
    for (Prefix<T> *b : branches)
      b->before = b->now;
    for (Prefix<T> *b : branches) {
      stay(*b, activations, offset);
      beam.insert(b);
    }
    for (Prefix<T> *b : branches)
      if (isCandidate(b->before.total))
        for (int64_t label = 0; label < classes - 1; ++label)
          grow(*b, label, activations[label] - offset);
  }

  /// Returns the beam, most likely prefix first.
  const auto &best() const { return beam; }

private:
  struct MoreLikely {
    bool operator()(const Prefix<T> *a, const Prefix<T> *b) const {
      return a->now.total > b->now.total;
    }
  };

  // Extends the alignment without extending the prefix: by its last label or by a blank.
  void stay(Prefix<T> &b, const T *activations, T offset) {
    if (b.parent) {
      if (b.parent->isActive())
        b.now.label = logSum(b.now.label, b.label == b.parent->label ? b.parent->before.blank
                                                                     : b.parent->before.total);
      b.now.label += activations[b.label] - offset;
    }
    b.now.blank = b.before.total + activations[classes - 1] - offset;
    b.now.total = logSum(b.now.blank, b.now.label);
  }

  void grow(Prefix<T> &b, int64_t label, T logit) {
    Prefix<T> *&child = b.children[label];
    if (!child)
      child = &prefixes.emplace_back(Prefix<T>{&b, label});
    if (child->isActive())
      return;
    T previous = label == b.label ? b.before.blank : b.before.total;
    if (!isCandidate(logit + previous)) {
      child->before = child->now = {};
      return;
    }
    if (std::ssize(beam) == width) {
      auto worst = std::prev(beam.end());
      Prefix<T> *dropped = *worst;
      beam.erase(worst);
      dropped->now = {};
    }
    child->now = {logit + previous, logZero<T>, logit + previous};
    beam.insert(child);
  }

  bool isCandidate(T total) const {
    return total > logZero<T> &&
           (std::ssize(beam) < width || total > (*std::prev(beam.end()))->now.total);
  }

  int64_t classes, width;
  std::deque<Prefix<T>> prefixes; // a deque, since pointers to elements must stay valid
  std::multiset<Prefix<T> *, MoreLikely> beam;
};

template <typename T> struct BeamDecoder {
  static void run(OpContext &ctx) {
    if (!checkInputs(ctx))
      return;
    const auto &options = ctx.state<BeamOptions>();
    const Tensor &in = ctx.input(0);
    int64_t batch = in.dim(1), classes = in.dim(2);
    Tensor *scores = TREADLE_OR_RETURN(
        ctx.allocateOutput(3 * options.paths, dtypeOf<T>, {batch, options.paths}));
    std::vector<std::vector<Path>> paths(static_cast<size_t>(options.paths),
                                         std::vector<Path>(static_cast<size_t>(batch)));
    for (int64_t b = 0; b < batch; ++b) {
      BeamSearch<T> search(classes, options.width);
      for (int64_t t = 0; t < ctx.input(1).data<int32_t>()[b]; ++t)
        search.step(in.data<T>() + (t * batch + b) * classes);
      if (options.paths > std::ssize(search.best()))
        return ctx.fail(invalidArgument("top_paths is ", options.paths, ", but row ", b,
                                        " of the batch has only ", search.best().size(),
                                        " paths in a beam of ", options.width));
      auto best = search.best().begin();
      for (int p = 0; p < options.paths; ++p, ++best) {
        paths[static_cast<size_t>(p)][static_cast<size_t>(b)] =
            (*best)->path(options.mergesRepeated);
        scores->data<T>()[b * options.paths + p] = (*best)->now.total;
      }
    }
    for (int p = 0; p < options.paths; ++p)
      if (!setPaths(ctx, p, options.paths, paths[static_cast<size_t>(p)]))
        return;
  }
};

template <template <typename> class Kernel, typename State>
Expected<BoundKernel> bindDecoder(const BindContext &node, State state) {
  return withState(bindByType<Kernel, TypeList<float, double>>(node), state);
}

Expected<BoundKernel> bindGreedy(const BindContext &node) {
  return bindDecoder<GreedyDecoder>(node,
                                    GreedyOptions{node.attrs.getOr("merge_repeated", false),
                                                  node.attrs.getOr<int64_t>("blank_index", -1)});
}

Expected<BoundKernel> bindBeam(const BindContext &node) {
  return bindDecoder<BeamDecoder>(
      node, BeamOptions{node.attrs.getOr<int64_t>("beam_width", 1),
                        static_cast<int>(node.attrs.getOr<int64_t>("top_paths", 1)),
                        node.attrs.getOr("merge_repeated", true)});
}

const KernelEntry ctcDecodeTable[] = {
    {"CTCGreedyDecoder", bindGreedy},
    {"CTCBeamSearchDecoder", bindBeam},
};

} // namespace

std::span<const KernelEntry> ctcDecodeKernels() { return ctcDecodeTable; }

} // namespace treadle
