/** Which parameters a stage adopts: two equal results are believed, a single one of several never while the orchestrator can check. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type BlobRef, type NodeId, stageIndex } from "../../core/ids.ts";
import { trainRound, trainStep } from "../support/swarm/scripted_rounds.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import {
  applying,
  commit,
  hubMerges,
  merging,
  reduceAll,
  type ScriptedMerge,
  stageOf,
} from "../support/swarm/scripted_merge.ts";

const stage = stageIndex(0);

function show(hub: ScriptedOrchestrator, node: NodeId, parameters: BlobRef, momentum: BlobRef | null = null): void {
  hub.tell(node, { type: "mergeApplied", round: 1, parameters, momentum });
}

/** How often the orchestrator was asked to take the outer step itself. */
const checks = (hub: ScriptedOrchestrator): number =>
  hub.effects.filter((effect) => effect.type === "refereeMerge").length;

const agreedOn = (hub: ScriptedOrchestrator): BlobRef | undefined => hub.state.upload?.stages[0]?.merged.parameters;

/** Leaves only the result of the first of two replicas, because the other's time is up. */
function oneWord(shown: (hub: ScriptedOrchestrator) => BlobRef): ScriptedMerge & { parameters: BlobRef } {
  const { hub, nodes } = applying(2);
  const parameters = shown(hub);
  show(hub, nodes[0]!, parameters);
  hub.wait(61_000);
  return { hub, nodes, parameters };
}

Deno.test("Merge: a liar whose partner is late does not decide for it, the orchestrator takes the outer step itself", () => {
  const { hub, nodes } = oneWord((hub) => hub.blob(64));
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
  const parameters = hub.blob(64);
  hubMerges(hub, parameters);
  assertEquals([hub.state.round, agreedOn(hub)], [1, parameters]);
  assertEquals(hub.state.members.get(nodes[0]!)!.status, "waiting", "it loads what was agreed");
});

Deno.test("Merge: a liar whose partner leaves after opening its parameters does not decide for the stage", () => {
  const { hub, nodes } = applying(2);
  const honest = hub.blob(64);
  show(hub, nodes[1]!, honest);
  hub.tell(nodes[1]!, { type: "leaving", reason: "laptop closes" });
  show(hub, nodes[0]!, hub.blob(64));
  assertEquals(checks(hub), 1);
  hubMerges(hub, honest);
  assertEquals(agreedOn(hub), honest);
});

Deno.test("Merge: when one of two that differ leaves while the orchestrator checks them, the other is not believed for that", () => {
  const { hub, nodes } = applying(2);
  for (const node of nodes) show(hub, node, hub.blob(64));
  hub.tell(nodes[1]!, { type: "leaving", reason: "laptop closes" });
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
});

Deno.test("Merge: an honest replica that is left alone stays one, and need not upload what the orchestrator has made", () => {
  const { hub, nodes, parameters } = oneWord((hub) => hub.blob(64));
  hubMerges(hub, parameters);
  assertEquals([hub.state.members.get(nodes[0]!)!.status, agreedOn(hub)], ["active", parameters]);
  assertEquals(hub.inbox(nodes[0]!).some((message) => message.type === "uploadParameters"), false);
});

Deno.test("Merge: a replica with the same result as another, or alone from the start, is believed without the orchestrator", () => {
  for (const replicas of [1, 2, 3]) {
    const { hub, nodes } = applying(replicas);
    const parameters = hub.blob(64);
    for (const node of nodes) show(hub, node, parameters);
    assertEquals([checks(hub), agreedOn(hub)], [0, parameters], `${replicas} replicas`);
  }
});

Deno.test("Merge: two that show the same while the third is late do not decide, the orchestrator takes the outer step itself", () => {
  const { hub, nodes } = applying(3);
  const [lie, right] = [hub.blob(64), hub.blob(64)];
  for (const node of nodes.slice(0, 2)) show(hub, node, lie);
  hub.wait(61_000);
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
  hubMerges(hub, right);
  assertEquals([agreedOn(hub), hub.count("blamed")], [right, 2]);
});

Deno.test("Merge: two that show the same when the third was lost before it could show anything do not decide", () => {
  const { hub, nodes } = merging(3);
  for (const node of nodes) commit(hub, node);
  hub.tell(nodes[2]!, { type: "leaving", reason: "laptop closes" });
  for (let asked = -1; asked !== stageOf(hub).openSlices;) {
    asked = stageOf(hub).openSlices;
    reduceAll(hub, nodes.slice(0, 2));
  }
  const [lie, right] = [hub.blob(64), hub.blob(64)];
  for (const node of nodes.slice(0, 2)) show(hub, node, lie);
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
  hubMerges(hub, right);
  assertEquals([agreedOn(hub), hub.count("blamed")], [right, 2]);
});

Deno.test("Merge: two of three that collude on false parameters do not rule the stage, and the third is not blamed", () => {
  const { hub, nodes } = applying(3);
  const [lie, right] = [hub.blob(64), hub.blob(64)];
  for (const node of nodes.slice(0, 2)) show(hub, node, lie);
  show(hub, nodes[2]!, right);
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
  hubMerges(hub, right);
  assertEquals(agreedOn(hub), right);
  const blamed = hub.records.flatMap((record) => record.type === "blamed" ? [record.node] : []);
  assertEquals([blamed, hub.state.members.get(nodes[2]!)!.status], [nodes.slice(0, 2), "active"]);
});

Deno.test("Merge: where the orchestrator merged from other parameters than the replicas had, as its store lost those, nobody is blamed", () => {
  const { hub, nodes } = applying(3);
  const [lie, right] = [hub.blob(64), hub.blob(64)];
  for (const [i, node] of nodes.entries()) show(hub, node, i === 0 ? lie : right);
  hub.state.replaced.add(stage);
  const other = hub.blob(64);
  hubMerges(hub, other);
  assertEquals([agreedOn(hub), hub.count("blamed")], [other, 0]);
});

Deno.test("Merge: one word is taken when the store has lost the slices that it could be checked with", () => {
  const { hub, nodes, parameters } = oneWord((hub) => hub.blob(64));
  hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
  assertEquals([hub.state.members.get(nodes[0]!)!.status, agreedOn(hub)], ["active", parameters]);
  assertEquals(hub.take(nodes[0]!, "uploadParameters").round, 1);
});

Deno.test("Merge: parameters that were taken on one word are looked at before others load them; unless they are finite the round is repeated", () => {
  for (const isFinite of [true, false]) {
    const { hub, nodes, parameters } = oneWord((hub) => hub.blob(64));
    hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
    hub.statsOf = () => ({ isFinite, squareSum: 1, largest: 1 });
    const { round } = hub.take(nodes[0]!, "uploadParameters");
    hub.tell(nodes[0]!, { type: "parametersUploaded", round, parameters, momentum: null });
    if (isFinite) hub.step({ type: "checkpointWritten", round, folder: "" });
    const [source] = hub.state.sources.stages;
    assertEquals(source?.type === "blobs" ? source.parameters : source?.type, isFinite ? parameters : "initial");
    assertEquals(hub.take(nodes[1]!, "assign").source, source!);
    assertEquals([hub.state.members.get(nodes[0]!)!.status, hub.count("blamed")], [isFinite ? "active" : "loading", 0]);
    const { counters, losses, step } = hub.state;
    const lost = isFinite ? 0 : 1;
    assertEquals([step, counters.roundsLost, counters.tokens > 0, losses.inARow], [1 - lost, lost, isFinite, lost]);
  }
});

Deno.test("Merge: an upload that only a slow replica can make is waited for, not asked of the orchestrator over and over", () => {
  const { hub, nodes } = applying(1);
  show(hub, nodes[0]!, hub.blob(64));
  assertEquals(hub.take(nodes[0]!, "uploadParameters").round, 1);
  hub.wait(61_000); // it does not upload
  assertEquals([hub.count("mergeLate"), checks(hub)], [1, 1]);
  hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "slices" });
  assertEquals(hub.take(nodes[0]!, "uploadParameters").round, 1, "its holder is asked again");
  hub.wait(30_000);
  assertEquals(checks(hub), 1, "the orchestrator is not asked while its holder has time");
});

Deno.test("Merge: when the round's start is lost, one word is checked with its checkpoint, but worth more than a makeshift", () => {
  for (const from of ["checkpoint", "neighbours", "initial"] as const) {
    const { hub, nodes, parameters } = oneWord((hub) => hub.blob(64));
    hub.step({ type: "mergeUnavailable", round: 0, stage, lost: "start" });
    hub.step({ type: "stageRestored", round: 0, stage, source: { type: "initial" }, from });
    const isChecked = from === "checkpoint";
    assertEquals([checks(hub), agreedOn(hub)], isChecked ? [2, undefined] : [1, parameters], from);
    assertEquals([hub.state.members.get(nodes[0]!)!.status, hub.state.restoring.size], ["active", 0]);
  }
});

Deno.test("Merge: a liar that is the first to show right parameters but a false momentum loses the vote", () => {
  for (const kind of ["another", "none", "size"] as const) {
    const { hub, nodes } = applying(3);
    const [parameters, momentum] = [hub.blob(64), hub.blob(64)];
    const shown = { another: hub.blob(64), none: null, size: { ...momentum, bytes: 4 } };
    show(hub, nodes[0]!, parameters, shown[kind]);
    for (const node of nodes.slice(1)) show(hub, node, parameters, momentum);
    assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
    hubMerges(hub, parameters, momentum);
    assertEquals(hub.state.upload?.stages[0]?.merged.momentum, momentum);
    assertEquals(hub.state.members.get(nodes[0]!)!.status, "waiting", "it loads what was agreed");
    assertEquals(
      [hub.state.upload?.writing, hub.count("faultSeen")],
      [true, 0],
      "what the orchestrator has made is stored",
    );
  }
});

Deno.test("Merge: two that show the same parameters and differ in the momentum are told apart by the orchestrator's own outer step", () => {
  const { hub, nodes } = applying(2);
  const [parameters, momentum] = [hub.blob(64), hub.blob(64)];
  show(hub, nodes[0]!, parameters, hub.blob(64));
  show(hub, nodes[1]!, parameters, momentum);
  assertEquals([stageOf(hub).phase, checks(hub)], ["applying", 1]);
  hubMerges(hub, parameters, momentum);
  assertEquals(nodes.map((node) => hub.state.members.get(node)!.status), ["waiting", "active"]);
  assertEquals(hub.state.upload?.stages[0]?.merged, { parameters, momentum });
  assertEquals(hub.count("roundMerged"), 1);
});

Deno.test("Merge: a reduced slice with the right hash and a false size is not voted for, its reducer leaves the merge", () => {
  const { hub, nodes } = merging(3);
  for (const node of nodes) commit(hub, node);
  const [liar] = nodes;
  const { edition, slice, inputs } = hub.take(liar!, "reduceSlice");
  const { hash } = hub.blob(64);
  const result = { hash, bytes: inputs[0]!.payload.bytes + 4 };
  hub.tell(liar!, { type: "sliceReduced", round: 0, edition, slice, result });
  assertEquals(hub.state.members.get(liar!)!.status, "waiting");
  const honest = nodes.slice(1);
  for (let asked = -1; asked !== hub.state.merge!.stages[0]!.unjudged.length;) {
    asked = hub.state.merge!.stages[0]!.unjudged.length;
    reduceAll(hub, honest);
  }
  assertEquals(stageOf(hub).phase, "applying");
  const right = stageOf(hub).layout.map(({ size }) => 4 * size);
  assertEquals(stageOf(hub).slices.map(({ accepted }) => accepted?.bytes), right);
});

Deno.test("Merge: in a stage too large for the orchestrator to reduce beside the replicas, two that agree on false slices are found out", () => {
  const { hub, nodes } = merging(3, { model: { layers: 1, vocabSize: 65_536, width: 1024, heads: 16, kvHeads: 16 } });
  for (const node of nodes) commit(hub, node);
  const referees = () => hub.effects.flatMap((effect) => effect.type === "refereeSlice" ? [effect.slice] : []);
  const [atOnce, slices] = [referees(), stageOf(hub).slices];
  assert(atOnce.length < slices.length / 2, "a share is reduced at once");
  const [lie, right] = [hub.blob(64).hash, hub.blob(64).hash];
  const liars = nodes.slice(0, 2);
  const shared = slices.findIndex(({ asked }, index) =>
    !atOnce.includes(index) && liars.every((node) => asked.includes(node))
  );
  for (const node of nodes) {
    for (const message of hub.inbox(node).filter((each) => each.type === "reduceSlice")) {
      const { edition, slice, inputs, round } = message;
      const hash = slice === shared ? lie : right;
      hub.tell(node, {
        type: "sliceReduced",
        round,
        edition,
        slice,
        result: { hash, bytes: inputs[0]!.payload.bytes },
      });
    }
  }
  assertEquals(stageOf(hub).slices[shared]!.accepted, null, "two words are not enough");
  const referee = hub.effects.findLast((effect) => effect.type === "refereeSlice" && effect.slice === shared);
  assert(referee?.type === "refereeSlice", "the orchestrator reduces it as well");
  const { round, edition, slice, inputs } = referee;
  const result = { hash: right, bytes: inputs[0]!.payload.bytes };
  hub.step({ type: "sliceRefereed", round, edition, stage, slice, result });
  assertEquals(liars.filter((node) => hub.state.expelled.has(node)), liars);
  assertEquals(hub.state.expelled.has(nodes[2]!), false);
});

Deno.test("Merge: of parameters that a run went back to and the store lost, nobody is said to have reported others", () => {
  const hub = new ScriptedOrchestrator({
    ...{ model: { layers: 1 }, pipeline: { stages: 1, codec: "none" }, swarm: { replicas: 1, validators: 0 } },
    train: { microbatchesPerStep: 2, steps: 8, stepsPerRound: 1 },
  });
  const nodes = [hub.ready("miner-0")];
  trainRound(hub, nodes);
  trainStep(hub, nodes);
  hub.wait(600_000); // no payload comes, and the run goes back
  const { round, upload } = hub.state;
  assertEquals([round, upload?.stages[0]?.slices, hub.state.step], [2, [], 1]);
  hub.step({ type: "checkpointFailed", round, detail: "", missing: stage });
  hubMerges(hub, hub.blob(64));
  const texts = hub.records.flatMap((record) => record.type === "warning" ? [record.text] : []);
  assertMatch(texts.at(-1)!, /Stage 0 of round 2 begins with other parameters than those of the rollback/);
});
