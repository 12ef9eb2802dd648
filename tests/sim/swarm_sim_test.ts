/**
 * Whole swarms in virtual time: the production machines under each kind of fault, with every rule of tests/lab/sim checked; and the
 * simulator itself: equal seeds give equal runs, failures are found and shrunk. Seeded mixtures: `make seeds`.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type FaultKind, faultKinds } from "../lab/sim/faults.ts";
import { shrink } from "../lab/sim/shrink.ts";
import { type SimOptions, simulate } from "../lab/sim/simulate.ts";
import { pass } from "../support/swarm/pass_simulation.ts";
import { orchestrator } from "../../core/orchestrator/machine.ts";

Deno.test("Swarm: equal seeds give equal runs", () => {
  const run = () => {
    const { wallMs: _, eventsPerSecond: __, peakHeapBytes: ___, ...facts } = pass({
      seed: 3,
      miners: 24,
      minutes: 3,
      faults: faultKinds,
    });
    return facts;
  };
  assertEquals(run(), run());
});

Deno.test("Swarm: without faults nothing is done twice and nobody is lost", () => {
  for (const seed of [10, 12]) { // in which no miner is so slow that an idle one gets its task as well
    const { duplicateShare, reLeases, nodesLost, rounds } = pass({ seed, miners: 48, minutes: 4, faults: [] });
    assertEquals([duplicateShare, reLeases, nodesLost], [0, 0, 0]);
    assert(rounds >= 2);
  }
});

for (const kind of faultKinds) {
  Deno.test(`Swarm: a run survives ${kind} alone`, () => {
    for (const seed of [1, 2, 3]) pass({ seed, miners: 24, minutes: 2, faults: [kind] });
  });
}

Deno.test("Swarm: a merge that lacks a stage waits for the answer of its upload, not for audits as well", () => {
  const faults: FaultKind[] = ["kill", "restart", "partition", "sleep", "fullDisk", "blobLoss", "badResult", "flood"];
  pass({ seed: 48, miners: 24, minutes: 1, forwardMs: 60, faults: [...faults, "refusedUploads"] });
});

Deno.test("Swarm: a broken machine is found, and shrinks to a smaller run", () => {
  const kinds: FaultKind[] = ["kill", "cut", "join"];
  const options: SimOptions = {
    seed: 4,
    miners: 16,
    minutes: 2,
    faults: kinds,
    machine: {
      ...orchestrator,
      step(state, event, nowMs) {
        const effects = orchestrator.step(state, event, nowMs);
        return effects.filter((effect) => effect.type !== "release"); // leaks every wire
      },
    },
  };
  const result = simulate(options);
  assert(!result.ok && result.failure.rule === "the orchestrator holds what its state names");
  const smallest = shrink(options, result.failure);
  assertEquals(smallest.options.faults, []);
  assert(smallest.options.miners < options.miners);
});

/** The first broken rule of a small run with this machine. */
function whatBreaks(machine: SimOptions["machine"], faults: FaultKind[]): string {
  const result = simulate({ seed: 4, miners: 16, minutes: 2, faults, ...(machine === undefined ? {} : { machine }) });
  return result.ok ? "nothing" : result.failure.detail;
}

Deno.test("Swarm: what only the runtime around a machine can notice is noticed", () => {
  const releasingTwice: SimOptions["machine"] = {
    ...orchestrator,
    step(state, event, nowMs) {
      const effects = orchestrator.step(state, event, nowMs);
      return [...effects, ...effects.filter((effect) => effect.type === "release")];
    },
  };
  assertStringIncludes(whatBreaks(releasingTwice, []), "Cannot release segment");
  const tickingForEver: SimOptions["machine"] = { ...orchestrator, nextDeadlineMs: () => 0 };
  assertStringIncludes(whatBreaks(tickingForEver, []), "A tick must clear the deadline");
  const unlikeItsReplay: SimOptions["machine"] = {
    ...orchestrator,
    step(state, event, nowMs) {
      if (event.type === "messageReceived") state.counters.reLeases += 1;
      return orchestrator.step(state, event, nowMs);
    },
  };
  assertStringIncludes(whatBreaks(unlikeItsReplay, ["crash"]), "A replay must end in the state that crashed");
  assertEquals(whatBreaks(undefined, ["crash"]), "nothing");
});
