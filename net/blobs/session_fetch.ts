/**
 * Requests on connections of the current session only. After a change of address, the old connections in the pool are
 * dead without notice: each request on one would wait for the silence timeout.
 *
 * Owns: the session's connections. Out of scope: retries (blob_requests.ts); a dropped request is retried like any
 * failed one.
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

  /** Starts a new session: requests on earlier connections fail at once. */
  begin(): void {
    this.#session.abort(new Error("the link to the orchestrator was replaced"));
    this.#session = new AbortController();
    this.#connections?.close();
    this.#connections = null;
  }
}
