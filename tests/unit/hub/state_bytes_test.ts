/** A state that went through bytes is the same to the machine as the one that did not, and has the same bytes at any time. */

import { assert, assertEquals } from "@std/assert";
import { CanonicalWriter } from "../../../cli/journal/canonical_writer.ts";
import { eventBytes, readEvent, readSnapshot, snapshotBytes } from "../../../cli/hub/journal/state_bytes.ts";
import type { OrchestratorMachine } from "../../../cli/hub/hub_runtime.ts";
import { simulate } from "../../../cli/sim/simulate.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";

const renewEvery = 37; // events: often enough to meet every kind of open work
const compareEvery = 97;

/** Beside every state runs a twin that is written and read back every few events, and gets events that were, too. */
function twinned(): { machine: OrchestratorMachine; compared: () => number } {
  const twins = new WeakMap<OrchestratorState, { state: OrchestratorState }>();
  const effectBytes = new CanonicalWriter();
  let events = 0;
  let compared = 0;
  const renewed = (state: OrchestratorState) => readSnapshot(snapshotBytes({ state, nowMs: 0 })).state;
  const machine: OrchestratorMachine = {
    ...orchestrator,
    step(state, event, nowMs) {
      events += 1;
      const twin = twins.get(state) ?? { state: renewed(state) };
      twins.set(state, twin);
      if (events % renewEvery === 0) twin.state = renewed(twin.state);
      const copied = readEvent(eventBytes(event));
      const effects = orchestrator.step(state, event, nowMs);
      const twinEffects = orchestrator.step(twin.state, copied, nowMs);
      assertEquals(effectBytes.write(twinEffects), effectBytes.write(effects), `effects of event ${events}`);
      if (events % compareEvery === 0) {
        compared += 1;
        const bytes = [twin.state, state].map((each) => snapshotBytes({ state: each, nowMs }));
        assertEquals(bytes[0], bytes[1], `state after event ${events}`);
      }
      return effects;
    },
  };
  return { machine, compared: () => compared };
}

for (const seed of [3, 19]) {
  Deno.test(`State bytes: the machine cannot tell a state from its copy (simulated swarm, seed ${seed})`, () => {
    const { machine, compared } = twinned();
    const result = simulate({ seed, miners: 24, minutes: 12, faults: "drawn", machine });
    if (!result.ok) throw result.failure.cause;
    assert(compared() > 10, `${compared()} comparisons`);
  });
}
