/** Where a node dials: the address it began with, and when that stays silent, the one the chain announces by then. */

import { assertEquals } from "@std/assert";
import { hubAddress } from "../../../cli/roles/addresses.ts";
import { DialledHub } from "../../../cli/node/find/dialled_hub.ts";
import type { DialHandler, Wire } from "../../../net/links/wire.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

const wire: Wire = { bufferedBytes: 0, send: () => {}, close: () => {}, pause: () => {}, resume: () => {} };
const handler: DialHandler = { opened: () => {}, frame: () => {}, closed: () => {} };

function placeWith(lookUp: (() => Promise<string | null>) | null) {
  const timers = new ManualTimers();
  const dialled: string[] = [], said: string[] = [];
  const place = new DialledHub({
    ...{ address: hubAddress("ws://203.0.113.7:9009"), lookUp, timers },
    onMoved: (socket) => said.push(`moved ${socket}`),
    onProblem: (text) => said.push(`problem ${text}`),
  });
  const dial = place.through((url) => {
    dialled.push(url);
    return wire;
  });
  const attempt = async (count: number) => {
    for (let i = 0; i < count; i++) {
      dial("ws://given.when.opened", handler);
      for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    }
  };
  return { timers, dialled, said, place, attempt };
}

Deno.test("Dialled orchestrator: after some attempts in vain it asks the chain, and dials and downloads where the orchestrator is now", async () => {
  let announced: string | null = "ws://203.0.113.7:9009";
  let asked = 0;
  const { dialled, said, place, attempt, timers } = placeWith(() => {
    asked += 1;
    return Promise.resolve(announced);
  });
  await attempt(3);
  assertEquals(asked, 0, "an orchestrator that restarts is back by then");
  await attempt(5);
  assertEquals([asked, said], [1, []], "it has not moved, and is not asked after for a while");
  announced = "wss://run.example";
  timers.advance(5_000);
  await attempt(2);
  assertEquals([asked, said], [2, ["moved wss://run.example"]]);
  assertEquals([dialled.at(-1), place.socket, place.http], [
    "wss://run.example",
    "wss://run.example",
    "https://run.example",
  ]);
  place.connected();
  announced = null; // the run is over, or the orchestrator took it back
  await attempt(4);
  assertEquals([asked, place.socket], [3, "wss://run.example"]);
  for (let second = 0; second < 300; second++) {
    timers.advance(1_000);
    await attempt(1);
  }
  assertEquals(asked, 3 + 4 + 3, "after 5, 10, 20 and 40 s, then every minute");
});

Deno.test("Dialled orchestrator: a chain that fails is said, and the attempts go on; a typed address is never left", async () => {
  const failing = placeWith(() => Promise.reject(new Error("no endpoint answers")));
  await failing.attempt(5);
  assertEquals([failing.said, failing.dialled.length], [["problem no endpoint answers"], 5]);
  const typed = placeWith(null);
  await typed.attempt(9);
  assertEquals([typed.said, new Set(typed.dialled).size], [[], 1]);
});
