/** A state that went through bytes is the same to the machine as the one that did not, and has the same bytes at any time. */

import { assert, assertEquals } from "@std/assert";
import { CanonicalWriter } from "../../../cli/orchestrator/journal/canonical_writer.ts";
import { eventBytes, readEvent, readSnapshot, snapshotBytes } from "../../../cli/orchestrator/journal/state_bytes.ts";
import type { OrchestratorMachine } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { simulate } from "../../lab/sim/simulate.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { type OrchestratorState, stateVersion } from "../../../core/orchestrator/state.ts";
import known from "../../vectors/state_fields.json" with { type: "json" };
import { isWhole, slowTest } from "../../support/whole.ts";

const renewEvery = 37; // events: often enough to meet every kind of open work
const compareEvery = 97;

/** Beside every state runs a twin that is written and read back every few events, and gets events that were, too. */
function twinned(): { machine: OrchestratorMachine; compared: () => number; fields: ReadonlySet<string> } {
  const fields = new Set<string>();
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
        noteFields(fields, state);
        const bytes = [twin.state, state].map((each) => snapshotBytes({ state: each, nowMs }));
        assertEquals(bytes[0], bytes[1], `state after event ${events}`);
      }
      return effects;
    },
  };
  return { machine, compared: () => compared, fields };
}

/** The names of all fields in plain objects. */
function noteFields(fields: Set<string>, value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    for (const each of value.values()) noteFields(fields, each);
    return;
  }
  for (const [key, each] of Object.entries(value)) {
    if (skipped.has(key)) continue;
    fields.add(key);
    noteFields(fields, each);
  }
}

const skipped = new Set(["config", "stages"]); // known by a hash of their own

for (const seed of isWhole ? [3, 19] : [3]) {
  slowTest(`State bytes: the machine cannot tell a state from its copy (simulated swarm, seed ${seed})`, () => {
    const { machine, compared, fields } = twinned();
    const result = simulate({ seed, miners: 24, minutes: 12, faults: "drawn", machine });
    if (!result.ok) throw result.failure.cause;
    assert(compared() > 10, `${compared()} comparisons`);
    const unknown = [...fields].filter((field) => !known.fields.includes(field));
    assertEquals(
      unknown,
      [],
      "a journal of the last version lacks them: raise stateVersion, add them to state_fields.json",
    );
    assertEquals(stateVersion, known.stateVersion);
  });
}
