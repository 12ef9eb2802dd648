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
    load: ({ stage, round, parameters }) => {
      if (saved === null || saved.stage !== stage) return Promise.resolve(null);
      const isEarlier = saved.parameters.hash !== parameters.hash;
      return Promise.resolve(isEarlier && saved.round >= round ? null : { ...copyOf(saved.state), isEarlier });
    },
  };
}
