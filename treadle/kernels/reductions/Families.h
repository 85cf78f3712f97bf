// Many elements become few: sums and extremes over axes and over segments, running ones, counts,
// the largest, tests of numbers.
#include "treadle/runtime/Kernel.h"

/// Counts of small integers: Bincount and its dense, sparse and ragged forms; and Bucketize.
TREADLE_FAMILY(bincountKernels)
/// Running sums, products and log-sums along an axis.
TREADLE_FAMILY(cumulativeKernels)
/// What debuggers want to know of a tensor: how many elements are odd, and where they range.
TREADLE_FAMILY(debugNumberKernels)
/// CheckNumerics, and counts and places: histograms of values, and flat indices as coordinates.
TREADLE_FAMILY(numericCheckKernels)
/// Reductions over axes.
TREADLE_FAMILY(reductionKernels)
/// ArgMax, ArgMin and own ones: where along an axis the first extreme element is.
TREADLE_FAMILY(reductionArgKernels)
/// Sums, products and extremes of the rows of a tensor that share a segment id: SegmentX with
/// sorted ids, UnsortedSegmentX with ids in any order and of any rank.
TREADLE_FAMILY(segmentKernels)
/// Elements of rows by their order: the nth, approximately the largest (which are the largest
/// here), the nearest points; and the falling sequence that is nearest to a row.
TREADLE_FAMILY(selectionKernels)
/// The largest elements of rows, and whether a target is among them.
TREADLE_FAMILY(topKKernels)
