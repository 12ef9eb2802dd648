/** Memory and board are shared. */
export interface HelperOrder {
  readonly helpers: number;
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  readonly scratch: number; // address of all threads' packed panels
  readonly board: SharedArrayBuffer;
}

/** Resolves when all helpers wait for work. */
export type StartHelpers = (order: HelperOrder) => Promise<void>;

export interface ToHelper extends Omit<HelperOrder, "helpers"> {
  readonly index: number; // from 1
  readonly threads: number;
}

export type FromHelper = { readonly type: "ready" } | { readonly type: "ended" };
