/** Why a stage has nothing of a round, in the words that the run's owner reads. */

import { assertEquals } from "@std/assert";
import type { RefusedUpload } from "../../../core/fault.ts";
import { failureText } from "../../../core/orchestrator/merge/losses/lost_stages.ts";

const textOf = (upload: RefusedUpload): string =>
  failureText({ code: "uploadFailed", detail: "its own words", upload });

const answered = "an upload of 1,500,000 bytes was answered with HTTP";

Deno.test("Lost stages: a refused signature names the clocks, whose is ahead and by how much", () => {
  const at = (status: number, clockMs: number) => textOf({ status, bytes: 1_500_000, clockMs });
  const ahead = "the orchestrator's clock is";
  assertEquals(at(401, 3_600_000), `${answered} 401; ${ahead} 60 min ahead of the miner's`);
  assertEquals(at(403, -3_600_000), `${answered} 403; ${ahead} 60 min behind the miner's`);
  assertEquals(at(401, 90_400), `${answered} 401; ${ahead} 90 s ahead of the miner's`);
  assertEquals(at(401, -119_000), `${answered} 401; ${ahead} 119 s behind the miner's`);
  assertEquals(at(401, 120_000), `${answered} 401; ${ahead} 2 min ahead of the miner's`);
});

Deno.test("Lost stages: clocks that agree, or an answer that does not depend on them, are not mentioned", () => {
  for (const clockMs of [0, 5_000, -5_000]) {
    assertEquals(textOf({ status: 401, bytes: 1_500_000, clockMs }), `${answered} 401`);
  }
  for (const status of [413, 429, 500]) {
    assertEquals(textOf({ status, bytes: 1_500_000, clockMs: 3_600_000 }), `${answered} ${status}`);
  }
});

Deno.test("Lost stages: without an answer, or without an upload, what the miner writes of itself is not repeated", () => {
  assertEquals(textOf({ status: null, bytes: 64, clockMs: 0 }), "an upload of 64 bytes got no answer");
  assertEquals(
    failureText({ code: "badNumbers", detail: "visit https://example.com" }),
    "its miner failed with the fault 'badNumbers'",
  );
});
