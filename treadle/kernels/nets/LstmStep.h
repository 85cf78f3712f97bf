// One LSTM step and its gradient, for rows of a batch. The gates of a row are in the order input,
// cell, forget, output, or with the forget gate before the cell.
#pragma once

#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {

struct LstmOptions {
  float forgetBias, cellClip; // a cellClip of 0 disables clipping
  bool usesPeephole;
  bool forgetsFirst = false; // the order of gates
};

/// Reads a row of gradients, converted to the type of the computation.
template <typename T> struct GradientAt {
  const T *row;
  Computed<T> operator()(int64_t c) const { return Computed<T>(row[c]); }
};

template <typename T> struct LstmStep {
  using C = Computed<T>;

  LstmOptions options;
  int64_t input, cell;           // sizes
  const T *w, *peepholes[3], *b; // peepholes: of the input, forget and output gates

  int64_t cellGate() const { return options.forgetsFirst ? 2 : 1; }
  int64_t forgetGate() const { return options.forgetsFirst ? 1 : 2; }
  C peephole(int k, int64_t c) const { return options.usesPeephole ? C(peepholes[k][c]) : C(0); }

  /// Computes a row: i, cs, f, o, ci, co and h.
  void forward(const T *x, const T *cellBefore, const T *outBefore, std::vector<C> &gates,
               T *const out[7]) const {
    auto sigmoid = [](C v) { return C(1) / (C(1) + std::exp(-v)); };
    addGates(x, outBefore, gates);
    for (int64_t c = 0; c < cell; ++c) {
      const C *gate = gates.data() + c;
      C before(cellBefore[c]);
      C i = sigmoid(gate[0] + peephole(0, c) * before);
      C ci = std::tanh(gate[cellGate() * cell]);
      C f = sigmoid(gate[forgetGate() * cell] + C(options.forgetBias) + peephole(1, c) * before);
      C cs = f * before + i * ci;
      if (options.cellClip > 0)
        cs = std::clamp(cs, C(-options.cellClip), C(options.cellClip));
      C o = sigmoid(gate[3 * cell] + peephole(2, c) * cs);
      C co = std::tanh(cs);
      const C results[] = {i, cs, f, o, ci, co, o * co};
      for (int k = 0; k < 7; ++k)
        out[k][c] = T(results[k]);
    }
  }

  /// The values of a step that the gradient of a row reads: i, cs, f, o, ci and co.
  struct Values {
    const T *i, *cs, *f, *o, *ci, *co, *before;
  };
  /// Computes the gradients of the gates and of the previous cell from those of the cell and of the
  /// output. Adds to the gradients of the peepholes, `cell` numbers each.
  template <typename CellSlope, typename OutSlope>
  void backward(const Values &v, CellSlope cellSlope, OutSlope outSlope, T *gates, T *cellBefore,
                C *peepholeSums) const {
    for (int64_t c = 0; c < cell; ++c) {
      C before(v.before[c]), i(v.i[c]), cs(v.cs[c]), f(v.f[c]), o(v.o[c]), ci(v.ci[c]), co(v.co[c]);
      C h = outSlope(c);
      C dO = o * (1 - o) * h * co;
      C dCs = (1 - co * co) * h * o + cellSlope(c) + dO * peephole(2, c);
      C dCi = (1 - ci * ci) * dCs * i;
      C dF = f * (1 - f) * dCs * before;
      C dI = i * (1 - i) * dCs * ci;
      cellBefore[c] = T(dCs * f + dI * peephole(0, c) + dF * peephole(1, c));
      gates[c] = T(dI);
      gates[cellGate() * cell + c] = T(dCi);
      gates[forgetGate() * cell + c] = T(dF);
      gates[3 * cell + c] = T(dO);
      peepholeSums[c] += dI * before;
      peepholeSums[cell + c] += dF * before;
      peepholeSums[2 * cell + c] += dO * cs;
    }
  }

private:
  // Computes one row of [x, h] * w + b.
  void addGates(const T *x, const T *outBefore, std::vector<C> &gates) const {
    gates.resize(static_cast<size_t>(4 * cell));
    std::copy_n(b, gates.size(), gates.begin());
    const T *weights = w;
    auto add = [&](const T *values, int64_t n) {
      for (int64_t k = 0; k < n; ++k, weights += gates.size())
        for (size_t g = 0; g < gates.size(); ++g)
          gates[g] += C(values[k]) * C(weights[g]);
    };
    add(x, input);
    add(outBefore, cell);
  }
};

} // namespace treadle
