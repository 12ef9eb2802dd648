/**
 * When a merge stops waiting: a quorum leaves the rest a grace, a deadline ends it, and a late replica loses as little as
 * possible.
 */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { noteWithheld } from "../../core/orchestrator/members/blame.ts";
import { vectorBytes } from "../../core/model/vector_bytes.ts";
import { payloadSlice, type StageMerge } from "../../core/orchestrator/merge/merge_state.ts";
import { commit, merging, reduceAll, stageOf } from "../support/swarm/scripted_merge.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const late = (hub: ScriptedOrchestrator) =>
  hub.records.flatMap((record) => record.type === "mergeLate" ? [`${record.node} ${record.phase}`] : []);

Deno.test("Merge: all but one of three are a quorum, one of two is none", () => {
  const lateAfter = (replicas: number) => {
    const { hub, nodes } = merging(replicas);
    for (const node of nodes.slice(1)) commit(hub, node);
    let ms = 0;
    for (; late(hub).length === 0; ms += 1_000) hub.wait(1_000);
    return [ms, late(hub).join()];
  };
  assertEquals(lateAfter(3), [5_000, "miner-0 committing"]);
  assertEquals(lateAfter(2), [60_000, "miner-0 committing"]);
});

Deno.test("Merge: where none of a stage's replicas has answered in time, all have as long again, three times at most", () => {
  const { hub, nodes } = merging(2);
  const [first, second] = nodes as [NodeId, NodeId];
  hub.wait(61_000);
  assertEquals([stageOf(hub).phase, late(hub)], ["committing", []]);
  const waits = () =>
    hub.records.filter((record) => record.type === "warning" && /waits longer/.test(record.text)).length;
  assertEquals(waits(), 1);
  commit(hub, first);
  hub.wait(40_000);
  assertEquals(late(hub), [], "the rest of the second time");
  commit(hub, second);
  assertEquals([stageOf(hub).phase, stageOf(hub).payloads.size], ["reducing", 2]);
  const other = merging(2);
  other.hub.wait(239_000);
  assertEquals([late(other.hub), other.hub.count("warning")], [[], 3]);
  other.hub.wait(1_000);
  assertEquals(late(other.hub).sort(), other.nodes.map((node) => `${node} committing`).sort());
});

Deno.test("Merge: replicas one of which made others wait before, or has no link, are not waited for any longer", () => {
  const { hub, nodes } = merging(2);
  for (let lapse = 0; lapse < 2; lapse++) noteWithheld(hub.state, { node: nodes[0]!, duty: "committing" });
  hub.wait(61_000);
  assertEquals(late(hub).length, 2);
  const gone = merging(2);
  gone.hub.wait(57_000);
  gone.hub.step({ type: "nodeDisconnected", node: gone.nodes[0]! });
  gone.hub.wait(4_000);
  assertEquals([gone.hub.count("warning"), late(gone.hub).length > 0], [0, true]);
});

Deno.test("Merge: the replicas of one stage are not waited for longer than four times what another stage took", () => {
  for (
    const [otherMs, untilMs] of [[10_000, 60_000], [20_000, 80_000], [50_000, 200_000], [70_000, 240_000]] as const
  ) {
    const { hub } = merging(2);
    const own = stageOf(hub);
    const other: StageMerge = {
      ...{ ...own, phase: "agreed", owing: new Map() },
      agreed: { parameters: hub.blob(vectorBytes(hub.state.stageFloats[0]!)), momentum: null },
      committedInMs: otherMs,
    };
    (hub.state.merge!.stages as StageMerge[]).push(other);
    let ms = 0;
    for (; late(hub).length === 0; ms += 1_000) hub.wait(1_000);
    assertEquals(ms, untilMs, `beside one that took ${otherMs} ms`);
  }
});

Deno.test("Merge: two of three that did little of the work are not a quorum", () => {
  const { hub, nodes } = merging(3);
  const [first, second, third] = nodes as [NodeId, NodeId, NodeId];
  stageOf(hub).wholeWeight *= 10; // the third's
  commit(hub, second);
  commit(hub, third);
  hub.wait(59_000);
  assertEquals([stageOf(hub).phase, late(hub)], ["committing", []]);
  commit(hub, first);
  assertEquals(stageOf(hub).phase, "reducing");
});

Deno.test("Merge: who is asked alone for a payload that the orchestrator's store has lost is not late for it", () => {
  const { hub, nodes } = merging(3, { outer: { reducers: "hub" } });
  for (const node of nodes) commit(hub, node);
  const { stage } = stageOf(hub);
  const lost = payloadSlice(stageOf(hub).payloads.get(nodes[0]!)!, 0);
  hub.step({ type: "sliceUnavailable", round: 0, stage, slice: 0 });
  hub.step({ type: "blobsChecked", round: 0, stage, phase: "reducing", lost: [lost] });
  assertEquals([...stageOf(hub).showing], [nodes[0]]);
  hub.wait(30_000);
  assertEquals(late(hub), []);
});

Deno.test("Merge: work finished within the grace counts", () => {
  const { hub, nodes } = merging(5);
  for (const node of nodes.slice(0, 4)) commit(hub, node);
  hub.wait(4_000);
  commit(hub, nodes[4]!);
  assertEquals([stageOf(hub).phase, stageOf(hub).payloads.size, late(hub)], ["reducing", 5, []]);
});

Deno.test("Merge: without a quorum it waits for the whole phase, then goes on with what there is", () => {
  const { hub, nodes } = merging(5);
  for (const node of nodes.slice(0, 2)) commit(hub, node);
  hub.wait(59_000);
  assertEquals(stageOf(hub).phase, "committing");
  hub.wait(2_000);
  assertEquals([stageOf(hub).phase, stageOf(hub).payloads.size, late(hub).length], ["reducing", 2, 3]);
});

Deno.test("Merge: the slices of a slow reducer go to others, and it is not asked again", () => {
  const { hub, nodes } = merging(5);
  for (const node of nodes) commit(hub, node);
  const slow = nodes[0]!;
  reduceAll(hub, nodes.slice(1));
  assertEquals(stageOf(hub).phase, "reducing");
  hub.wait(6_000); // its grace, as the others are ready
  for (const node of nodes) {
    hub.inbox(node).splice(
      0,
      99,
      ...hub.inbox(node).filter((message) => message.type !== "stop"),
    );
  }
  assertEquals(late(hub), [`${slow} reducing`]);
  const open = stageOf(hub).slices.filter((slice) => slice.accepted === null);
  assertEquals(open.every((slice) => !slice.asked.includes(slow)), true);
});

Deno.test("Merge: who does not apply in time loads the agreed parameters; the others go on", () => {
  const { hub, nodes } = merging(5);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  const parameters = hub.blob(64);
  const round = hub.state.round + 1;
  for (const node of nodes.slice(0, 4)) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  hub.wait(6_000);
  assertEquals([hub.state.round, hub.state.phase, late(hub)], [1, "training", ["miner-4 applying"]]);
  assertEquals([hub.state.members.get(nodes[4]!)!.status, hub.count("nodeLost")], ["waiting", 0]);
  const uploader = hub.state.upload!.stages[0]!.asked as NodeId;
  hub.tell(uploader, { type: "parametersUploaded", round, parameters, momentum: null });
  hub.step({ type: "checkpointWritten", round, folder: "" });
  assertEquals(hub.load(nodes[4]!) as number, 0);
  assertEquals(hub.state.rosters[0]!.members.length, 5);
});

Deno.test("Merge: a holder that is slow to upload, or only says it did, is replaced by another", () => {
  const { hub, nodes } = merging(5);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  const parameters = hub.blob(64);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  const asked = () => hub.state.upload!.stages[0]!.asked as NodeId;
  const slow = asked();
  hub.wait(61_000);
  const lying = asked();
  hub.tell(lying, { type: "parametersUploaded", round, parameters, momentum: null });
  hub.step({ type: "checkpointFailed", round, detail: "no such blob", missing: hub.state.stages[0]!.index });
  assertEquals(new Set([slow, lying, asked()]).size, 3);
  hub.tell(asked(), { type: "parametersUploaded", round, parameters, momentum: null });
  hub.step({ type: "checkpointWritten", round, folder: "" });
  assertEquals([hub.state.sources.round, hub.count("nodeLost")], [1, 0]);
});

Deno.test("Merge: the slices of reducers that leave are shared by those who have the fewest", () => {
  const { hub, nodes } = merging(8);
  for (const node of nodes) commit(hub, node);
  const loads = (left: readonly NodeId[]) =>
    left.map((node) => stageOf(hub).slices.filter(({ asked }) => asked.includes(node)).length);
  const before = loads(nodes);
  for (const count of [1, 2]) {
    hub.tell(nodes[4 + count]!, { type: "leaving", reason: "its owner stopped it" });
    const after = loads(nodes.filter((_, place) => place <= 4 || place > 4 + count));
    assert(Math.max(...after) - Math.min(...after) <= 1, `${count} left: ${before} became ${after}`);
  }
});

Deno.test("Merge: a single payload is its own mean only if it counts whole", () => {
  for (const [length, scale] of [[3.9, 0.615], [1, 1]] as const) {
    const { hub, nodes } = merging(2, { outer: { reducers: "hub" } });
    commit(hub, nodes[0]!);
    stageOf(hub).lengths.set(nodes[0]!, length);
    hub.wait(61_000);
    const { scales, slices } = stageOf(hub);
    assertAlmostEquals(scales.get(nodes[0]!) ?? 1, scale, 1e-3);
    assertEquals(slices.some(({ accepted }) => accepted !== null), scale === 1);
    const asked = hub.effects.flatMap((effect) => effect.type === "refereeSlice" ? effect.inputs : []);
    assertEquals(asked.every((input) => Math.abs(input.scale - scale) < 1e-3), true);
  }
});
