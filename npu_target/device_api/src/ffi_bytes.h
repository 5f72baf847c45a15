// Bytes, as Python hands them over.
#pragma once

#include <tvm/ffi/string.h>

#include <string_view>

namespace npu {

inline std::string_view view(const tvm::ffi::Bytes& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace npu
