// Internal to the folder: tables of the ops that have files of their own.
#pragma once

#include "treadle/import/stablehlo/Body.h"

namespace treadle::hlo {

ArrayRef<Row> batchNormRows();
ArrayRef<Row> broadcastingRows();
ArrayRef<Row> collectiveRows();
ArrayRef<Row> arithRows();
ArrayRef<Row> tensorRows();

} // namespace treadle::hlo
