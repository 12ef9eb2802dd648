/** What a closed step leaves behind: pathways, losses, each miner's work; what is kept of it and for how long. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { mostAudited, outcomesKept } from "../../core/orchestrator/step/outcomes.ts";
import { keptRefs, minerAt, type StepOutcome } from "../../core/orchestrator/step/step_outcome.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

interface Shape {
  readonly stages?: number;
  readonly replicas?: number;
  readonly validators?: number;
  readonly replaysPerMiner?: number;
}

function swarm({ stages = 3, replicas = 2, validators = 0, replaysPerMiner = 1 }: Shape = {}) {
  const hub = new ScriptedOrchestrator({
    model: { layers: stages },
    pipeline: { stages, codec: "none" },
    train: { microbatchesPerStep: 4, steps: 100, stepsPerRound: 50 },
    swarm: { replicas, validators },
    validate: { replaysPerMiner },
    limits: { leaseMs: 60_000, leasesPerMiner: 2 },
  });
  const judges = Array.from({ length: validators }, (_, i) => hub.validator(`validator-${i}`));
  const nodes = Array.from({ length: stages * replicas }, (_, i) => hub.ready(`miner-${i}`));
  return { hub, nodes, judges };
}

function closeStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): StepOutcome {
  hub.work(nodes);
  for (const node of nodes) while (hub.maySeal(node)) hub.seal(node);
  return hub.state.outcomes.at(-1)!;
}

const ofStage = (hub: ScriptedOrchestrator, stage: number): NodeId[] =>
  hub.state.rosters[stage]!.members.map((member) => member.node);

Deno.test("Step outcome: pathways name who did each task, pay is their units, and the record says the same", () => {
  const { hub, nodes } = swarm();
  const outcome = closeStep(hub, nodes);
  const nodeAt = (place: number) => minerAt(outcome, place).node;
  for (const record of hub.records) {
    if (record.type !== "taskFinished") continue;
    const { microbatch, stage, direction, node } = record;
    const position = direction === "backward" ? 4 - stage : stage;
    const { makers, doers } = outcome.pathways.find((each) => each.microbatch === microbatch)!;
    assertEquals([makers.length, nodeAt(makers[position]!), nodeAt(doers[position]!)], [5, node, node]);
  }
  assertEquals(outcome.pathways.map(({ losses }) => new Set(losses)), [1, 2, 3, 4].map(() => new Set([2])));
  const paid = outcome.miners.map(({ node, units }) => [node, units] as const);
  assertEquals([...hub.state.roundUnits], paid);
  assertEquals(
    paid.reduce((sum, [, units]) => sum + units, 0),
    4 * 3 * 3,
    "forward and backward: three mean forwards a stage",
  );
  const closed = hub.records.find((record) => record.type === "stepClosed")!;
  const { loss, learningRate, gradientNorm, clipFactor, tokens, stepMs } = closed;
  assertEquals(closed.step, outcome.step + 1);
  assertEquals({ ...outcome, loss, learningRate, gradientNorm, clipFactor, tokens, stepMs }, outcome);
});

Deno.test("Step outcome: a gradient that was lost and made again has another doer than maker; one that left after its commitment counts", () => {
  const { hub, nodes } = swarm({ stages: 1, replicas: 3 });
  hub.work(nodes);
  const [confirmed, lost, last] = ofStage(hub, 0) as [NodeId, NodeId, NodeId];
  const kept = hub.seal(confirmed).length;
  hub.tell(confirmed, { type: "leaving", reason: "bye" });
  hub.tell(lost, { type: "leaving", reason: "bye" });
  const { pathways, miners } = closeStep(hub, [last]);
  const of = (node: NodeId) => miners.find((miner) => miner.node === node);
  assertEquals([of(confirmed)?.tasks, of(lost), of(last)?.tasks], [kept, undefined, 4 - kept]);
  const left = hub.records.filter((record) => record.type === "nodeLost");
  assertEquals(left.map(({ node, tasksKept }) => [node, tasksKept]), [[confirmed, kept], [lost, 0]]);
  assertEquals(pathways.length, 4);
});

Deno.test("Step outcome: who made a wire stays named when its gradient is done again by another", () => {
  const { hub, nodes } = swarm({ stages: 2 });
  hub.work(nodes);
  const [lost, other] = ofStage(hub, 1) as [NodeId, NodeId];
  hub.tell(lost, { type: "leaving", reason: "bye" });
  const outcome = closeStep(hub, nodes.filter((node) => node !== lost));
  const turnarounds = outcome.pathways.map(({ makers, doers }) => [makers[1]!, doers[1]!]);
  const redone = turnarounds.filter(([maker, doer]) => maker !== doer);
  assert(redone.length > 0, "the lost one had done something");
  for (const [maker, doer] of redone) {
    assertEquals([minerAt(outcome, maker!), minerAt(outcome, doer!).node], [
      { node: lost, tasks: 0, units: 0, dropped: 0, isPaid: false },
      other,
    ]);
  }
  assertEquals(hub.state.roundUnits.has(lost), false);
});

Deno.test("Step outcome: the newest stays, and the one whose wires an audit needs until nobody is asked of its round any more", () => {
  const { hub, nodes, judges: [judge] } = swarm({ stages: 1, validators: 1, replaysPerMiner: 0 });
  const first = closeStep(hub, nodes);
  for (let step = 1; step < 5; step++) closeStep(hub, nodes);
  assertEquals(hub.state.outcomes.map(({ step }) => step), [0, 5 - outcomesKept]);
  assertEquals([first.wires?.length, keptRefs(first).length], [4, 0], "a head that is the tail sends nothing on");
  hub.tell(judge!, {
    type: "evaluated",
    request: hub.take(judge!, "evaluate").request,
    loss: 5,
    tokens: 64,
    signature: "",
  });
  assertEquals([first.wires, hub.state.outcomes.length], [null, outcomesKept]);
});

Deno.test("Step outcome: steps that the run has gone back behind do not count, and give up their audit when there are too many", () => {
  const { hub, judges } = swarm({ stages: 1, replicas: 1, validators: 1 });
  for (let life = 0; life < mostAudited + 3; life++) {
    const nodes = [...hub.state.members.values()].filter(({ role }) => role === "miner").map(({ node }) => node);
    const { isUndone } = closeStep(hub, nodes);
    assertEquals([isUndone, hub.state.step], [false, 1]);
    for (const node of nodes) hub.tell(node, { type: "leaving", reason: "bye" });
    assertEquals([hub.count("rewound"), hub.state.outcomes.every((outcome) => outcome.isUndone)], [life + 1, true]);
    hub.ready(`miner-${life}`);
  }
  assertEquals(hub.state.outcomes.length, mostAudited);
  assertReached(hub.state, "audit: given up, as too many rounds are open");
  assertEquals(hub.state.audit.running.size, 1, judges[0]);
});
