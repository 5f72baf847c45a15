#include "src/launch.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>

#include <string>
#include <vector>

#include "sim/error.h"
#include "sim/host_core.h"
#include "src/ffi_error.h"
#include "src/session.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

class ArgumentCheck {
 public:
  ArgumentCheck(const sim::Program& program, size_t index)
      : argument_(program.arguments[index]),
        where_("'" + program.name + "', argument " + std::to_string(index) + " '" + argument_.name +
               "': ") {}

  const DLTensor* tensor_of(ffi::AnyView value) const {
    const auto tensor = value.try_cast<DLTensor*>();
    if (!tensor) fail("needs a tensor", value.GetTypeKey());
    check_device(**tensor);
    check_type(**tensor);
    check_shape(**tensor);
    check_contiguous(**tensor);
    return *tensor;
  }

 private:
  void check_device(const DLTensor& tensor) const {
    const int type = tensor.device.device_type;
    if (type != kDLCPU && type != kDLExtDev) {
      fail("needs memory of the host or of ext_dev", "device type " + std::to_string(type));
    }
    if (tensor.data == nullptr && argument_.bytes != 0) fail("needs memory", "a null pointer");
  }

  void check_type(const DLTensor& tensor) const {
    const std::string dtype = ffi::DLDataTypeToString(tensor.dtype);
    if (dtype != argument_.dtype) fail("needs dtype " + argument_.dtype, dtype);
  }

  void check_shape(const DLTensor& tensor) const {
    bool is_equal = static_cast<size_t>(tensor.ndim) == argument_.shape.size();
    std::string shape = "(";
    for (int32_t i = 0; i < tensor.ndim; ++i) {
      is_equal = is_equal && tensor.shape[i] == static_cast<int64_t>(argument_.shape[i]);
      shape += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    if (is_equal) return;
    std::string needed = "(";
    for (size_t i = 0; i < argument_.shape.size(); ++i) {
      needed += (i == 0 ? "" : ", ") + std::to_string(argument_.shape[i]);
    }
    fail("needs shape " + needed + ")", shape + ")");
  }

  void check_contiguous(const DLTensor& tensor) const {
    if (tensor.strides == nullptr || argument_.bytes == 0) return;
    int64_t packed = 1;
    for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
      if (tensor.shape[i] != 1 && tensor.strides[i] != packed) {
        fail("needs a contiguous tensor",
             "stride " + std::to_string(tensor.strides[i]) + " in dimension " + std::to_string(i));
      }
      packed *= tensor.shape[i];
    }
  }

  [[noreturn]] void fail(const std::string& needs, const std::string& has) const {
    throw sim::SimError(sim::ErrorKind::kBadProgram, -1, where_ + needs + ", has " + has);
  }

  const sim::Argument& argument_;
  const std::string where_;
};

}  // namespace

sim::MemoryMap map_arguments(const sim::Program& program, const std::vector<uint64_t>& addresses,
                             ffi::PackedArgs args) {
  const size_t count = program.tensors();
  if (static_cast<size_t>(args.size()) != count) {
    throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                        "'" + program.name + "': needs " + std::to_string(count) +
                            " tensors, has " + std::to_string(args.size()));
  }
  sim::MemoryMap dram;
  for (size_t i = 0; i < count; ++i) {
    const DLTensor* tensor = ArgumentCheck(program, i).tensor_of(args[static_cast<int32_t>(i)]);
    const sim::Argument& argument = program.arguments[i];
    if (argument.bytes == 0) continue;
    dram.add({addresses[i], argument.bytes,
              static_cast<uint8_t*>(tensor->data) + tensor->byte_offset, argument.is_output,
              argument.name});
  }
  add_constants(program, addresses, dram);
  return dram;
}

void add_constants(const sim::Program& program, const std::vector<uint64_t>& addresses,
                   sim::MemoryMap& dram) {
  for (size_t i = program.tensors(); i < program.arguments.size(); ++i) {
    const sim::Argument& constant = program.arguments[i];
    // Regions are written only where they say so.
    auto* data = const_cast<uint8_t*>(constant.data.data());
    dram.add({addresses[i], constant.bytes, data, /*is_writable=*/false, constant.name});
  }
}

void launch(const sim::Program& program, ffi::PackedArgs args) {
  with_ffi_errors([&] {
    const std::vector<uint64_t> addresses = addresses_of(program);
    const sim::MemoryMap dram = map_arguments(program, addresses, args);
    const auto simulator = make_simulator(program.kind, program.numbers, dram, launch_options());
    sim::HostCore host(program.host);
    simulator->run(program, addresses, host);
    simulator->finish();
    record_launch(program.name, program.host, simulator->stats());
  });
}

}  // namespace npu
