/** Merge duties that a node withholds: every pattern is counted, and bad luck is not. */

import { assert, assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import { isResting, isUnreliable, noteLostGradients, roundsRemembered } from "../../core/orchestrator/members/blame.ts";
import { commit, hubMerges, merging, reduceAll } from "../support/swarm/scripted_merge.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const waitsFor = (hub: ScriptedOrchestrator, node: NodeId): boolean =>
  !isUnreliable(hub.state, { node, duty: "applying" });

const shareOf = (hub: ScriptedOrchestrator, node: NodeId): number => {
  const { units } = hub.state.reports.at(-1)!;
  return (units.get(node) ?? 0) / Math.max(...units.values());
};

/** Ends the merge, in which this node no longer takes part, and trains the next round up to its merge. */
function goOn(hub: ScriptedOrchestrator, others: readonly NodeId[], all: readonly NodeId[]): void {
  reduceAll(hub, others);
  const merged = { parameters: hub.blob(64), momentum: null };
  const round = hub.state.round + 1;
  for (const node of others) hub.tell(node, { type: "mergeApplied", round, ...merged });
  if (hub.state.merge !== null) hubMerges(hub, merged.parameters);
  const uploader = hub.state.upload!.stages[0]!.asked;
  if (uploader !== null && uploader !== "hub") hub.tell(uploader, { type: "parametersUploaded", round, ...merged });
  hub.step({ type: "checkpointWritten", round, folder: "" });
  for (const node of all) if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  hub.work(all);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

Deno.test("Missed deadlines: who refuses its part is paid half, the second time nothing, and has no place after three rounds of it", () => {
  const { hub, nodes } = merging(4);
  const [liar, ...others] = nodes;
  for (let round = 0; round < 3; round++) {
    for (const node of others) commit(hub, node);
    hub.tell(liar!, { type: "mergeFailed", round, fault: fault("limitExceeded", "not today") });
    assertEquals(waitsFor(hub, liar!), false);
    goOn(hub, others, round < 2 ? nodes : others);
    const share = shareOf(hub, liar!);
    assertEquals([share > 0, share <= 0.75], [round === 0, true], `round ${round}`);
  }
  assertEquals([isResting(hub.state, liar!), hub.state.members.get(liar!)?.stage], [true, null]);
  const told = hub.inbox(liar!).flatMap((message) => message.type === "notice" ? [message] : []);
  const rest = { type: "notice", about: "rest", untilRound: 2 + roundsRemembered } as const;
  assertEquals(told.map((notice) => notice.about === "withheld" ? notice.round : notice), [0, 1, 2, rest]);
  for (const node of others) assert(hub.inbox(node).every(({ type }) => type !== "notice"), "nobody else is told");
  hub.join(liar!);
  assertEquals(
    hub.inbox(liar!).findLast(({ type }) => type === "notice"),
    rest,
    "nor is it forgotten by a new process",
  );
});

Deno.test("Missed deadlines: leaving with a pending answer is one, being lost once is not, being lost in every merge is", () => {
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

/** Trains the round's second step, in which this node leaves as soon as it has committed, up to where the others have committed. */
function leaveConfirmed(hub: ScriptedOrchestrator, node: NodeId, others: readonly NodeId[]): void {
  hub.work([node, ...others]);
  hub.seal(node);
  hub.tell(node, { type: "leaving", reason: "bye" });
  for (const other of [...hub.state.work!.contributors]) hub.seal(other);
  for (const other of others) commit(hub, other);
}

Deno.test("Missed deadlines: gradients that leave with their node before the merge are not paid to a newcomer", () => {
  const { hub, nodes } = merging(4, { train: { stepsPerRound: 2 } });
  const [node, ...others] = nodes;
  for (let round = 0; round < 2; round++) {
    leaveConfirmed(hub, node!, others);
    const isPaid = hub.state.outcomes.at(-1)!.miners.find((miner) => miner.node === node)?.isPaid;
    hub.join(node!);
    goOn(hub, others, nodes);
    assertEquals([isPaid, shareOf(hub, node!)], [false, 0], `round ${round}`);
  }
});

Deno.test("Missed deadlines: to one that has worked here for a while they are paid once, and not if it happens again", () => {
  const { hub: { state }, nodes: [node] } = merging(4);
  for (const [round, isPaid] of [[0, true], [1, false], [2, false], [3, false]] as const) {
    state.round = round;
    state.roundUnits.set(node!, 1);
    state.unpaid.clear();
    noteLostGradients(state, { node: node!, isExcusable: true });
    assertEquals(state.roundUnits.has(node!), isPaid, `round ${round}`);
  }
  assertEquals(isResting(state, node!), true);
});

Deno.test("Missed deadlines: a link that comes back is not a disconnect, leaving after the payload, or with nothing done", () => {
  const { hub, nodes } = merging(4, { train: { stepsPerRound: 2 } });
  const [node, ...others] = nodes;
  hub.step({ type: "nodeDisconnected", node: node! });
  hub.step({ type: "nodeConnected", node: node!, role: "miner", resumed: true });
  assertEquals(hub.state.standings.get(node!)?.absentRound ?? null, null, "a link that comes back");
  hub.work(nodes);
  for (const each of [...hub.state.work!.contributors]) hub.seal(each);
  for (const each of nodes) commit(hub, each);
  const idle = hub.join("newcomer");
  hub.tell(idle, { type: "leaving", reason: "bye" });
  assertEquals(hub.state.standings.get(idle)?.absentRound ?? null, null, "nothing done");
  reduceAll(hub, nodes);
  const merged = { parameters: hub.blob(64), momentum: null };
  for (const each of nodes) hub.tell(each, { type: "mergeApplied", round: 1, ...merged });
  hub.tell(node!, { type: "leaving", reason: "bye" });
  assertEquals(hub.state.standings.get(node!)?.absentRound ?? null, null, "it has done all its duties");
  assertEquals(shareOf(hub, node!) > 0.5, true);
  assertEquals(others.every((other) => hub.state.members.has(other)), true);
});

Deno.test("Missed deadlines: a restart of the orchestrator is not a disconnect of any member", () => {
  const { hub, nodes } = merging(4);
  const [node, ...others] = nodes;
  for (const other of others) commit(hub, other);
  hub.join(node!);
  assertEquals(hub.state.standings.get(node!)?.absentRound, 0);
  hub.step({ type: "restarted" });
  assertEquals([hub.state.standings.get(node!)?.absentRound, hub.state.unpaid.size], [null, 0]);
});
