#include "config/distributed_rules.h"

#include <algorithm>
#include <array>

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 22> kInPlace = {"_all_gather_base",
                                                       "_reduce_scatter_base",
                                                       "all_gather",
                                                       "all_gather_coalesced",
                                                       "all_gather_into_tensor",
                                                       "all_gather_single",
                                                       "all_reduce",
                                                       "all_reduce_coalesced",
                                                       "all_to_all",
                                                       "all_to_all_single",
                                                       "batch_isend_irecv",
                                                       "broadcast",
                                                       "gather",
                                                       "irecv",
                                                       "isend",
                                                       "recv",
                                                       "reduce",
                                                       "reduce_scatter",
                                                       "reduce_scatter_single",
                                                       "reduce_scatter_tensor",
                                                       "scatter",
                                                       "send"};

}  // namespace

bool AnswersInArguments(std::string_view name) {
  return std::find(kInPlace.begin(), kInPlace.end(), name) != kInPlace.end();
}

}  // namespace msprobe
