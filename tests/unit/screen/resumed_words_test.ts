/** What an orchestrator that is back says of those it waits for. */

import { assertEquals } from "@std/assert";
import { awaitedText } from "../../../cli/observe/screen/record_words.ts";

Deno.test("Resumed: it says who is expected back, and how many miners are missing", () => {
  const back = { type: "resumed", step: 420, round: 84 } as const;
  assertEquals(
    awaitedText({ ...back, nodes: 0, miners: 2 }),
    "waiting for 2 miners",
  );
  assertEquals(awaitedText({ ...back, nodes: 3, miners: 0 }), "waiting for 3 nodes");
});
