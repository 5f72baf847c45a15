// More code where the host has too much to do: what its model is asked for that.
#include <cstdint>
#include <vector>

#include "made.h"
#include "rewrite/budget.h"
#include "rewrite/parts.h"

namespace npu::rewrite::testing {
namespace {

// A host to which a command is so many instructions and loops are so many bytes of code, and which
// bodies it was asked about.
struct Host {
  explicit Host(uint64_t instructions, uint64_t bytes = 100)
      : instructions_a_command(instructions), loop_bytes(bytes) {}

  HostModel model() {
    return {[this](const Body* body) {
              asked.push_back(body);
              constexpr uint64_t kCommands = 1000;
              return sim::HostDemand{instructions_a_command * kCommands, kCommands, loop_bytes,
                                     100};
            },
            0.5};
  }

  const uint64_t instructions_a_command;
  const uint64_t loop_bytes;
  std::vector<const Body*> asked;
};

const Test too_many("budget: a program of very many commands is not counted", [] {
  Maker make;
  const Node* inner = make.loop(2, 7, {make.load(make.var(2))});
  const Body* body = make.body({make.loop(1, 1 << 22, {inner})});
  Parts parts = parts_of(make, body);
  Host host(9);
  CHECK(within_budget(body, parts, host.model()) == body);
  CHECK(host.asked.empty());
});

const Test has_time("budget: where the host has time, no change is tried", [] {
  Maker make;
  Parts parts = parts_of(make, tiles(make, 4));
  const Body* body = parts.changed({});
  Host host(3);
  CHECK(within_budget(body, parts, host.model()) == body);
  // Whether it is better not to unroll is asked all the same.
  CHECK(host.asked == (std::vector<const Body*>{body, parts.without_unrolling()}));
});

const Test has_none("budget: where it has none, changes are tried", [] {
  Maker make;
  Parts parts = parts_of(make, tiles(make, 4));
  const Body* body = parts.changed({});
  Host host(4);
  CHECK(within_budget(body, parts, host.model()) == body);  // nothing helps such a host
  CHECK(host.asked.size() > 2);
});

const Test has_no_room("budget: where loops are much too long already, no change is tried", [] {
  Maker make;
  Parts parts = parts_of(make, tiles(make, 4));
  const Body* body = parts.changed({});
  for (const uint64_t loop_bytes : {12 * 1024, 13 * 1024}) {
    Host host(4, loop_bytes);
    CHECK(within_budget(body, parts, host.model()) == body);
    CHECK((host.asked.size() > 2) == (loop_bytes == 12 * 1024));
  }
});

}  // namespace
}  // namespace npu::rewrite::testing
