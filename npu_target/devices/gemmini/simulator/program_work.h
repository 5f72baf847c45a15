// What a program does how often, and cycles that parts of the device are busy at least.
#pragma once

#include "sim/program.h"

namespace npu::gemmini {

// The likely counts take fields that run as what they start from, the sure ones as 1: nothing that
// the latter count can be missing from a run.
struct ProgramWork {
#define COUNT(name) double name = 0;
#include "gemmini/work_counts.def"
  // Of what is sure.
  double sure_commands = 0;
  double sure_load_beats = 0;
  double sure_store_beats = 0;
  double array_cycles = 0;
  bool pools = false;  // a store may write fewer rows than it reads
};

// The work of a program of a Gemmini.
ProgramWork work_of(const sim::Program& program);

}  // namespace npu::gemmini
