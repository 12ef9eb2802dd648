/** Merges of stages so small that the orchestrator reduces them alone: what it asks of whom, and who decides when it cannot. */

import { assert, assertEquals } from "@std/assert";
import { type BlobRef, type NodeId, stageIndex } from "../../core/ids.ts";
import { usedBlobs } from "../../core/orchestrator/stored_blobs.ts";
import { assertReached } from "../support/swarm/reached.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { commit, hubMerges, merging, type ScriptedMerge, stageOf } from "../support/swarm/scripted_merge.ts";

const stage = stageIndex(0);

/** Up to where the orchestrator has reduced and everybody is asked to take the outer step. */
function applying(replicas: number): ScriptedMerge {
  const { hub, nodes } = merging(replicas, { outer: { learningRate: 1, momentum: 0, reducers: "hub" } });
  for (const node of nodes) commit(hub, node);
  const asked = hub.effects.filter((effect) => effect.type === "refereeSlice");
  assertEquals(asked.length, stageOf(hub).layout.length);
  for (const { round, edition, stage, slice } of asked) {
    hub.step({ type: "sliceRefereed", round, edition, stage, slice, result: hub.blob(64) });
  }
  assertEquals(stageOf(hub).phase, "applying");
  return { hub, nodes };
}

/** The store has lost the results; false: the orchestrator has reduced them again. */
function isGivenUp({ hub, nodes }: ScriptedMerge, lost: readonly BlobRef[]): boolean {
  for (const node of nodes) {
    hub.tell(node, { type: "mergeFailed", round: 0, fault: { code: "badBlob", detail: "it is gone" } });
  }
  hub.step({ type: "blobsChecked", round: 0, stage, phase: "applying", lost });
  if (hub.state.merge === null) return true;
  const { edition } = stageOf(hub);
  hub.step({ type: "sliceRefereed", round: 0, edition, stage, slice: 0, result: hub.blob(64) });
  return false;
}

function assertRepeated(hub: ScriptedOrchestrator): void {
  const [again] = hub.records.filter((record) => record.type === "mergeRetaken");
  assertEquals([again?.because, again?.step], ["payloadMissing", 0]);
  assertEquals([hub.state.step, hub.count("roundMerged"), hub.count("blamed")], [0, 0, 0]);
}

const show = (hub: ScriptedOrchestrator, node: NodeId, parameters: BlobRef) =>
  hub.tell(node, { type: "mergeApplied", round: 1, parameters, momentum: null });

const asksOfHub = (hub: ScriptedOrchestrator) => hub.effects.filter(({ type }) => type === "refereeMerge").length;

const wasAsked = (hub: ScriptedOrchestrator, nodes: readonly NodeId[], type: "reduceSlice" | "uploadParameters") =>
  nodes.some((node) => hub.inbox(node).some((message) => message.type === type));

Deno.test("Central merge: the orchestrator's result stands against all replicas, who load it and are blamed", () => {
  const { hub, nodes } = applying(2);
  const parameters = hub.blob(64);
  hubMerges(hub, parameters);
  const other = hub.blob(64);
  for (const node of nodes) show(hub, node, other);
  assertEquals([hub.state.round, hub.state.upload?.stages[0]?.merged.parameters], [1, parameters]);
  for (const node of nodes) {
    assertEquals(hub.state.members.get(node)?.status, "waiting");
    assert(hub.records.some((record) => record.type === "blamed" && record.node === node));
  }
});

Deno.test("Central merge: an outer step with slices that were lost meanwhile does not decide", () => {
  const { hub, nodes } = applying(2);
  const { slices } = hub.effects.find((effect) => effect.type === "refereeMerge")!;
  const lost = stageOf(hub).slices.map(({ accepted }) => accepted!);
  assertEquals([slices, isGivenUp({ hub, nodes }, lost), asksOfHub(hub)], [lost, false, 2]);
  hub.step({ type: "mergeRefereed", round: 0, stage, slices, parameters: hub.blob(64), momentum: null });
  assertEquals(stageOf(hub).refereed, null);
  const parameters = hub.blob(64);
  hubMerges(hub, parameters);
  assertEquals(stageOf(hub).refereed?.parameters, parameters);
});

Deno.test("Central merge: an orchestrator that lost the round's start believes replicas that show the same, and asks one to upload", () => {
  const { hub, nodes } = applying(2);
  hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "start" });
  assertReached(hub.state, "restore: replicas decide what the orchestrator cannot compute");
  const parameters = hub.blob(64);
  for (const node of nodes) show(hub, node, parameters);
  assertEquals([hub.state.round, hub.state.upload?.stages[0]?.merged.parameters], [1, parameters]);
  assert(wasAsked(hub, nodes, "uploadParameters"));
});

Deno.test("Central merge: a round whose results the store loses again and again is repeated", () => {
  const { hub, nodes } = applying(2);
  for (let time = 0; time < 5; time++) {
    assertEquals(stageOf(hub).phase, "applying");
    const [lost] = nodes.map((node) => hub.take(node, "applyMerge").slices);
    assertEquals(lost?.length, 1);
    hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
    if (isGivenUp({ hub, nodes }, lost!)) break;
  }
  assertReached(hub.state, "blob repair: slices are lost again and again");
  assertRepeated(hub);
});

Deno.test("Central merge: slices lost after the orchestrator had its result repeat the round and leave nobody blamed", () => {
  const { hub, nodes } = applying(2);
  for (let time = 0; time < 5; time++) {
    const [lost] = nodes.map((node) => hub.take(node, "applyMerge").slices);
    hubMerges(hub, hub.blob(64));
    if (isGivenUp({ hub, nodes }, lost!)) break;
  }
  assertRepeated(hub);
});

for (const shown of [0, 1, 2]) {
  Deno.test(`Central merge: a stage restored while the orchestrator merges is not replaced, as replicas have it (${shown} have uploaded it)`, () => {
    const { hub, nodes } = applying(2);
    hub.state.restoring.set(stage, "looking");
    const parameters = hub.blob(64);
    for (const node of nodes.slice(0, shown)) show(hub, node, parameters);
    hub.step({ type: "stageRestored", round: 0, stage, source: { type: "initial" }, from: "initial" });
    hubMerges(hub, hub.blob(64)); // of something else, asked before
    for (const node of nodes.slice(shown)) show(hub, node, parameters);
    assertEquals([hub.state.round, hub.state.upload?.stages[0]?.merged.parameters], [1, parameters]);
    assertEquals(hub.records.filter(({ type }) => type === "blamed").length, 0);
  });
}

Deno.test("Central merge: what the orchestrator has made is kept through a restart that comes before the last answer", () => {
  const { hub } = applying(2);
  const parameters = hub.blob(64);
  hubMerges(hub, parameters);
  assert(usedBlobs(hub.state).has(parameters.hash));
});
