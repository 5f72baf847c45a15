// device_api.ext_dev: the simulated device shares memory with its host, as on a system-on-chip.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace npu {
namespace {

namespace ffi = tvm::ffi;
using tvm::Device;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

class NpuDeviceApi final : public DeviceAPI {
 public:
  static NpuDeviceApi* global() {
    static NpuDeviceApi* instance = new NpuDeviceApi();  // must outlive every tensor
    return instance;
  }

  void SetDevice(Device) final {}

  void GetAttr(Device device, DeviceAttrKind kind, ffi::Any* result) final {
    if (kind == DeviceAttrKind::kExist) {
      *result = static_cast<int64_t>(device.device_id == 0);
    } else if (kind == DeviceAttrKind::kDeviceName) {
      *result = ffi::String("npu_target simulated device");
    }
  }

  void* AllocDataSpace(Device, size_t bytes, size_t alignment, DLDataType) final {
    const size_t least = std::max(alignment, sizeof(void*));
    void* data = nullptr;
    if (posix_memalign(&data, least, std::max<size_t>(bytes, 1)) != 0) throw std::bad_alloc();
    return data;
  }

  void FreeDataSpace(Device, void* data) final { std::free(data); }

  void StreamSync(Device, TVMStreamHandle) final {}  // launches return when they are done

  bool SupportsDevicePointerArithmeticsOnHost() final { return true; }

 protected:
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, Device, Device, DLDataType, TVMStreamHandle) final {
    std::memcpy(static_cast<char*>(to) + to_offset, static_cast<const char*>(from) + from_offset,
                bytes);
  }
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def_packed(
      "device_api.ext_dev", [](ffi::PackedArgs, ffi::Any* result) {
        *result = static_cast<void*>(NpuDeviceApi::global());
      });
}

}  // namespace npu
