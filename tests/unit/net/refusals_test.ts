/** The warning about refused connections: each reason in words that are true of it. */

import { assertEquals } from "@std/assert";
import { Refusals } from "../../../net/auth/refusals.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

Deno.test("Refusals: an authenticated node that is not registered yet is not reported as unauthenticated", () => {
  const said: string[] = [];
  const timers = new ManualTimers();
  const refusals = new Refusals({ timers, reportMs: 60_000, onReport: (text) => said.push(text.split(";")[0]!) });
  refusals.count("wrongPhase");
  refusals.count("notAdmitted");
  refusals.count("unauthenticated");
  timers.advance(60_000);
  assertEquals(said, [
    "Refused connections: 1 that must try again later (1 in all)",
    "Refused connections: 1 that this run does not admit, 1 that did not authenticate (3 in all)",
  ]);
});
