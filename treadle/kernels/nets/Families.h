// What only nets have: normalisations, softmax and losses, cells of recurrent nets, steps of
// gradient descent.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// _Attention: softmax(query key' * scale + mask) value without the scores in memory, and its
/// gradient.
std::span<const KernelEntry> attentionKernels();
/// BiasAdd adds a vector along the channels of a tensor; BiasAddGrad sums over everything else.
std::span<const KernelEntry> biasKernels();
/// BlockLSTM: a long short-term memory over all steps of a sequence at once, and its gradient.
std::span<const KernelEntry> blockLstmKernels();
/// Decoders of connectionist temporal classification: the best class of each step, and a search
/// with a beam (A. Graves, "Supervised sequence labelling with recurrent neural networks", section
/// 7.5).
std::span<const KernelEntry> ctcDecodeKernels();
/// CTCLoss: how unlikely a sequence of labels is, summed over all its alignments with the inputs,
/// and the slope of that (A. Graves, "Supervised sequence labelling with recurrent neural
/// networks", chapter 7, whose names the variables have).
std::span<const KernelEntry> ctcLossKernels();
/// CudnnRNN: recurrent nets of several layers, with parameters as cuDNN lays them out.
std::span<const KernelEntry> cudnnRnnKernels();
/// GatherTree: the sequences of a search with a beam, from each step's ids and their parents.
std::span<const KernelEntry> gatherTreeKernels();
/// BatchNormWithGlobalNormalization, the first batch normalization, and its gradient: mean and
/// variance of each channel are given.
std::span<const KernelEntry> globalNormalizationKernels();
/// _GroupNorm: normalisation over the positions and channels of a group of channels.
std::span<const KernelEntry> groupNormKernels();
/// GRUBlockCell: one step of a gated recurrent unit, and its gradient.
std::span<const KernelEntry> gruKernels();
/// Normalisation over the last dimension.
std::span<const KernelEntry> layerNormKernels();
/// _FusedScale: a factor and an offset a channel, and an activation.
std::span<const KernelEntry> scaleKernels();
/// _FusedLstmGates: from the sums of a long short-term memory's gates and its cell to the next cell
/// and the output.
std::span<const KernelEntry> lstmGatesKernels();
/// Normalisation across channels (LRN) and over batches (FusedBatchNorm, and with a summand and an
/// activation _FusedBatchNormEx), with their gradients.
std::span<const KernelEntry> normalizationKernels();
/// What TensorFlow's optimizer makes for oneDNN and nothing else here computes: _MklFusedMish and
/// the like.
std::span<const KernelEntry> oneDnnKernels();
/// Steps of gradient descent in all its forms: a rule each, and one line for each op that applies
/// it.
std::span<const KernelEntry> optimizerKernels();
/// LSTMBlockCell: one step of a long short-term memory, and its gradient.
std::span<const KernelEntry> lstmKernels();
/// Softmax and the cross entropies of logits.
std::span<const KernelEntry> softmaxKernels();

inline constexpr KernelFamily netsFamilies[] = {
    TREADLE_FAMILY(attentionKernels), TREADLE_FAMILY(biasKernels),
    TREADLE_FAMILY(blockLstmKernels), TREADLE_FAMILY(ctcDecodeKernels),
    TREADLE_FAMILY(ctcLossKernels),   TREADLE_FAMILY(gatherTreeKernels),
    TREADLE_FAMILY(cudnnRnnKernels),  TREADLE_FAMILY(globalNormalizationKernels),
    TREADLE_FAMILY(scaleKernels),     TREADLE_FAMILY(groupNormKernels),
    TREADLE_FAMILY(gruKernels),       TREADLE_FAMILY(layerNormKernels),
    TREADLE_FAMILY(lstmGatesKernels), TREADLE_FAMILY(normalizationKernels),
    TREADLE_FAMILY(optimizerKernels), TREADLE_FAMILY(lstmKernels),
    TREADLE_FAMILY(softmaxKernels),   TREADLE_FAMILY(oneDnnKernels)};

} // namespace treadle
