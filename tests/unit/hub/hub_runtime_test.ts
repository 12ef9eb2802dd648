/** The orchestrator's runtime over scripted edges: what the machine hears of the network, what becomes of its effects, how a run ends. */

import { assertEquals } from "@std/assert";
import { badScale, noScale } from "../../../core/codec/wire.ts";
import { type Fault, fault, type Parsed, parsed } from "../../../core/fault.ts";
import { type BlobRef, microbatchId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { openOrchestrator } from "../../../core/orchestrator/state.ts";
import { openStep } from "../../../core/orchestrator/step/wiring.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { HubRuntime } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { digest } from "../../lab/sim/digest.ts";
import { symbolicSegments } from "../../lab/sim/processes/symbolic_segments.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const node = nodeId("node");
const wire: BlobRef = { hash: digest("wire"), bytes: 8 };
const gone: Fault = fault("notAdmitted", "it has gone");

function newState() {
  const config = tinyConfig();
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const stageFloats = stages.map((spec) => parameterTable(spec).length);
  return openOrchestrator({ config, stages, layersOfStages, stageFloats, secret: new Uint8Array(32), nowMs: 0 });
}

class World {
  readonly timers = new ManualTimers();
  readonly log: string[] = []; // in order
  readonly events: OrchestratorEvent[] = [];
  readonly segments = symbolicSegments();
  answer: OrchestratorEffect[] = []; // to the next event
  sent: Parsed<number> = parsed(1);
  readonly state = newState();
  readonly runtime: HubRuntime<BlobRef, BlobRef>;

  constructor() {
    const { log, state } = this;
    this.runtime = new HubRuntime<BlobRef, BlobRef>({
      machine: {
        step: (_, event) => {
          this.events.push(event);
          log.push(`step ${event.type}`);
          return this.answer.splice(0);
        },
        nextDeadlineMs: () => null,
        assertInvariants() {},
      },
      config: state.config,
      state,
      recovered: null,
      edges: {
        timers: this.timers,
        links: {
          send: () => this.sent,
          close: (_, { code }) => log.push(`close ${code}`),
          pause() {},
          resume() {},
        },
        journal: {
          begin: () => log.push("begin"),
          commit: (batch) => void log.push(`commit ${batch.length}`),
        },
        segments: this.segments,
        attach: () => wire,
        scaleOf: (_, { bytes }) => ({ largest: bytes, rms: 1 }),
        apart: (_, [first, last]) => first === last ? 0 : 1,
        referee: ({ task }, contents, done) => {
          log.push(`arbiter ${task} ${contents.length}`);
          done({ type: "taskRefereed", task, found: null, detail: "" });
        },
        checkSignatures: (signed, done) => {
          log.push(`check ${signed.length}`);
          done(signed.map(() => true));
        },
        work: ({ type, round }, done) => {
          log.push(`work ${type}`);
          done({ type: "checkpointWritten", round, folder: "folder" });
        },
        deleteBlobs: () => log.push("delete"),
        sweepBlobs: () => log.push("sweep"),
        onLog: ({ type }) => log.push(`log ${type}`),
        onRecord: (record) => log.push(record.type === "warning" ? `warning ${record.text}` : record.type),
        onFinish: () => log.push("finish"),
        onEnd: ({ reason }) => log.push(`end ${reason}`),
        onFailure: (error) => {
          throw error;
        },
      },
    });
  }

  /** The machine answers a tick with these effects. */
  perform(...effects: OrchestratorEffect[]): void {
    this.answer = effects;
    this.runtime.enqueue({ type: "tick" });
  }

  receive(message: NodeMessage): void {
    const content = { segments: [wire], names: [wire.hash], bytes: 100 };
    this.runtime.take({ type: "message", peer: node, role: "miner", message, ...content });
  }
}

const task = taskId({ microbatch: microbatchId(0), stage: stageIndex(0), direction: "forward", attempt: 1 });
const result: NodeMessage = { type: "taskDone", task, losses: null, computeMs: 1 };

Deno.test("Orchestrator runtime: a journal begins before the first event, and an entry is kept before its effects", () => {
  const { runtime, log, answer } = new World();
  answer.push({ type: "disconnect", node, fault: gone });
  runtime.start();
  assertEquals(log, ["begin", "step tick", "commit 1", "close notAdmitted"]);
});

Deno.test("Orchestrator runtime: the machine hears who comes and goes, faults, and messages with their wires' scales", () => {
  const { runtime, events, segments } = new World();
  runtime.take({ type: "peerConnected", peer: node, role: "miner", resumed: true, clock: null });
  assertEquals(runtime.isConnected(node), true);
  runtime.take({ type: "fault", peer: node, fault: gone });
  runtime.take({ type: "linkDamaged", peer: node, fault: gone });
  runtime.take({ type: "peerDisconnected", peer: node, reason: "reset" });
  runtime.take({ type: "peerLost", peer: node, fault: gone });
  assertEquals([runtime.isConnected(node), segments.holders], [false, 0]);
  assertEquals(events.splice(0), [
    { type: "nodeConnected", node, role: "miner", resumed: true },
    { type: "faultReceived", node, fault: gone },
    { type: "nodeDisconnected", node },
    { type: "nodeDisconnected", node },
  ]);
});

Deno.test("Orchestrator runtime: a message's segments are held, and a wire is measured if its task is leased to the sender", () => {
  const world = new World();
  openStep(world.state, 0);
  const item = world.state.work!.flows[0]!.items[0]!;
  const lease = { task, node, leasedMs: 0, deadlineMs: 1, isAlone: true };
  world.receive(result);
  world.state.work!.leased.set(task, item);
  item.leases = [{ ...lease, node: nodeId("other") }];
  world.receive(result);
  item.leases = [lease];
  world.receive(result);
  world.receive({ type: "leaving", reason: "done" });
  const scales = world.events.map((event) => event.type === "messageReceived" ? event.scale : null);
  assertEquals([scales, world.segments.holders], [[badScale, badScale, { largest: 8, rms: 1 }, noScale], 4]);
  world.perform({ type: "release", refs: [wire, wire] });
  world.perform({ type: "release", refs: [wire, wire] });
  assertEquals(world.segments.holders, 0);
});

Deno.test("Orchestrator runtime: a message that cannot be sent is reported, unless its node has just left", () => {
  const world = new World();
  const send: OrchestratorEffect = {
    type: "send",
    to: node,
    message: { type: "reject", fault: gone },
    attachments: [],
  };
  world.perform(send);
  world.sent = { ok: false, fault: gone };
  world.perform(send);
  world.sent = { ok: false, fault: fault("tooLarge", "too many bytes") };
  world.perform(send);
  assertEquals(world.log.filter((text) => text.startsWith("warning")), [
    "warning reject for node was not sent: too many bytes",
  ]);
});

Deno.test("Orchestrator runtime: work and comparisons come back as events of their own", () => {
  const world = new World();
  world.receive(result);
  const of = { step: 1, microbatch: microbatchId(0), making: 1, stage: stageIndex(0) };
  world.perform(
    { type: "compareWires", ...of, first: wire, last: wire },
    { type: "writeCheckpoint", round: 3, step: 9, sources: [] },
    {
      type: "refereeTask",
      round: 3,
      task,
      stage: stageIndex(0),
      direction: "forward",
      losses: null,
      source: { type: "initial" },
      attachments: [{ type: "blob", ref: wire }],
    },
  );
  assertEquals(world.events.slice(2), [
    { type: "wiresCompared", ...of, last: wire.hash, apart: 0 },
    { type: "checkpointWritten", round: 3, folder: "folder" },
    { type: "taskRefereed", task, found: null, detail: "" },
  ]);
});

Deno.test("Orchestrator runtime: a run that is over ends when the last node has left, or three seconds later", () => {
  for (const leaves of [true, false]) {
    const world = new World();
    world.runtime.take({ type: "peerConnected", peer: node, role: "miner", resumed: false, clock: null });
    world.perform(
      { type: "finish", finished: true, reason: "all is done" },
      { type: "record", record: { type: "warning", text: "last" } },
    );
    world.receive(result);
    assertEquals([world.log.slice(-2), world.segments.holders], [["finish", "warning last"], 0], "nothing is taken");
    if (leaves) world.runtime.take({ type: "peerLost", peer: node, fault: gone });
    else world.timers.advance(3000);
    assertEquals(world.log.at(-1), "end all is done");
  }
});
