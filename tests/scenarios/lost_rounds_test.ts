/** Rounds of which every miner that trained in them is gone: their steps do not count as trained. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { commit } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { check, drawn, fine, finishTraining, merge, show, train } from "../support/swarm/shown_rounds.ts";

Deno.test("Lost rounds: if all miners go before any has delivered a payload, the run goes back to the round's first step", () => {
  const { hub, nodes } = drawn();
  const step = train(hub, nodes);
  for (const node of nodes) {
    show(hub, node, step);
    check(hub, node, fine);
  }
  merge(hub, nodes);
  const { microbatchesCredited: before } = hub.state.counters;
  train(hub, nodes);
  assertEquals([hub.state.phase, hub.state.step], ["merging", 4]);
  for (const node of nodes) {
    hub.step({ type: "nodeDisconnected", node });
    hub.inbox(node).length = 0;
    hub.join(node);
  }
  assertEquals([hub.state.phase, hub.state.step, hub.count("rewound")], ["training", 2, 1]);
  assertEquals([hub.state.counters.microbatchesCredited, hub.state.reports.length], [before, 1]);
  assertEquals([hub.state.interval.closed, hub.state.interval.stepsMs], [0, 0], "abandoned steps are not measured");
  for (const node of nodes) hub.load(node);
  hub.step({ type: "checkpointWritten", round: hub.state.round, folder: "" });
  finishTraining(hub, nodes);
  assertEquals([hub.state.step, hub.count("rewound")], [4, 1]);
});

Deno.test("Lost rounds: one payload that was delivered keeps the round", () => {
  const { hub, nodes } = drawn();
  const [first] = nodes;
  train(hub, nodes);
  commit(hub, first);
  for (const node of nodes) {
    hub.step({ type: "nodeDisconnected", node });
    hub.join(node);
  }
  assertEquals([hub.state.step, hub.count("rewound")], [2, 0]);
});

Deno.test("Lost rounds: while those that hold the round's progress may come back, newcomers get no work", () => {
  const { hub, nodes } = drawn({ stepsPerRound: 4 });
  const [early, late] = nodes;
  train(hub, nodes);
  hub.step({ type: "restarted" });
  for (const node of nodes) hub.inbox(node).length = 0;
  hub.join(early); // its process was killed as well
  hub.load(early);
  assertEquals([hub.state.step, hub.tasksOf(early).length], [2, 0]);
  hub.wait(hub.state.config.limits.restartGraceMs + 1);
  assertEquals([hub.state.members.has(late), hub.state.step, hub.count("rewound")], [false, 0, 1]);
  assertEquals(hub.tasksOf(early).length > 0, true);
});

Deno.test("Lost rounds: newcomers get work as soon as one that holds the round's progress is back", () => {
  const { hub, nodes } = drawn({ stepsPerRound: 4 });
  const [early, late] = nodes;
  train(hub, nodes);
  const { assignment, header } = hub.state.members.get(late)!;
  hub.step({ type: "restarted" });
  for (const node of nodes) hub.inbox(node).length = 0;
  hub.join(early);
  hub.load(early);
  hub.join(late, { holding: { assignment, round: 0, step: header?.step ?? null, tasks: [] } });
  assertEquals([hub.tasksOf(early).length > 0, hub.state.step, hub.count("rewound")], [true, 2, 0]);
});

/** The reasons that a lost round gives, where each of two stages has so many miners and `end` is what those of stage 0 do in its merge. */
function reasonsOf(replicas: number, end: (hub: ScriptedOrchestrator, nodes: readonly NodeId[]) => void): unknown {
  const hub = new ScriptedOrchestrator({
    model: { layers: 2 },
    pipeline: { stages: 2, codec: "none" },
    train: { microbatchesPerStep: 8, steps: 100, stepsPerRound: 1 },
    swarm: { replicas, validators: 0 },
    limits: { mergePhaseMs: 60_000, leaseMs: 600_000, disconnectGraceMs: 1_000 },
  });
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  const isFirst = (node: NodeId) => hub.state.members.get(node)?.stage === 0;
  for (const node of nodes) if (!isFirst(node)) commit(hub, node);
  end(hub, nodes.filter(isFirst));
  hub.wait(240_000);
  hub.step({ type: "uploadsProbed", refusal: null });
  return hub.records.flatMap((record) =>
    record.type === "mergeRetaken" ? record.stages?.map(({ stage, reason }) => `${stage}: ${reason}`) ?? [] : []
  );
}

Deno.test("Lost rounds: the reason tells miners that were gone from those that were late", () => {
  const disconnect = (hub: ScriptedOrchestrator, node: NodeId) => hub.step({ type: "nodeDisconnected", node });
  assertEquals(reasonsOf(1, () => {}), ["0: no payload came in time"]);
  assertEquals(reasonsOf(1, (hub, [only]) => disconnect(hub, only!)), [
    "0: the only miner that had trained in the round left or lost the connection before a payload came",
  ]);
  assertEquals(reasonsOf(2, (hub, [first]) => disconnect(hub, first!)), [
    "0: of the 2 miners that had trained in the round, 1 left or lost the connection, and no payload of the rest came in time",
  ]);
});
