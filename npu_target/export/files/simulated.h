// The device simulated: runs what a layer's kernel has issued, if it is what the program says.
#ifndef SIMULATED_H
#define SIMULATED_H

#include <cstdint>
#include <string>
#include <vector>

#include "sim/command.h"

// What a network's memory consists of.
enum class Place { INPUT, OUTPUT, CONSTANT, ARENA };

// Where such a block is: as commands name it, and in this process.
struct Block {
  uint64_t address;
  uint8_t* data;
};

// Compares the commands with those of the layer's program and runs them, from a cold start as the
// build does. `blocks` are in the order of Place. Ends the process with a message if they differ,
// or cannot be run.
void simulate_layer(unsigned layer, const std::vector<npu::sim::Command>& issued,
                    const std::vector<Block>& blocks);

// Has what layers write from now on left in a file, as count.c reads it.
void keep_results(const char* path);

// What a layer took the last time that it ran; 0 where it has not.
uint64_t simulated_cycles(unsigned layer);

// Where the build says another time, NULL if nowhere.
const char* simulated_complaint();

// Ends the process with what went wrong in a layer; NET_LAYERS: outside of all layers.
[[noreturn]] void fail(unsigned layer, const std::string& message);

#endif
