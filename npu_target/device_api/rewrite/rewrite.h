// Programs rewritten for the host: the same commands in the same order, by fewer instructions and
// from less code.
//
// Code generation places commands; what it prints has conditions that a loop around decides, parts
// that repeat themselves, and loops of two commands. Each file here mends one of these.
#pragma once

#include <functional>
#include <string>

#include "rewrite/command_set.h"
#include "rewrite/options.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::rewrite {

// Is given what each pass leaves, by its name.
using Show = std::function<void(const std::string& pass, const sim::Program& program)>;

// A program of a device's commands with the same stream of commands, better for the host that is in
// its config.
//
// Conditions are decided first, since what is alike without them is rolled; loops are unrolled
// later, since what is unrolled is not rolled again; where sums are made is seen at the end. Where
// the host then still has too much to do for a command, more code is made of the program.
//
// Throws SimError bad_program where the program would divide by zero. `control` is that of counting
// what is asked of the host. Without `show` no pass but the last is told of.
sim::Program rewritten(const sim::Program& program, const CommandSet& commands,
                       const Options& options, const sim::RunControl& control, const Show& show);

}  // namespace npu::rewrite
