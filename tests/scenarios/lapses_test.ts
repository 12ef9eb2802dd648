/** Duties of the merge that a node does not do: however it goes about it, it is counted, and bad luck is not. */

import { assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import { isResting, isUnreliable } from "../../core/orchestrator/members/blame.ts";
import { commit, merging, reduceAll } from "../support/swarm/scripted_merge.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const waitsFor = (hub: ScriptedOrchestrator, node: NodeId): boolean =>
  !isUnreliable(hub.state, { node, duty: "applying" });

const shareOf = (hub: ScriptedOrchestrator, node: NodeId): number => {
  const { units } = hub.state.reports.at(-1)!;
  return (units.get(node) ?? 0) / Math.max(...units.values());
};

/** Ends the merge, which this node has no part in any more, and trains the next round up to its merge. */
function goOn(hub: ScriptedOrchestrator, others: readonly NodeId[], all: readonly NodeId[]): void {
  reduceAll(hub, others);
  const merged = { parameters: hub.blob(64), momentum: null };
  const round = hub.state.round + 1;
  for (const node of others) hub.tell(node, { type: "mergeApplied", round, ...merged });
  if (hub.state.merge !== null) {
    hub.step({ type: "mergeRefereed", round: round - 1, stage: hub.state.stages[0]!.index, ...merged });
  }
  const uploader = hub.state.upload!.stages[0]!.asked;
  if (uploader !== null && uploader !== "hub") hub.tell(uploader, { type: "parametersUploaded", round, ...merged });
  hub.step({ type: "checkpointWritten", round, folder: "" });
  for (const node of all) if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  hub.work(all);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

Deno.test("Lapses: who refuses its part is paid half, and has no place after three rounds of it", () => {
  const { hub, nodes } = merging(4);
  const [liar, ...others] = nodes;
  for (let round = 0; round < 3; round++) {
    for (const node of others) commit(hub, node);
    hub.tell(liar!, { type: "mergeFailed", round, fault: fault("limitExceeded", "not today") });
    assertEquals(waitsFor(hub, liar!), false);
    goOn(hub, others, round < 2 ? nodes : others);
    assertEquals(shareOf(hub, liar!) <= 0.75, true, `round ${round}`);
  }
  assertEquals([isResting(hub.state, liar!), hub.state.members.get(liar!)?.stage], [true, null]);
});

Deno.test("Lapses: who leaves while it owes an answer has withheld it, who is lost once has not, who is lost in every merge has", () => {
  for (const way of ["leaves", "is lost"] as const) {
    const { hub, nodes } = merging(4);
    const [node, ...others] = nodes;
    const shares: number[] = [];
    for (let round = 0; round < 2; round++) {
      for (const other of others) commit(hub, other);
      if (way === "leaves") hub.tell(node!, { type: "leaving", reason: "bye" });
      hub.join(node!);
      goOn(hub, others, nodes);
      shares.push(shareOf(hub, node!));
    }
    assertEquals(shares.map((share) => share <= 0.5), way === "leaves" ? [true, true] : [false, true], way);
  }
});

Deno.test("Lapses: a restart of the orchestrator is nobody's absence", () => {
  const { hub, nodes } = merging(4);
  const [node, ...others] = nodes;
  for (const other of others) commit(hub, other);
  hub.join(node!);
  assertEquals(hub.state.standings.get(node!)?.absentRound, 0);
  hub.step({ type: "restarted" });
  assertEquals([hub.state.standings.get(node!)?.absentRound, hub.state.unpaid.size], [null, 0]);
});
