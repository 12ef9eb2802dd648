/** Rounds of which every miner that trained in them is gone: their steps do not count as trained. */

import { assertEquals } from "@std/assert";
import { commit } from "../support/swarm/scripted_merge.ts";
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
