// Tests of the options that are added to pipelines.
#include "treadle/tensorflow_plugin/Pipeline.h"

#include <gtest/gtest.h>

namespace treadle::tensorflow {
namespace {

TEST(Pipeline, PassesWithoutOptionsGetTheNames) {
  EXPECT_EQ(withKeptNodes("tfg-cse, tfg-toposort", {"a", "b/c"}),
            "tfg-cse{keep=a,b/c feeds=a,b/c},tfg-toposort");
}

TEST(Pipeline, OptionsThatAUserWritesStay) {
  EXPECT_EQ(
      withKeptNodes("tfg-prune{targets={names},d functions=false},tfg-cse{keep=x}", {"a", "b"}),
      "tfg-prune{targets=a,b,d functions=false},tfg-cse{keep=x}");
}

TEST(Pipeline, WithoutNamesTheirOptionsGo) {
  EXPECT_EQ(withKeptNodes("tfg-prune", {}), "tfg-prune{ keep-effects=true functions=false}");
}

TEST(Pipeline, WhatIsNoPipelineIsLeftToTheParser) {
  EXPECT_EQ(withKeptNodes("a{b", {}), "a{b");
  EXPECT_EQ(withKeptNodes("", {}), "");
}

} // namespace
} // namespace treadle::tensorflow
