// npu.program.rewritten: programs made better for the host, for Python.
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <string>

#include "rewrite/rewrite.h"
#include "sim/program.h"
#include "sim/program_run.h"
#include "sim/program_write.h"
#include "src/command_classes.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// Of loops, when what is asked of the host is counted: beyond any kernel.
constexpr uint64_t kMaxIterations = uint64_t{1} << 26;

// Names of passes, each followed by what the pass leaves, as the end of a program file has it: of
// all that are told of if `shows`, and last, without a name, of the program as it is then.
// `passes` are the names of those that are to be made.
ffi::Array<ffi::Any> rewritten(const ffi::Bytes& bytes, const CommandClasses& classes,
                               const ffi::Array<ffi::String>& passes, bool shows) {
  return with_ffi_errors([&] {
    const sim::Program program = sim::Program::parse(view(bytes));
    const auto has = [&](const char* name) {
      for (const ffi::String& pass : passes) {
        if (pass == name) return true;
      }
      return false;
    };
    const rewrite::Options options{has("conditions"), has("rolling"),  has("splitting"),
                                   has("unrolling"),  has("hoisting"), has("sums"),
                                   has("budget")};
    const sim::RunControl control{kMaxIterations, stop_if_interrupted};
    ffi::Array<ffi::Any> found;
    const auto show = [&](const std::string& pass, const sim::Program& after) {
      found.push_back(ffi::String(pass));
      found.push_back(ffi::Bytes(sim::code_bytes(after)));
    };
    const sim::Program last = rewrite::rewritten(program, command_set(classes), options, control,
                                                 shows ? rewrite::Show(show) : rewrite::Show());
    show("", last);
    return found;
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.program.rewritten", rewritten);
}

}  // namespace npu
