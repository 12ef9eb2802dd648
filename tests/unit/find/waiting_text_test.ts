/** What a node without a run reads while it waits. */

import { assertEquals } from "@std/assert";
import { waitingText } from "../../../cli/node/find/find_hub.ts";

Deno.test("Waiting for a run: an invite is named to a node that was started without an orchestrator, and to no other", () => {
  const why = "this validator has no permit";
  assertEquals(waitingText(why, { isNamed: true }), "Not in a run yet: this validator has no permit");
  assertEquals(
    waitingText(why, { isNamed: false }),
    "Not in a run yet: this validator has no permit; with an invite: --orchestrator 'iota://HOST:PORT/RUN#KEY'",
  );
});
