/**
 * Requests on connections of the current session only. After a change of address the connections of before are dead, and nothing
 * says so: a request on one waits for the silence timeout, and the pool has more of them.
 *
 * Owns: the session's connections. Out of scope: retries (blob_requests.ts), which a dropped request gets like any that failed.
 */

export type SessionRequest = (url: string, init: RequestInit) => Promise<Response>;

/** Connections with a pool of their own. */
export interface Connections {
  readonly fetch: SessionRequest;
  close(): void;
}

export class SessionFetch {
  readonly #open: () => Connections;
  #connections: Connections | null = null;
  #session = new AbortController();

  constructor(open: () => Connections) {
    this.#open = open;
  }

  readonly fetch: SessionRequest = (url, init) => {
    this.#connections ??= this.#open();
    const own = this.#session.signal;
    const signal = init.signal === null || init.signal === undefined ? own : AbortSignal.any([init.signal, own]);
    return this.#connections.fetch(url, { ...init, signal });
  };

  /** A session has begun: requests on connections of before fail at once. */
  begin(): void {
    this.#session.abort(new Error("the link to the orchestrator is a new one"));
    this.#session = new AbortController();
    this.#connections?.close();
    this.#connections = null;
  }
}
