/** A thread that simulates one seed after another. Started by its URL from run_seeds.ts. */

import { type SimOptions, simulate } from "./simulate.ts";

/** What a seed came to; null: it broke no rule. */
export interface SeedEnd {
  readonly seed: number;
  readonly failure: { readonly detail: string; readonly faults: SimOptions["faults"]; readonly stack: string } | null;
}

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<SimOptions>) => void) | null;
  postMessage(end: SeedEnd): void;
};

scope.onmessage = ({ data }) => {
  const result = simulate(data);
  const { seed } = data;
  if (result.ok) return scope.postMessage({ seed, failure: null });
  const { detail, faults, cause } = result.failure;
  scope.postMessage({ seed, failure: { detail, faults, stack: cause instanceof Error ? cause.stack ?? "" : "" } });
};
