/** Puts workers that lose their device in place of compute workers: the platform's `Worker` is all that is replaced. */

const losingWorker = new URL("./losing_worker.ts", import.meta.url);

/** The n-th compute worker that is started gets the n-th query (losing_worker.ts); null, and all later ones, are as always. */
export function withLosingWorkers(queries: readonly (string | null)[]): Disposable {
  const Real = globalThis.Worker;
  const left = [...queries];
  globalThis.Worker = class extends Real {
    constructor(url: string | URL, options?: WorkerOptions) {
      const query = options?.name === "compute" ? left.shift() ?? null : null;
      super(query === null ? url : new URL(`?${query}`, losingWorker), options);
    }
  };
  return { [Symbol.dispose]: () => globalThis.Worker = Real };
}
