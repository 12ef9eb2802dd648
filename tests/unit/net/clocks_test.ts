/** Clocks that differ: the comparison, and requests that a node with a wrong clock stamps in the orchestrator's time. */

import { assertEquals, assertMatch } from "@std/assert";
import { compareClocks, HubTime, isAlike, isNoticeable } from "../../../net/auth/clocks.ts";
import { createAuthorize, RequestGate } from "../../../net/auth/request_auth.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { SettableClock } from "../../support/net/link_world.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";

Deno.test("Clocks: a difference is known to half the time of the round trip", () => {
  assertEquals(compareClocks({ theirsMs: 5_000, oursMs: 1_000, tookMs: 300 }), { aheadMs: 4_150, errorMs: 150 });
  assertEquals(compareClocks({ theirsMs: 1_000, oursMs: 5_000, tookMs: 0 }), { aheadMs: -4_000, errorMs: 0 });
  assertEquals(isNoticeable({ aheadMs: -10_001, errorMs: 0 }), true);
  assertEquals(isNoticeable({ aheadMs: 12_000, errorMs: 2_000 }), false);
  assertEquals(isAlike({ aheadMs: 180_000, errorMs: 0 }, { aheadMs: 189_000, errorMs: 0 }), true);
  assertEquals(isAlike({ aheadMs: 180_000, errorMs: 0 }, { aheadMs: -180_000, errorMs: 0 }), false);
});

Deno.test("Clocks: requests of a node whose clock is wrong, or is set meanwhile, are accepted in the orchestrator's time", () => {
  const timers = new ManualTimers();
  const own = new SettableClock(timers);
  const hubTime = new HubTime(own);
  const [node, hub] = [testSigner(1), testSigner(200)];
  const limits = defaultNetLimits;
  const gate = new RequestGate({
    self: hub.address,
    verify: testVerify,
    admit: () => null,
    tickets: null,
    limits,
    timers,
  });
  const authorize = createAuthorize({ signer: node, receiver: hub.address, timers: hubTime, random: countingRandom() });
  const request = { method: "GET", target: "/blobs/1", bodyHash: "00".repeat(32) };
  const answer = () => {
    const checked = gate.check(request, new Headers(authorize(request)));
    return checked.ok ? "" : checked.fault.detail;
  };
  own.offsetMs = -180_000;
  assertMatch(
    answer(),
    /180000 .*\(signed at 2023-11-14 22:10:20 UTC, and this clock says 2023-11-14 22:13:20 UTC\); set the clock that is wrong/,
  );
  hubTime.learn(compareClocks({ theirsMs: timers.nowMs(), oursMs: own.nowMs(), tookMs: 0 }));
  assertEquals(answer(), "");
  own.offsetMs = 3_600_000;
  timers.advance(60_000);
  assertEquals(answer(), "");
});
