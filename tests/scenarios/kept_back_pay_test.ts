/** Pay that waits until the parameters asked for in its round are shown and looked at. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { check, drawn, faultsOf, fine, merge, paidInLastRound, show, train } from "../support/swarm/shown_rounds.ts";

Deno.test("Pay kept back: who shows them after the merge is paid for both rounds with the next", () => {
  const { hub, nodes } = drawn();
  const [slow, quick] = nodes;
  const unitsOf = (node: NodeId) => hub.state.reports.at(-1)!.units.get(node) ?? 0;
  const steps: number[] = [];
  for (let round = 0; round < 2; round++) {
    steps.push(train(hub, nodes));
    show(hub, quick, steps[round]!);
    check(hub, quick, fine);
    if (round === 1) {
      for (const step of steps) {
        show(hub, slow, step);
        check(hub, slow, fine);
      }
    }
    merge(hub, nodes);
    assertEquals(unitsOf(slow), round === 0 ? 0 : 2 * unitsOf(quick), `round ${round}`);
  }
  assertEquals([faultsOf(hub, slow), hub.state.deferred.size], [0, 0]);
});

Deno.test("Pay kept back: what is said to be shown after the merge, and is not stored or impossible, is not paid later", () => {
  for (const way of [null, { ...fine, isFinite: false }]) {
    const { hub, nodes } = drawn();
    const [liar, honest] = nodes;
    const first = train(hub, nodes);
    show(hub, honest, first);
    check(hub, honest, fine);
    merge(hub, nodes);
    assert(hub.state.deferred.has(liar));
    show(hub, liar, first);
    check(hub, liar, way);
    assertEquals(hub.state.deferred.has(liar), false);
  }
});

Deno.test("Pay kept back: what the hub has yet to look at when the round is merged is paid with the next", () => {
  const { hub, nodes } = drawn();
  const [late, honest] = nodes;
  const step = train(hub, nodes);
  for (const node of [honest, late]) show(hub, node, step);
  hub.step({ type: "stateChecked", round: 0, step, node: honest, way: fine, sketch: null });
  merge(hub, nodes);
  assertEquals([paidInLastRound(hub, late), paidInLastRound(hub, honest)], [false, true]);
  check(hub, late, fine);
  const next = train(hub, nodes);
  for (const node of nodes) {
    show(hub, node, next);
    check(hub, node, fine);
  }
  merge(hub, nodes);
  const unitsOf = (node: NodeId) => hub.state.reports.at(-1)!.units.get(node);
  assertEquals(unitsOf(late), 2 * unitsOf(honest)!);
});

Deno.test("Pay kept back: nothing is kept back in the last round, as no other report follows", () => {
  const { hub, nodes } = drawn();
  hub.state.config.train.steps = 2;
  train(hub, nodes);
  merge(hub, nodes);
  assertEquals([hub.state.phase, ...nodes.map((node) => paidInLastRound(hub, node))], ["closing", true, true]);
});
