// Test helpers for expected errors.
#pragma once

#include "treadle/tensor/Error.h"

#include <gtest/gtest.h>

#define EXPECT_FAILS(call, wantedCode, part)                                                       \
  do {                                                                                             \
    const auto &result = (call);                                                                   \
    ASSERT_FALSE(result);                                                                          \
    EXPECT_EQ(errorClass(result.error().code), errorClass(Code::wantedCode));                      \
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;     \
  } while (false)
