// The files that are part of the program, each where any device's tensors may begin.
.macro file symbol, path
  .globl \symbol
  .balign 4096
\symbol:
  .incbin "\path"
.endm

  .section .rodata
  file net_weights, "weights.bin"
  file golden_input, "golden/input.bin"
  file golden_output, "golden/output.bin"
#ifdef NET_SIMULATED
  file net_programs, "simulator/programs.bin"
#endif
#ifdef NET_COUNTED
  file net_results, "results.bin"
#endif

#ifdef __linux__
  .section .note.GNU-stack, "", %progbits
#endif
