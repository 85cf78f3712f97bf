// Files: checkpoints, records and examples, lines and whole files, summaries of events.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Saving to and restoring from checkpoints.
std::span<const KernelEntry> checkpointKernels();
/// DecodeJSONExample: texts in JSON as serialized tf.Example messages.
std::span<const KernelEntry> exampleJsonKernels();
/// Files as wholes: reading, writing, and finding them by pattern; and the time of day.
std::span<const KernelEntry> fileKernels();
/// Summaries of images.
std::span<const KernelEntry> imageSummaryKernels();
/// Ops that read serialized tf.Example and tf.SequenceExample messages.
std::span<const KernelEntry> parseExampleKernels();
/// DecodeProtoV2 and EncodeProto: fields of protocol buffers' messages, by a FileDescriptorSet.
std::span<const KernelEntry> protoKernels();
/// The kinds of readers, and the ops on them.
std::span<const KernelEntry> readerKernels();
/// Save and Restore, the ops of the first format of checkpoints.
std::span<const KernelEntry> sliceFileKernels();
/// Summaries, as TensorBoard reads them: bytes of a protocol buffer `Summary`, which ops exchange
/// as strings.
std::span<const KernelEntry> summaryKernels();
/// Ops that write summaries to a file of events.
std::span<const KernelEntry> summaryWriterKernels();

inline constexpr KernelFamily filesFamilies[] = {
    TREADLE_FAMILY(checkpointKernels),   TREADLE_FAMILY(exampleJsonKernels),
    TREADLE_FAMILY(fileKernels),         TREADLE_FAMILY(imageSummaryKernels),
    TREADLE_FAMILY(parseExampleKernels), TREADLE_FAMILY(protoKernels),
    TREADLE_FAMILY(readerKernels),       TREADLE_FAMILY(sliceFileKernels),
    TREADLE_FAMILY(summaryKernels),      TREADLE_FAMILY(summaryWriterKernels)};

} // namespace treadle
