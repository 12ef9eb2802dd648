/** Which blobs of the orchestrator's store a node may read, and what a miner can reach of the model in a whole run. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type BlobHash,
  blobHash,
  type BlobRef,
  type NodeId,
  nodeId,
  type StageIndex,
  stageIndex,
} from "../../core/ids.ts";
import { mayRead } from "../../core/orchestrator/access.ts";
import { blobsOf } from "../../core/orchestrator/stored_blobs.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import { leafBytes } from "../../net/blob_hash.ts";
import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { assertProblem } from "../conformance/blobs_suite.ts";
import { BlobWorld } from "../support/net/blob_world.ts";
import { World } from "../lab/world/world.ts";
import { passWait } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { varied } from "../support/net/varied_bytes.ts";

const blobBytes = 8 * leafBytes;

Deno.test("Access: a blob that the node may not read is refused like a missing one, whatever the request", async () => {
  const store = new MemoryBlobs({ blobBytes, capacityBytes: 4 * blobBytes });
  const world = new BlobWorld({ store, blobBytes });
  const [own, others] = [await store.put(varied(2 * leafBytes, 1)), await store.put(varied(2 * leafBytes, 2))];
  const unknown = blobHash("cd".repeat(32));
  for (const hash of [others.hash, unknown]) world.withheld.add(hash);
  const client = world.client();
  assertEquals(await client.get(own.hash), varied(2 * leafBytes, 1));
  const ways: Readonly<Record<string, (hash: BlobHash) => Promise<unknown>>> = {
    GET: (hash) => client.get(hash),
    HEAD: (hash) => client.find(hash),
    leaves: (hash) => client.leaves(hash),
    range: (hash) => client.open(hash, { start: 0, end: 10 }),
  };
  for (const [way, ask] of Object.entries(ways)) {
    const answers: string[] = [];
    for (const hash of [others.hash, unknown]) {
      answers.push((await assertProblem(() => ask(hash), "refused")).replaceAll(hash, "HASH"));
    }
    assertEquals(answers[0], answers[1], way);
    if (way !== "HEAD") assertStringIncludes(answers[0]!, "this node's current work does not need it");
  }
});

// ------------------------------------------------------------------------------------------------ the decision

/** Two stages of three replicas and a validator; a round of one step. */
class TwoStages {
  readonly hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 6, steps: 100, stepsPerRound: 1 },
    swarm: { replicas: 3, validators: 1 },
    outer: { momentum: 0.9 },
    limits: { mergePhaseMs: 60_000, leaseMs: 600_000 },
  });
  readonly validator = nodeId("validator");
  readonly nodes: readonly NodeId[];

  constructor() {
    this.nodes = Array.from({ length: 6 }, (_, i) => this.hub.ready(`miner-${i}`));
    this.hub.step({ type: "nodeConnected", node: this.validator, role: "validator", resumed: false });
    const join = { role: "validator", adapter: "test", previousStage: null, holding: null, listens: null } as const;
    this.hub.tell(this.validator, { type: "join", ...join });
  }

  get state(): OrchestratorState {
    return this.hub.state;
  }

  replicas(stage: number): NodeId[] {
    return this.nodes.filter((node) => this.state.members.get(node)!.stage === stage);
  }

  readers(ref: BlobRef): string[] {
    return [...this.nodes, this.validator].filter((node) => mayRead(this.state, { node, hash: ref.hash }));
  }

  /** To the merge, with every payload committed. */
  toReducing(): Map<NodeId, readonly BlobRef[]> {
    this.hub.work(this.nodes);
    for (const node of this.nodes) this.hub.seal(node);
    const payloads = new Map<NodeId, readonly BlobRef[]>();
    for (const node of this.nodes) {
      const { round, slices } = this.hub.take(node, "startMerge");
      const payload = slices.map(({ size }) => this.hub.blob(4 * size));
      payloads.set(node, payload);
      this.hub.tell(node, { type: "payloadCommitted", round, slices: payload });
    }
    return payloads;
  }

  reduce(stage: number): void {
    const { round } = this.state;
    const results = new Map<number, BlobRef>();
    for (const node of this.replicas(stage)) {
      for (const message of [...this.hub.inbox(node)]) {
        if (message.type !== "reduceSlice") continue;
        const { edition, slice, inputs } = message;
        const result = results.get(slice) ?? this.hub.blob(inputs[0]!.payload.bytes);
        results.set(slice, result);
        this.hub.tell(node, { type: "sliceReduced", round, edition, slice, result });
      }
    }
    for (const [slice, result] of results) {
      this.hub.step({ type: "sliceRefereed", round, edition: 1, stage: stageIndex(stage), slice, result });
    }
    passWait(this.hub);
  }

  /** The rest of the round, to new sources. */
  finishRound(): void {
    const round = this.state.round + 1;
    for (const stage of [0, 1]) {
      const merged = { parameters: this.hub.blob(64), momentum: this.hub.blob(64) };
      for (const node of this.replicas(stage)) this.hub.tell(node, { type: "mergeApplied", round, ...merged });
    }
    for (const { asked, merged } of [...this.state.upload!.stages]) {
      this.hub.tell(asked as NodeId, { type: "parametersUploaded", round, ...merged });
    }
    this.hub.step({ type: "checkpointWritten", round, folder: "round" });
    for (const node of this.nodes) {
      const tasks = this.hub.tasksOf(node); // of the next step
      this.hub.inbox(node).splice(0, Infinity, ...tasks);
    }
  }

  toNextRound(): void {
    this.toReducing();
    for (const stage of [0, 1]) this.reduce(stage);
    this.finishRound();
  }
}

Deno.test("Access: a stage's replicas read its parameters and momentum, the other stage's do not", () => {
  const run = new TwoStages();
  run.toNextRound();
  for (const [stage, source] of run.state.sources.stages.entries()) {
    for (const ref of blobsOf([source])) {
      const readers = run.readers(ref).filter((node) => node !== run.validator);
      assertEquals(readers, run.replicas(stage));
    }
  }
  assertEquals(run.state.sources.stages.flatMap((source) => blobsOf([source])).length, 4);
  const stranger = run.state.sources.stages[0]!;
  assert(stranger.type === "blobs");
  assertEquals(mayRead(run.state, { node: nodeId("nobody"), hash: stranger.parameters.hash }), false);
});

Deno.test("Access: a newcomer reads the stage it is sent to, and when it moves the other one, never both", () => {
  const run = new TwoStages();
  run.toNextRound();
  const newcomer = run.hub.join("newcomer");
  const { stage } = run.hub.take(newcomer, "assign");
  const readable = () =>
    run.state.sources.stages.map((source) =>
      blobsOf([source]).every((ref) => mayRead(run.state, { node: newcomer, hash: ref.hash }))
    );
  assertEquals(readable(), [stage === 0, stage === 1]);
  run.hub.tell(newcomer, { type: "leaving", reason: "moves" });
  assertEquals(readable(), [false, false]);
  run.hub.join("newcomer", { previousStage: (1 - stage) as StageIndex });
  const next = run.hub.take(newcomer, "assign").stage;
  assertEquals(readable(), [next === 0, next === 1]);
});

Deno.test("Access: a reducer reads the slices it was asked to reduce, even when late, and no other payload", () => {
  const run = new TwoStages();
  const payloads = run.toReducing();
  const asked = new Map(run.nodes.map((node) => [
    node,
    new Set(run.hub.inbox(node).flatMap((message) => message.type === "reduceSlice" ? [message.slice] : [])),
  ]));
  const check = () => {
    for (const [owner, payload] of payloads) {
      const { stage } = run.state.members.get(owner)!;
      for (const [index, ref] of payload.entries()) {
        const expected = run.replicas(stage!).filter((node) => asked.get(node)!.has(index));
        assertEquals(run.readers(ref), expected);
        assert(expected.length === 2, "a slice has two reducers of three replicas");
      }
    }
  };
  check();
  run.reduce(0);
  assert(run.state.merge!.stages[0]!.slices.every(({ accepted }) => accepted !== null));
  check();
  const [slow] = run.replicas(1);
  const [late] = asked.get(slow!)!;
  run.hub.wait(60_000); // the other stage's reducers are replaced, and may still be at it
  assert(!run.state.merge!.stages[1]!.slices[late!]!.asked.includes(slow!));
  for (const owner of run.replicas(1)) assert(run.readers(payloads.get(owner)![late!]!).includes(slow!));
});

Deno.test("Access: reduced slices are read by their stage once they are applied", () => {
  const run = new TwoStages();
  run.toReducing();
  for (const stage of [0, 1]) run.reduce(stage);
  const [first, second] = run.state.merge!.stages;
  assertEquals([first!.phase, second!.phase], ["applying", "applying"]);
  for (const { accepted } of first!.slices) assertEquals(run.readers(accepted!), run.replicas(0));
});

Deno.test("Access: a validator reads what its request names, while it runs, without the momentum", () => {
  const run = new TwoStages();
  const initial = run.hub.take(run.validator, "evaluate");
  run.toNextRound();
  const sources = run.state.sources.stages.map((source) => {
    assert(source.type === "blobs");
    return source;
  });
  const readable = () => sources.map(({ parameters }) => run.readers(parameters).includes(run.validator));
  assertEquals(readable(), [false, false], "its request is of the round before");
  run.hub.tell(run.validator, { type: "evaluated", request: initial.request, loss: 1, tokens: 64, signature: "" });
  const seen = new Set<string>();
  for (let more = true; more;) {
    const message = run.hub.inbox(run.validator).find(({ type }) => type === "replay" || type === "evaluate");
    more = message !== undefined;
    if (message?.type === "evaluate") {
      assertEquals(readable(), [true, true]);
      run.hub.take(run.validator, "evaluate");
      run.hub.tell(run.validator, { type: "evaluated", request: message.request, loss: 1, tokens: 64, signature: "" });
    } else if (message?.type === "replay") {
      const ofRound = sources.map((_, stage) => message.round === run.state.round && stage === message.stage);
      assertEquals(readable(), ofRound);
      run.hub.take(run.validator, "replay");
      const found = { innovationError: 0, equalShare: 1, lossError: null };
      run.hub.tell(run.validator, { type: "replayed", request: message.request, ...found, signature: "" });
    }
    if (message !== undefined) seen.add(message.type);
  }
  assertEquals([...seen].sort(), ["evaluate", "replay"]);
  assertEquals(readable(), [false, false], "it is idle");
  for (const { momentum } of sources) assert(!run.readers(momentum!).includes(run.validator));
});

Deno.test("Access: a miner cannot make another stage's parameters readable by naming them as its own work", () => {
  const run = new TwoStages();
  run.toNextRound();
  run.hub.work(run.nodes);
  for (const node of run.nodes) run.hub.seal(node);
  const [liar] = run.replicas(0);
  const others = run.state.sources.stages[1]!;
  assert(others.type === "blobs");
  const { round, slices } = run.hub.take(liar!, "startMerge");
  const named = slices.map(({ size }) => ({ hash: others.parameters.hash, bytes: 4 * size }));
  run.hub.tell(liar!, { type: "payloadCommitted", round, slices: named });
  assertStringIncludes(run.hub.take(liar!, "reject").fault.detail, "its blobs are another stage's parameters");
  assertEquals(run.state.merge!.stages[0]!.payloads.has(liar!), false);
  const rest = run.nodes.filter((node) => node !== liar);
  for (const node of rest) {
    const payload = run.hub.take(node, "startMerge").slices.map(({ size }) => run.hub.blob(4 * size));
    run.hub.tell(node, { type: "payloadCommitted", round, slices: payload });
  }
  run.hub.wait(60_000); // the liar's payload is not waited for any longer
  for (const stage of [0, 1]) run.reduce(stage);
  const [second] = run.replicas(0).filter((node) => node !== liar);
  run.hub.tell(second!, {
    type: "mergeApplied",
    round: round + 1,
    parameters: { hash: others.parameters.hash, bytes: 64 },
    momentum: null,
  });
  assertStringIncludes(run.hub.take(second!, "reject").fault.detail, "its blobs are another stage's parameters");
  assertEquals(run.state.merge!.stages[0]!.applied.has(second!), false);
  for (const node of [liar!, second!]) {
    assertEquals(mayRead(run.state, { node, hash: others.parameters.hash }), false);
  }
});

// --------------------------------------------------------------------------------------------------- a whole run

Deno.test("Access: in a whole run, with a newcomer and a rejoin, no miner can read another stage's parameters", async () => {
  const config = tinyConfig({
    deterministic: false,
    swarm: { replicas: 2, validators: 1 },
    train: { steps: 8, stepsPerRound: 2 },
  });
  const reach = new Map<string, Set<number>>(); // stages whose parameters a miner could read, of one round
  let looks = 0;
  const swarm: World = new World({
    config,
    watch: (record, { orchestrator, blobs }) => {
      const { state } = orchestrator;
      for (const member of state.members.values()) {
        if (member.role !== "miner") continue;
        for (const [stage, source] of state.sources.stages.entries()) {
          for (const { hash } of blobsOf([source])) {
            if (!blobs.held.has(hash) || !mayRead(state, { node: member.node, hash })) continue;
            const key = `${member.node} ${state.sources.round}`;
            reach.set(key, (reach.get(key) ?? new Set()).add(stage));
            looks += 1;
          }
        }
      }
      if (record.type === "checkpointWritten" && record.round === 1) swarm.addMiner();
      if (record.type === "checkpointWritten" && record.round === 2) swarm.members[0]!.link.cut();
    },
  });
  await swarm.startAll();
  const { finished } = await swarm.runThrough();
  assert(finished);
  assert(looks > 100, `${looks}`);
  for (const [key, stages] of reach) assertEquals(stages.size, 1, `${key} reads stages ${[...stages]}`);
  assertEquals(swarm.orchestrator.state.counters.disagreements, 0);
  const seen = (type: string) => swarm.records.all.filter((record) => record.type === type);
  const faults = swarm.records.all.filter((record) => record.type === "faultSeen" && record.code !== "staleResult");
  assertEquals([seen("roundMerged").length, faults], [4, []], "others did what the rejoining one was late with");
  assert(seen("verdict").length > 0 && seen("evaluated").length > 0);
});
