// Functions are restored unchanged.
#include "treadle/tensorflow_plugin/WithheldFunctions.h"

#include "treadle/proto/graph.pb.h"

#include <gtest/gtest.h>

namespace treadle::tensorflow {
namespace {

pb::GraphDef graphWith(bool withBody) {
  pb::GraphDef graph;
  graph.add_node()->set_name("n");
  pb::FunctionDef *function = graph.mutable_library()->add_function();
  function->mutable_signature()->set_name("f");
  function->mutable_signature()->add_output_arg()->set_name("y");
  if (withBody)
    (*function->mutable_ret())["y"] = "x";
  return graph;
}

TEST(WithheldFunctions, DeclarationsAreTakenOutAndPutBack) {
  std::string graph = graphWith(false).SerializeAsString();
  WithheldFunctions library;
  Expected<std::string> taken = library.removeFrom(graph);
  ASSERT_TRUE(taken);
  pb::GraphDef without;
  ASSERT_TRUE(without.ParseFromString(*taken));
  EXPECT_FALSE(without.has_library());
  EXPECT_EQ(without.node_size(), 1);
  EXPECT_EQ(*library.restoreTo(*taken), graph);
}

TEST(WithheldFunctions, FunctionsWithBodiesStay) {
  std::string graph = graphWith(true).SerializeAsString();
  WithheldFunctions library;
  EXPECT_EQ(*library.removeFrom(graph), graph);
  EXPECT_EQ(*library.restoreTo(graph), graph);
}

TEST(WithheldFunctions, WhatIsNoGraphIsRefused) {
  WithheldFunctions library;
  EXPECT_EQ(library.removeFrom("\xff\xff").error().message, "the bytes don't parse as a GraphDef");
}

} // namespace
} // namespace treadle::tensorflow
