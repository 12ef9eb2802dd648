/**
 * Branches of repair and restoring that a run may never take, each reached on purpose: core/orchestrator/marks.ts lists
 * them.
 */

import { assert, assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { type BlobRef, type NodeId, stageIndex } from "../../core/ids.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { applying, commit, merging, reduceAll, stageOf } from "../support/swarm/scripted_merge.ts";

const stage = stageIndex(0);
const missing = fault("badBlob", "Cannot read a blob: the store does not hold it");

/** Two replicas whose slices are being reduced. */
function reducing() {
  const { hub, nodes } = merging(2);
  for (const node of nodes) commit(hub, node);
  return { hub, nodes: nodes as [NodeId, NodeId] };
}

/** The shell has checked the blobs that the phase needs. */
function looked(hub: ScriptedOrchestrator, lost: readonly BlobRef[]): void {
  const { phase } = stageOf(hub);
  hub.step({ type: "blobsChecked", round: hub.state.round, stage, phase, lost });
}

/** The blobs that the shell was last asked to check. */
function needed(hub: ScriptedOrchestrator): readonly BlobRef[] {
  const asked = hub.effects.findLast((effect) => effect.type === "checkBlobs");
  return asked?.type === "checkBlobs" ? asked.refs : [];
}

/** Both show the same parameters; the one asked for them uploads or not. */
function agree(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): BlobRef {
  const parameters = hub.blob(64);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  return parameters;
}

Deno.test("Blob repair: a reducer that misses what the store has is asked once more, and leaves the merge when it says so again", () => {
  const { hub, nodes: [first, second] } = reducing();
  for (const isAgain of [false, true]) {
    hub.tell(first, { type: "mergeFailed", round: 0, fault: missing });
    looked(hub, []);
    assertEquals(stageOf(hub).participants.has(first), !isAgain);
    assertReached(
      hub.state,
      isAgain ? "blob repair: nothing is lost, leaves the merge" : "blob repair: nothing is lost, asked once more",
    );
  }
  assertEquals([hub.state.members.has(first), hub.state.expelled.size], [true, 0], "it may be its disk");
  assert(stageOf(hub).participants.has(second));
});

Deno.test("Blob repair: lost payloads are shown again; who never stores what it shows is left out, and with nothing left there is no merge", () => {
  const { hub, nodes } = reducing();
  hub.tell(nodes[0], { type: "mergeFailed", round: 0, fault: missing });
  for (let shown = 0; shown < 4; shown++) {
    looked(hub, needed(hub));
    assertReached(hub.state, "blob repair: a contributor uploads its payload again");
    for (const node of nodes) commit(hub, node);
    hub.tell(nodes[0], { type: "mergeFailed", round: 0, fault: missing });
  }
  looked(hub, needed(hub));
  assertReached(hub.state, "blob repair: a payload is left out");
  assertReached(hub.state, "blob repair: a slice has no payload left");
  assertEquals([hub.state.expelled.size, hub.count("blamed")], [0, 0]);
});

Deno.test("Blob repair: slices that are lost before anybody has applied them are reduced again", () => {
  const { hub, nodes } = applying(2);
  hub.tell(nodes[0]!, { type: "mergeFailed", round: 0, fault: missing });
  hub.tell(nodes[1]!, { type: "mergeFailed", round: 0, fault: missing });
  looked(hub, needed(hub));
  assertReached(hub.state, "blob repair: lost slices are reduced again");
  assertEquals(stageOf(hub).phase, "reducing");
});

Deno.test("Blob repair: who misses lost slices that another has applied loads what that one has", () => {
  const { hub, nodes } = applying(2);
  hub.tell(nodes[1]!, { type: "mergeApplied", round: 1, parameters: hub.blob(64), momentum: null });
  hub.tell(nodes[0]!, { type: "mergeFailed", round: 0, fault: missing });
  looked(hub, needed(hub));
  assertReached(hub.state, "blob repair: others have applied lost slices");
  assertEquals(hub.state.members.get(nodes[0]!)?.status, "waiting");
});

/** A run in round 1 whose stored parameters of the only stage are gone, and a newcomer that found out. */
function lostStage() {
  const { hub, nodes } = applying(2);
  const parameters = agree(hub, nodes);
  const uploader = nodes.find((node) => hub.inbox(node).some(({ type }) => type === "uploadParameters"))!;
  hub.tell(uploader, { type: "parametersUploaded", round: 1, parameters, momentum: null });
  hub.step({ type: "checkpointWritten", round: 1, folder: "" });
  const newcomer = hub.join("newcomer");
  const fail = () => {
    const { assignment } = hub.take(newcomer, "assign");
    hub.tell(newcomer, { type: "loadFailed", assignment, fault: missing });
  };
  fail();
  const restored = (from: "stored" | "neighbours") =>
    hub.step({ type: "stageRestored", round: 1, stage, source: { type: "initial" }, from });
  return { hub, nodes, newcomer, fail, restored };
}

Deno.test("Restoring: a replica uploads its stage again, and when all that held it go something else takes its place", () => {
  const { hub, nodes, restored } = lostStage();
  restored("neighbours");
  assertReached(hub.state, "restore: a replica is asked for its stage");
  assertEquals([...hub.state.restoring], [[stage, "held"]]);
  for (const node of nodes) hub.tell(node, { type: "leaving", reason: "bye" });
  assertReached(hub.state, "restore: the replicas that held it are gone");
  restored("neighbours");
  assertReached(hub.state, "restore: something else takes the stage's place");
  assertEquals(hub.state.restoring.size, 0);
});

Deno.test("Restoring: a miner that cannot load what the store has is sent away after three times", () => {
  const { hub, newcomer, fail, restored } = lostStage();
  for (let time = 1; time < 3; time++) {
    restored("stored");
    fail();
  }
  assertReached(hub.state, "restore: could not load too often");
  assert(hub.effects.some((effect) => effect.type === "disconnect" && effect.node === newcomer));
});

Deno.test("Restoring: when the orchestrator cannot make an agreed stage, replicas upload it; without any the round is repeated", () => {
  for (const isLeft of [true, false]) {
    const { hub, nodes } = applying(1);
    agree(hub, nodes);
    hub.wait(61_000); // it does not upload, so the orchestrator takes the outer step
    if (!isLeft) hub.tell(nodes[0]!, { type: "leaving", reason: "bye" });
    hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
    assertReached(
      hub.state,
      isLeft ? "restore: replicas upload what the orchestrator cannot compute" : "restore: a merged round is repeated",
    );
    const { step, counters: { roundsLost, tokens } } = hub.state;
    assertEquals([step, roundsLost, tokens > 0, hub.count("blamed")], isLeft ? [1, 0, true, 0] : [0, 1, false, 0]);
  }
});

Deno.test("Restoring: the word of the only replica that has applied the merge is believed when the slices are gone", () => {
  const { hub, nodes } = merging(2);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  const parameters = hub.blob(64);
  hub.tell(nodes[0]!, { type: "mergeApplied", round: 1, parameters, momentum: null });
  hub.wait(61_000);
  hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
  assertReached(hub.state, "restore: one word is believed");
  assertEquals(hub.state.upload?.stages[0]?.merged.parameters, parameters);
});
