// Runtime modules of kind "npu": compiled programs by function name.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/byte_reader.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/launch.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

constexpr std::string_view kMagic("NPUMODS\x01", 8);

void append_u32(std::string& to, size_t value) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(value >> shift & 0xFF);
}

void append_text(std::string& to, const std::string& text) {
  append_u32(to, text.size());
  to += text;
}

class NpuModule final : public ffi::ModuleObj {
 public:
  void add(const std::string& name, std::string bytes) {
    Kernel kernel;
    kernel.program = std::make_shared<const sim::Program>(sim::Program::parse(bytes));
    kernel.bytes = std::move(bytes);
    kernels_[name] = std::move(kernel);
  }

  const char* kind() const final { return "npu"; }

  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    const auto found = kernels_.find(name);
    if (found == kernels_.end()) return std::nullopt;
    // The function holds the program, so that it outlives the module.
    return ffi::Function::FromPacked(
        [program = found->second.program](ffi::PackedArgs args, ffi::Any* result) {
          launch(*program, args);
          *result = nullptr;
        });
  }

  bool ImplementsFunction(const ffi::String& name) final { return kernels_.count(name) != 0; }

  ffi::Array<ffi::String> GetWriteFormats() const final { return {"npu"}; }

  void WriteToFile(const ffi::String& path, const ffi::String& format) const final {
    if (format != "npu" || kernels_.size() != 1) {
      TVM_FFI_THROW(ValueError) << "npu module: needs format 'npu' and exactly one program to "
                                   "write a file, has format '"
                                << format << "' and " << kernels_.size() << " programs";
    }
    const std::string& bytes = kernels_.begin()->second.bytes;
    std::ofstream file(std::string(path), std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) TVM_FFI_THROW(RuntimeError) << "npu module: cannot write " << path;
  }

  ffi::Bytes SaveToBytes() const final {
    std::string bytes(kMagic);
    append_u32(bytes, kernels_.size());
    for (const auto& [name, kernel] : kernels_) {
      append_text(bytes, name);
      append_text(bytes, kernel.bytes);
    }
    return ffi::Bytes(std::move(bytes));
  }

  static ffi::Module load_bytes(const ffi::Bytes& bytes) {
    return with_ffi_errors([&] {
      sim::ByteReader in(view(bytes), "npu module");
      if (in.remaining() < kMagic.size() || in.take(kMagic.size()) != kMagic) {
        in.fail("needs a saved npu module (NPUMODS, version 1), has other bytes");
      }
      auto module = ffi::make_object<NpuModule>();
      const uint32_t count = in.count(8);
      for (uint32_t i = 0; i < count; ++i) {
        const std::string name = in.text();
        module->add(name, std::string(in.take(in.u32())));
      }
      if (in.remaining() != 0) in.fail("needs the end of the module, has more bytes");
      return ffi::Module(std::move(module));
    });
  }

  static ffi::Module load_file(const ffi::String& path, const ffi::String&) {
    std::ifstream file(std::string(path), std::ios::binary);
    if (!file) TVM_FFI_THROW(RuntimeError) << "npu module: cannot read " << path;
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return with_ffi_errors([&] {
      auto module = ffi::make_object<NpuModule>();
      const std::string name = sim::Program::parse(bytes).name;
      module->add(name, std::move(bytes));
      return ffi::Module(std::move(module));
    });
  }

  static ffi::Module create(const ffi::Map<ffi::String, ffi::Bytes>& programs) {
    return with_ffi_errors([&] {
      auto module = ffi::make_object<NpuModule>();
      for (const auto& [name, bytes] : programs) module->add(name, std::string(view(bytes)));
      return ffi::Module(std::move(module));
    });
  }

 private:
  struct Kernel {
    std::shared_ptr<const sim::Program> program;
    std::string bytes;
  };
  std::map<std::string, Kernel> kernels_;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.module.create", NpuModule::create)
      .def("ffi.Module.load_from_bytes.npu", NpuModule::load_bytes)
      .def("ffi.Module.load_from_file.npu", NpuModule::load_file);
}

}  // namespace npu
