/** Shows that a test has been at the odd branch that it is about: core/orchestrator/marks.ts. */

import { assert } from "@std/assert";
import type { Mark } from "../../../core/orchestrator/marks.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";

export function assertReached({ marks }: Pick<OrchestratorState, "marks">, mark: Mark): void {
  const reached = [...marks.keys()].join(", ");
  assert(marks.has(mark), `The test must reach the mark "${mark}"; reached were: ${reached === "" ? "none" : reached}`);
}
