// Test helper: skips tests that can't run under a sanitizer.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
/// Sanitizers open files and map memory at any time.
#define SKIP_WITH_SANITIZER() GTEST_SKIP() << "a sanitizer needs what a sandbox takes away"
#else
#define SKIP_WITH_SANITIZER()
#endif
