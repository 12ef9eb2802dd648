/** What a team asks for when it needs helpers. */

/** Shared with the helpers, not copied. */
export interface HelperOrder {
  readonly helpers: number;
  readonly memory: WebAssembly.Memory; // the stage's
  readonly module: WebAssembly.Module; // its kernels
  readonly scratch: number; // the address of room for all threads' packed panels
  readonly board: SharedArrayBuffer;
}

/** Resolves when all helpers wait for work; rejects if one cannot. They end when the board is closed or fails. */
export type StartHelpers = (order: HelperOrder) => Promise<void>;

export interface ToHelper extends Omit<HelperOrder, "helpers"> {
  readonly index: number; // from 1
  readonly threads: number;
}

export type FromHelper = { readonly type: "ready" } | { readonly type: "ended" };
