/** A miner's own state kept in memory, for swarms in one process: what OwnStateFolder keeps on disk. */

import type { OwnState, OwnStateStore } from "../../../cli/node/own_state.ts";

export function memoryOwnState(): OwnStateStore {
  let saved: Parameters<OwnStateStore["save"]>[0] | null = null;
  const copyOf = ({ vectors, steps }: OwnState): OwnState => ({
    vectors: new Map([...vectors].map(([name, values]) => [name, values.slice()])),
    steps,
  });
  return {
    save: (options) => {
      saved = { ...options, state: copyOf(options.state) };
      return Promise.resolve();
    },
    stage: () => Promise.resolve(saved?.stage ?? null),
    load: ({ stage, parameters }) => {
      const fits = saved !== null && saved.stage === stage && saved.parameters.hash === parameters.hash;
      return Promise.resolve(fits ? copyOf(saved!.state) : null);
    },
  };
}
