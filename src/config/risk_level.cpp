#include "config/risk_level.h"

#include <unordered_set>
#include <vector>

#include "base/text.h"

namespace msprobe {
namespace {

// Matrix products, convolutions, normalisations, embeddings, attention.
constexpr std::string_view kHighRisk =
    "__imatmul__ __matmul__ __rmatmul__ addbmm addmm addmv addr baddbmm bilinear bmm chain_matmul dot einsum "
    "ger inner linear matmul mm multi_dot mv outer sparse_mm tensordot vdot vecdot _convolution conv1d conv2d "
    "conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution batch_norm group_norm "
    "instance_norm layer_norm local_response_norm native_batch_norm native_group_norm native_layer_norm "
    "normalize renorm rms_norm weight_norm embedding embedding_bag multi_head_attention_forward "
    "scaled_dot_product_attention";

// What only shapes, copies or creates tensors.
constexpr std::string_view kLowRisk =
    "__getitem__ __setitem__ as_strided atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to cat "
    "chunk column_stack concat concatenate contiguous dsplit dstack expand expand_as flatten flip fliplr "
    "flipud hsplit hstack moveaxis movedim narrow narrow_copy permute ravel repeat repeat_interleave reshape "
    "reshape_as roll rot90 row_stack select split split_with_sizes squeeze stack swapaxes swapdims t "
    "tensor_split tile transpose unbind unflatten unfold unsqueeze view view_as vsplit vstack bfloat16 bool "
    "byte char clone copy cpu cuda detach double float half int long npu short to type type_as arange empty "
    "empty_like eye fill full full_like linspace logspace new_empty new_full new_ones new_zeros ones ones_like "
    "range zero zeros zeros_like";

std::unordered_set<std::string_view> SetOf(std::string_view names) {
  const std::vector<std::string_view> items = Split(names, ' ');
  return {items.begin(), items.end()};
}

// The last part of a dotted name, and in-place calls as their plain form.
std::string_view Bare(std::string_view api) {
  api.remove_prefix(api.rfind('.') + 1);
  if (api.ends_with('_') && !api.ends_with("__")) api.remove_suffix(1);
  return api;
}

}  // namespace

RiskLevel ParseRiskLevel(std::string_view text) {
  if (text == "FOCUS") return RiskLevel::kFocus;
  return text == "CORE" ? RiskLevel::kCore : RiskLevel::kAll;
}

bool IsRecordedAt(RiskLevel level, std::string_view group, std::string_view api) {
  if (level == RiskLevel::kAll) return true;
  if (group == "NPU" || group == "MindSpeed" || group == "Distributed") return true;
  static const std::unordered_set<std::string_view> high_risk = SetOf(kHighRisk);
  static const std::unordered_set<std::string_view> low_risk = SetOf(kLowRisk);
  return level == RiskLevel::kCore ? high_risk.contains(Bare(api)) : !low_risk.contains(Bare(api));
}

}  // namespace msprobe
