/**
 * An orchestrator on a real port, in a process of its own, for tests that attack it: the production listener, protocol
 * and API with a store in memory. Speaks JSON lines; `memory` on its standard input asks for what it uses.
 */

import { RequestGate } from "../../../net/auth/request_auth.ts";
import { createApi } from "../../../net/hub_http.ts";
import { fault } from "../../../core/fault.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { listen } from "../../../net/server.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { TextLineStream } from "../../../cli/program/text_lines.ts";
import { readNote } from "../../conformance/transport_world.ts";
import { testSigner, testVerify } from "../net/test_keys.ts";
import { testTickets } from "../net/test_tickets.ts";

const say = (line: Record<string, unknown>) => console.log(JSON.stringify(line));
const { descriptors = null, ...changed } = JSON.parse(Deno.args[0] ?? "{}");
const limits: NetLimits = { ...defaultNetLimits, ...changed };
const signer = testSigner(200);
const tickets = testTickets({ hub: signer.address, timers: systemTimers, random: systemRandom });
const hub = new Hub({
  run: "test",
  signer,
  verify: testVerify,
  admit: () => null,
  tickets,
  read: readNote,
  limits,
  timers: systemTimers,
  random: systemRandom,
  onEvent: (event) => say(event.type === "message" ? { type: "message", peer: event.peer } : { ...event }),
});
const gate = new RequestGate({
  self: signer.address,
  verify: testVerify,
  admit: () => fault("notAdmitted", "Cannot use blobs: this run has no members"),
  tickets,
  limits,
  timers: systemTimers,
});
const nothing = { offset: () => Promise.resolve(0), append: () => Promise.reject(new Error("nobody uploads here")) };
const api = createApi({
  blobs: {
    store: new MemoryBlobs({ blobBytes: limits.blobBytes, capacityBytes: 1 }),
    uploads: nothing as never,
    intake: nothing as never,
    mayRead: () => false,
    check: (request, headers) => gate.check(request, headers),
  },
  pages: { "/status": () => Response.json({ refused: hub.refusals }) },
  onError: (error) => say({ type: "error", text: error.message }),
});
const { port } = await listen({
  host: "0.0.0.0",
  port: 0,
  limits,
  descriptors,
  accept: (wire) => hub.accept(wire),
  fetch: (request, trust, origin) => api.fetch(request, { trust, origin }),
  onNotice: (text) => say({ type: "notice", text }),
});
say({ type: "listening", port });

Deno.addSignalListener("SIGTERM", () => Deno.exit(1)); // as every role; it also opens what the runtime needs for signals
const collectGarbage = (globalThis as { gc?: () => void }).gc;
for await (const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())) {
  if (line !== "memory") continue;
  collectGarbage?.();
  const { rss } = Deno.memoryUsage();
  say({ type: "memory", rss, refused: hub.refusals.total });
}
Deno.exit(0);
