// Where a program without an operating system begins, and where it comes when something traps.
// The symbols are those of memory.ld.

  .section .text.start, "ax", @progbits
  .globl _start
_start:
  la t0, trap
  csrw mtvec, t0
  la t0, trap_stack_end
  csrw mscratch, t0
  csrw mie, zero
  csrr t0, mhartid
  bnez t0, park  // one core runs the program, the others wait

  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack
  fence.i  // what a loader has just written are instructions

  // The stack, and what is free below, is filled with a pattern that tells later how deep it was.
  la t0, __stack_watched
  ld t1, core_unused
fill:
  sd t1, 0(t0)
  addi t0, t0, 8
  bltu t0, sp, fill
  call core_begin

park:
  wfi
  j park

// On a stack of its own, as the program's may be what is broken:
// pc = core_trapped(cause, pc, value, registers), with x0 to x31 as they were. mscratch is the end
// of that stack, and 0 while it is in use: what traps then ends the program.
  .section .text.trap, "ax", @progbits
  .balign 4
trap:
  csrrw sp, mscratch, sp
  beqz sp, trapped_in_trap
  addi sp, sp, -256
  .irp n, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, \
    25, 26, 27, 28, 29, 30, 31
  sd x\n, 8 * \n(sp)
  .endr
  csrrw t0, mscratch, zero
  sd t0, 16(sp)
  csrr a0, mcause
  csrr a1, mepc
  csrr a2, mtval
  mv a3, sp
  call core_trapped
  csrw mepc, a0
  addi t0, sp, 256
  csrw mscratch, t0
  .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, \
    26, 27, 28, 29, 30, 31
  ld x\n, 8 * \n(sp)
  .endr
  ld sp, 16(sp)
  mret

trapped_in_trap:
  la sp, trap_stack_end
  li a0, 3
  call _exit

  .section .bss.trap_stack, "aw", @nobits
  .balign 16
  .skip 8192
trap_stack_end:
