/**
 * Keeps one session with one of several nodes alive, with jittered back-off. Nodes of another chain than the first's
 * are skipped; heads increase, except after an absurd one; `run` settles within its patience; after `close` nothing is
 * left open.
 */

import { ChainError, type Head } from "../../chain.ts";
import { isRateLimit, RpcError } from "./rpc_error.ts";
import { type Runtime, UnsupportedRuntime } from "./runtime.ts";
import { asChainError, Session, type SessionOptions } from "./session.ts";
import { type Cancel, type Dice, reconnectDelayMs, type Timers, withDeadline } from "./timers.ts";

export interface ConnectionOptions {
  readonly urls: readonly string[];
  readonly isPublic: boolean;
  readonly timers: Timers;
  readonly dice: Dice;
  readonly callDeadlineMs: number;
  readonly socketOptions?: SessionOptions["socketOptions"];
  readonly headSilenceMs: number;
  readonly keepaliveMs: number;
  readonly patienceMs: number;
}

const attemptsMax = 3; // per piece of work
const lagBlocksMax = 100; // 20 minutes behind others

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #listeners = new Set<(head: Head) => void>();
  readonly #outageListeners = new Set<(problem: string | null) => void>();
  #isOut = false;
  #session: Session | null = null;
  #waiting: PromiseWithResolvers<Session> = unheard();
  #known: { genesisHash: string; runtime: Runtime } | null = null;
  #next = 0;
  #failures = 0;
  #lastHead = -1;
  #closed: ChainError | null = null;
  #cancelRetry: Cancel = () => {};
  readonly #closing = new Set<Promise<unknown>>();
  readonly #endWaits = new Set<() => void>();
  #dialling: Promise<void> = Promise.resolve();

  private constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Rejects with each node's reason if none answers. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options);
    const problems: string[] = [];
    for (let i = 0; i < options.urls.length; i++) {
      try {
        await connection.#dial();
        return connection;
      } catch (error) {
        problems.push(asChainError(error, options.urls[i]!).message);
      }
    }
    throw new ChainError("unreachable", `Cannot reach the chain: ${problems.join("; ")}`);
  }

  get session(): Session | null {
    return this.#session;
  }

  get url(): string {
    return this.#session?.url ?? this.#options.urls[this.#next % this.#options.urls.length]!;
  }

  get lastHead(): number {
    return this.#lastHead;
  }

  onHead(listener: (head: Head) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Null: reachable again. A node that is back at the first attempt is not an outage. */
  onOutage(listener: (problem: string | null) => void): () => void {
    this.#outageListeners.add(listener);
    return () => this.#outageListeners.delete(listener);
  }

  /** Also resolves on close, but never after `stop`. */
  nextHead(): { readonly seen: Promise<void>; readonly stop: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const listener = () => {
      this.#listeners.delete(listener);
      this.#endWaits.delete(listener);
      resolve();
    };
    this.#listeners.add(listener);
    this.#endWaits.add(listener);
    return {
      seen: promise,
      stop: () => {
        this.#listeners.delete(listener);
        this.#endWaits.delete(listener);
      },
    };
  }

  get isClosed(): boolean {
    return this.#closed !== null;
  }

  /** `work` must be idempotent: it is repeated if the node is lost or upgrades. */
  async run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 1;; attempt++) {
      const session = await this.ready();
      await session.upgraded;
      const { runtime } = session;
      try {
        return await work(session);
      } catch (error) {
        const isLost = !session.socket.isOpen;
        if (!isLost) await session.refreshRuntime({ isForced: false }).catch(() => {/* then it is lost: seen below */});
        const isUpgraded = session.runtime !== runtime;
        const problem = asChainError(error, session.url);
        if (attempt === attemptsMax || this.#closed !== null) throw problem;
        if (isRateLimit(error) && !isLost) await this.rest();
        else if (isGarbage(error) && !isUpgraded) await session.close(problem); // another node may answer correctly
        else if (session.socket.isOpen && !isUpgraded) throw problem;
      }
    }
  }

  /** Rejects after `patienceMs`. */
  ready(): Promise<Session> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    if (this.#session !== null) return Promise.resolve(this.#session);
    const { timers, patienceMs, urls } = this.#options;
    return withDeadline(this.#waiting.promise, {
      timers,
      deadlineMs: patienceMs,
      late: () =>
        new ChainError("unreachable", `Cannot reach the chain for ${patienceMs / 1_000} s: tried ${urls.join(", ")}`),
    });
  }

  /** Running work rejects with "closed". */
  async close(): Promise<void> {
    if (this.#closed !== null) return;
    this.#closed = new ChainError("closed", "Cannot query the chain as this client is closed");
    this.#cancelRetry();
    this.#waiting.reject(this.#closed);
    this.#listeners.clear();
    this.#outageListeners.clear();
    for (const end of this.#endWaits) end();
    this.#session?.socket.terminate(this.#closed);
    await Promise.all(this.#closing);
    await this.#dialling.catch(() => {/* the caller that dialled gets the error */});
  }

  #dial(): Promise<void> {
    this.#dialling = this.#open();
    return this.#dialling;
  }

  async #open(): Promise<void> {
    const { urls } = this.#options;
    const url = urls[this.#next++ % urls.length]!;
    let isAdopted = false;
    const session = await Session.open({
      ...this.#options,
      url,
      known: this.#known,
      onHead: (head) => {
        if (isAdopted) this.#tell(head); // reported below
      },
    });
    const other = this.#known !== null && this.#known.genesisHash !== session.genesisHash;
    if (other || this.#closed !== null) {
      const reason = this.#closed ?? new ChainError("badAnswer", `Cannot use ${url} as it serves another chain`);
      await session.close(reason);
      throw reason;
    }
    this.#known = { genesisHash: session.genesisHash, runtime: session.runtime };
    isAdopted = true;
    this.#session = session;
    this.#waiting.resolve(session);
    this.#tellOutage(null);
    // The last node's absurd block number must not suppress this one's heads.
    if (session.head.number < this.#lastHead - lagBlocksMax) this.#lastHead = -1;
    this.#tell({ block: session.head.number, seenMs: session.seenMs });
    const closing: Promise<unknown> = session.socket.closed.then(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    session.socket.onBroken((reason) => this.#lost(session, reason));
  }

  #lost(session: Session, reason: ChainError): void {
    this.#session = null;
    this.#waiting = unheard();
    if (this.#closed !== null) return this.#waiting.reject(this.#closed);
    this.#known = { genesisHash: session.genesisHash, runtime: session.runtime };
    this.#failures = session.hasNewHead ? 1 : this.#failures + 1;
    this.#retryAfter(reason);
  }

  #retryAfter(reason: unknown): void {
    const { timers, dice, isPublic } = this.#options;
    const delayMs = reconnectDelayMs({
      failures: this.#failures,
      isPublic,
      isRateLimited: isRateLimit(reason) && this.#options.urls.length === 1,
      dice: dice(),
    });
    this.#cancelRetry = timers.after(delayMs, () => {
      this.#dial().catch((error) => {
        if (this.#closed !== null) return;
        this.#failures++;
        this.#tellOutage(asChainError(error, this.url).message);
        this.#retryAfter(error);
      });
    });
  }

  rest(): Promise<void> {
    const { timers, dice, isPublic } = this.#options;
    const delayMs = reconnectDelayMs({ failures: 1, isPublic, isRateLimited: true, dice: dice() });
    return new Promise((resolve) => {
      const cancel = timers.after(delayMs, () => {
        this.#endWaits.delete(end);
        resolve();
      });
      const end = () => {
        cancel();
        resolve();
      };
      this.#endWaits.add(end);
    });
  }

  #tellOutage(problem: string | null): void {
    if (this.#isOut === (problem !== null)) return;
    this.#isOut = problem !== null;
    for (const listener of [...this.#outageListeners]) listener(problem);
  }

  #tell(head: Head): void {
    if (head.block <= this.#lastHead) return;
    this.#lastHead = head.block;
    for (const listener of [...this.#listeners]) listener(head);
  }
}

function isGarbage(error: unknown): boolean {
  if (error instanceof UnsupportedRuntime || error instanceof RpcError) return false;
  return !(error instanceof ChainError) || error.code === "badAnswer";
}

function unheard(): PromiseWithResolvers<Session> {
  const waiting = Promise.withResolvers<Session>();
  waiting.promise.catch(() => {/* those who wait have their own copy */});
  return waiting;
}
