// Shape functions of random numbers: an input gives the shape.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

// Samples for each element of the parameters.
ShapeResults samplesFirst(const ShapeQuery &query) { return {query.shapeFrom(0) + query.shape(1)}; }

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*, *+ -> =0",
       {"RandomUniform",
        "RandomUniformInt",
        "RandomStandardNormal",
        "TruncatedNormal",
        "ParameterizedTruncatedNormal",
        "StatelessRandomUniform",
        "StatelessRandomUniformInt",
        "StatelessRandomUniformFullInt",
        "StatelessRandomNormal",
        "StatelessTruncatedNormal",
        "StatelessRandomUniformV2",
        "StatelessRandomUniformIntV2",
        "StatelessRandomUniformFullIntV2",
        "StatelessRandomNormalV2",
        "StatelessTruncatedNormalV2",
        "StatelessRandomGammaV2",
        "StatelessRandomGammaV3",
        "StatelessRandomPoisson",
        "StatelessRandomBinomial",
        "StatelessParameterizedTruncatedNormal",
        "NonDeterministicInts"}},
      {"*, * -> =1", {"StatefulStandardNormal"}},
      {"*, [], [] -> ", {"RngSkip"}},
      {"*, [], [] -> [?]", {"RngReadAndSkip"}},
      {"X, *, * -> X", {"RandomIndexShuffle"}},
      {"*, *, *+ -> =2",
       {"StatefulUniform", "StatefulUniformInt", "StatefulUniformFullInt",
        "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulRandomBinomial"}},
      {"X -> X", {"RandomShuffle"}},
      {"[b,t] -> [{num_sampled}], [b,t], [{num_sampled}]",
       {"AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler",
        "LogUniformCandidateSampler", "ThreadUnsafeUnigramCandidateSampler",
        "UniformCandidateSampler"}},
      {"X, *+ -> X", {"StatelessShuffle"}},
      {"[b,c], [] -> [b,$1]", {"Multinomial"}},
      {"[b,c], [], [2] -> [b,$1]", {"StatelessMultinomial"}},
      {"[2] -> [1], [2]", {"StatelessRandomGetKeyCounter"}},
      {"[2] -> [1], [2], []", {"StatelessRandomGetKeyCounterAlg"}},
      {"-> []", {"StatelessRandomGetAlg"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"RandomGamma", samplesFirst},
    {"RandomPoisson", samplesFirst},
    {"RandomPoissonV2", samplesFirst},
};

} // namespace

ShapeFamily randomShapes() { return {signatures(), functions}; }

} // namespace treadle
