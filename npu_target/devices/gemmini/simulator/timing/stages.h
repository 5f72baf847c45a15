// How many cycles each fixed piece of pipeline takes.
//
// These follow from the structure of the generated hardware (one register or queue is one cycle),
// not from a parameter of the generator, so they are no fields of the config. The file and the
// unit each comes from is given; sums were checked against measured single-command streams.
#pragma once

#include "gemmini/simulator/timing/cycle.h"

namespace npu::gemmini::timing {

// LazyRoCC router, raw_cmd_q, LoopConv, LoopMatmul, unrolled_cmd: five queues in a row.
inline constexpr Cycle kFrontEndStages = 5;

// From the unrollers of LOOP_CONV_WS and of LOOP_WS on: their share of those queues.
inline constexpr Cycle kConvUnrollerStages = 2;
inline constexpr Cycle kMatmulUnrollerStages = 1;

// A fence returns this long after the last cycle in which something was pending; with nothing
// pending it costs kIdleFenceCycles.
inline constexpr Cycle kFenceReturnCycles = 5;
inline constexpr Cycle kIdleFenceCycles = 2;

// Reservation station to load controller and to store controller: one queue each.
inline constexpr Cycle kLoadQueueStages = 1;
inline constexpr Cycle kStoreQueueStages = 1;
// Reservation station to execute controller: transpose unroller, then the multi-headed queue.
inline constexpr Cycle kExecuteQueueStages = 2;

// Load controller to the request leaving the DMA: read_issue_q, request register.
inline constexpr Cycle kLoadRequestStages = 2;
// Rows that wait between the controller and the DMA (read_issue_q).
inline constexpr Cycle kLoadRequestQueueRows = 5;
// What the beat merger may lose between two packets, and data come in order without a pause.
inline constexpr Cycle kMergerLossCycles = 2;
// Beat merger output to SRAM write: scaler queue, its input, its entry, pixel repeater.
inline constexpr Cycle kLoadWriteStages = 4;
// What a scale other than one adds: arbiter register, 4-stage multiplier, result register.
inline constexpr Cycle kLoadScaleStages = 6;
// Load controller to SRAM write of zeros: zero writer, pixel repeater.
inline constexpr Cycle kZeroWriteStages = 2;

// SRAM read to the row being at the array: SRAM, 4 pipeline stages, control queue.
inline constexpr Cycle kArrayReadStages = 6;
// Array drained to CONFIG_EX taking effect: tag popped, state machine back from its flush.
inline constexpr Cycle kConfigDrainStages = 2;

// Store controller to SRAM read: dispatch queue.
inline constexpr Cycle kStoreDispatchStages = 1;
// Accumulator read to scaler input: SRAM, normalizer queue, scale queue.
inline constexpr Cycle kStoreAccReadStages = 3;
// Rows read ahead of the scaler: the accumulator's output register and the normalizer queue.
inline constexpr int kStoreAccRowsAhead = 3;
// Scratchpad read to writer: SRAM, then 4 pipeline stages, of which 5 overlap the write queue.
inline constexpr Cycle kStoreSpadReadStages = 1;
inline constexpr Cycle kStoreSpadPipeStages = 5;
inline constexpr int kStoreSpadRowsAhead = 1;
// Commands the store controller keeps under way.
inline constexpr int kStoresInFlight = 2;

// What the L2 loses per request when requests come back to back: directory updates meet lookups.
// One cycle in 16 reads, one in 20 writes (measured: 64.9 cycles for 64 beats of 16 reads, 66.1 and
// 65.8 for those of 16 and of 64 writes).
inline constexpr Ticks kL2ReadGapTicks = kTicksPerCycle / 64;
inline constexpr Ticks kL2WriteGapTicks = kTicksPerCycle / 20;

// The queue at the L2's door, in beats, beyond what is on its way through (TLBuffer); how many
// beats the writer can be ahead of it; and what a request that leaves the door counts less there,
// for its turn (kL2TurnStages) is counted to its data.
inline constexpr int64_t kL2DoorBeats = 2;
inline constexpr unsigned kL2WriteBeatsAhead = 4;
inline constexpr Cycle kL2DoorStages = 6;

// What another request may take of the data pipeline's time for a line that comes in: the pipeline
// waits for its beats, half of the time on a bus of half the width.
inline constexpr Ticks kL2OverlapTicks = 3 * kTicksPerCycle;

// Inside of the L2, between its data pipeline and the memory bus; fitted to measured streams of
// loads and stores.
// An MSHR that was free to the data of its next request: allocated, looked up, scheduled. Less
// when it waited in the MSHR's own queue, and less again when it needs no lookup. Least behind a
// miss: the lookup is in the very turn that the last message leads to (Scheduler.scala,
// mshr_uses_directory), while a hit is through with its MSHR a turn before its data go out. That
// of the same line it is not less there, measured schedules say.
inline constexpr Cycle kL2TurnStages = 13;
inline constexpr Cycle kL2SameSetStages = 3;
inline constexpr Cycle kL2SameLineStages = 2;
inline constexpr Cycle kL2SetOfMissStages = 1;
// An MSHR lets go of a hit so long before its data leave, which are in the pipeline then.
inline constexpr Cycle kL2DataStages = 1;
// The victim's release to the request for the new line.
inline constexpr Cycle kL2ReleaseStages = 1;
// The victim's release to its first bytes on the memory bus.
inline constexpr Cycle kL2WriteBackStages = 2;
// Cycles of a line on the bus that wait in queues behind the cache, which can let go of the next.
inline constexpr Cycle kL2WriteBackQueueCycles = 5;
// A request for a line to the bus, where it waits for a line that goes out (TLCacheCork: one way).
inline constexpr Cycle kL2AskStages = 2;
// A release, or the end of a write in memory, to its acknowledgement at the bus.
inline constexpr Cycle kL2AcknowledgeStages = 1;
// A request to write a whole line to its permission at the bus, and how many of those can wait
// there (TLCacheCork: a queue of 2).
inline constexpr Cycle kL2PermissionStages = 1;
inline constexpr unsigned kL2PermissionsWaiting = 2;
// How many lines and permissions may have come that their registers have not acknowledged
// (TLCacheCork.scala, sinkIds), and a register's turn to its number being back (the queue behind
// SourceE.scala, IDPool.scala).
inline constexpr int64_t kL2Grants = 8;
inline constexpr Cycle kL2GrantStages = 2;
// How many evictions of lines that were not written to can wait for their acknowledgements (a queue
// of 2, and those on their way there), and the room for another to the eviction that waits for it.
inline constexpr unsigned kL2CleanReleases = 4;
inline constexpr Cycle kL2CleanStages = 8;
// The end of what the bus brings to the MSHR being free.
inline constexpr Cycle kL2DoneStages = 1;
// What an eviction takes of the data pipeline: its acknowledgement has a turn in the data store.
inline constexpr Ticks kL2EvictTicks = kTicksPerCycle * 17 / 16;
// What a beat of a write with bytes left out takes longer: it is read first, from two of the data
// store's eight banks, and a write on its way through that wants those goes before. That is one in
// four of the cycles with a write; measured, 275 for 1,296 such beats back to back.
inline constexpr Ticks kL2PartialBeatTicks = kTicksPerCycle * 21 / 100;
// What a cycle in which a line comes in, beyond those in which it goes out, takes of the pipeline.
inline constexpr Ticks kL2FillTicks = kTicksPerCycle * 15 / 16;

}  // namespace npu::gemmini::timing
