// TVM's tensor.h includes this header, which its wheel does not carry, and uses nothing of it
// beyond what io.h declares.
#pragma once

#include <tvm/support/io.h>
