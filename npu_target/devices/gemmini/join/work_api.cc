// npu.gemmini.program_work: what a program does how often, for the cost model.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include "gemmini/simulator/program_work.h"
#include "sim/program.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"

namespace npu::gemmini {
namespace {

namespace ffi = tvm::ffi;

// The numbers of the work of a program file, by their names.
ffi::Map<ffi::String, double> program_work(const ffi::Bytes& file) {
  return with_ffi_errors([&] {
    const ProgramWork work = work_of(sim::Program::parse(view(file)));
    ffi::Map<ffi::String, double> numbers;
#define COUNT(name) numbers.Set(#name, work.name);
#include "gemmini/work_counts.def"
    numbers.Set("sure_commands", work.sure_commands);
    numbers.Set("sure_load_beats", work.sure_load_beats);
    numbers.Set("sure_store_beats", work.sure_store_beats);
    numbers.Set("array_cycles", work.array_cycles);
    numbers.Set("pools", work.pools ? 1 : 0);
    return numbers;
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.gemmini.program_work", program_work);
}

}  // namespace npu::gemmini
