/**
 * Requests on connections of the current session only: after a change of address, each request on an old connection
 * would wait for the silence timeout.
 */

type SessionRequest = (url: string, init: RequestInit) => Promise<Response>;

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

  /** Requests on earlier connections fail at once. */
  begin(): void {
    this.#session.abort(new Error("the link to the orchestrator was replaced"));
    this.#session = new AbortController();
    this.#connections?.close();
    this.#connections = null;
  }
}
