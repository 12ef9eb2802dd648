/** A node's runtime over scripted edges: what its machine hears of a link, what is sent, and how work comes back. */

import { assertEquals } from "@std/assert";
import { type Fault, fault, type Parsed, parsed } from "../../../core/fault.ts";
import type { BlobRef } from "../../../core/ids.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { type NodeEffect, type NodeMachineEvent, NodeRuntime } from "../../../cli/node/node_runtime.ts";
import { digest } from "../../lab/sim/digest.ts";
import { symbolicSegments } from "../../lab/sim/processes/symbolic_segments.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

type Event = NodeMachineEvent<string>;

const wire: BlobRef = { hash: digest("wire"), bytes: 8 };
const message: NodeMessage = { type: "leaving", reason: "done" };

class World {
  readonly heard: string[] = [];
  readonly sent: BlobRef[][] = [];
  readonly ended: string[] = [];
  readonly segments = symbolicSegments();
  answer: Effect[] = []; // to the next event
  done: (outcome: Parsed<string>) => void = () => {};
  readonly runtime = new NodeRuntime<null, Event, Effect, string, BlobRef, BlobRef>({
    machine: {
      step: (_, event) => {
        this.heard.push(told(event));
        return this.answer.splice(0);
      },
      nextDeadlineMs: () => null,
      assertInvariants() {},
    },
    state: null,
    edges: {
      timers: new ManualTimers(),
      links: {
        send: (_, segments = []) => {
          this.sent.push([...segments]);
          return parsed(0);
        },
        pause() {},
        resume() {},
      },
      segments: this.segments,
      sign: ({ type }) => `signed ${type}`,
      attach: (ref) => this.segments.get(ref),
      work: (_, done) => this.done = done,
      report() {},
      onFinish: ({ reason }) => this.ended.push(reason),
      onFailure: (error) => {
        throw error;
      },
    },
  });

  receive(): void {
    this.runtime.take({
      ...{ type: "message", message: { type: "reject", fault: fault("badBlob", "x") } },
      ...{ segments: [wire], names: [wire.hash], bytes: 8 },
    });
  }
}

type Effect = NodeEffect;

function told(event: Event): string {
  if (event.type === "workDone") return `${event.job} ${event.result}`;
  if (event.type === "workFailed") return `${event.job} ${(event.fault satisfies Fault).code}`;
  return event.type;
}

Deno.test("Node runtime: a machine hears of a link once, however often dialling fails", () => {
  const { runtime, heard } = new World();
  runtime.take({ type: "disconnected" });
  runtime.take({ type: "connected", resumed: false });
  for (let i = 0; i < 3; i++) runtime.take({ type: "disconnected" });
  assertEquals(heard, ["connected", "disconnected"]);
});

Deno.test("Node runtime: nothing is sent between the loss of a session and the next one", () => {
  const world = new World();
  const { runtime, sent } = world;
  const send = () => {
    world.answer = [{ type: "send", message, attachments: [wire] }];
    runtime.enqueue({ type: "stopRequested", reason: "say it" });
  };
  world.segments.hold(wire);
  send();
  runtime.take({ type: "connected", resumed: false });
  send();
  runtime.take({ type: "disconnected" });
  send(); // kept for the session's next link
  runtime.take({ type: "sessionLost" });
  send();
  assertEquals(sent, [[wire], [wire]]);
});

Deno.test("Node runtime: received segments are held until they are released", () => {
  const world = new World();
  world.receive();
  assertEquals(world.segments.holdersOf(wire), 1);
  world.answer = [{ type: "release", refs: [wire] }];
  world.runtime.enqueue({ type: "stopRequested", reason: "" });
  assertEquals(world.segments.holders, 0);
});

Deno.test("Node runtime: work comes back as its job's event, done or failed", () => {
  const world = new World();
  for (const job of [1, 2]) {
    world.answer = [{ type: "perform", job }];
    world.runtime.enqueue({ type: "stopRequested", reason: "" });
    world.done(job === 1 ? parsed("result") : { ok: false, fault: fault("badNumbers", "NaN") });
  }
  assertEquals(world.heard, ["stopRequested", "1 result", "stopRequested", "2 badNumbers"]);
});

Deno.test("Node runtime: a machine that has finished hears and holds nothing more", () => {
  const world = new World();
  world.answer = [{ type: "finish", finished: true, reason: "over" }];
  world.runtime.enqueue({ type: "stopRequested", reason: "" });
  world.receive();
  world.runtime.take({ type: "connected", resumed: false });
  assertEquals([world.heard, world.ended, world.segments.holders], [["stopRequested"], ["over"], 0]);
});
