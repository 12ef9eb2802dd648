/** `iota bench hub relay` between real processes: that segments get through each way of relaying, not how fast. */

import { assert } from "@std/assert";
import { measureRelay, type RelayWay } from "../../cli/tools/bench/relay.ts";

const ways: readonly RelayWay[] = ["session", "session, hashed", "session, journaled", "ws"];

for (const way of ways) {
  Deno.test(`Bench: a relay by ${way} moves segments from process to process`, async () => {
    const { signal } = new AbortController();
    const measured = await measureRelay({ way, segmentBytes: 65_536, seconds: 0.1, signal });
    assert(measured.bytes >= 65_536 && measured.count === measured.bytes / 65_536 && measured.cpuSeconds > 0);
  });
}
