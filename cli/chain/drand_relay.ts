/**
 * Opens weights sealed to drand's quicknet instead of this chain's own beacon, as Bittensor's SDK always does.
 *
 * A failed fetch of the pulse is retried with every block until the chain drops the commit. The server is not trusted:
 * the ledger checks each pulse.
 */

import { outboundFetch } from "../program/outbound.ts";
import type { LocalBlock } from "../../chain/local/block/ledger.ts";
import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { type SealedCommit, sealedCommits, sealOf } from "../../chain/local/reads/pending_commits.ts";
import { quicknet, timeOfRoundMs } from "../../chain/timelock/beacon.ts";

interface DrandRelayOptions {
  readonly ledger: LocalLedger; // opened with `hearsQuicknet`, unless the server is null
  readonly server: string | null; // null: none is asked
  readonly fetchText: (url: string) => Promise<string>;
  readonly warn: (text: string) => void;
  readonly note: (text: string) => void;
}

const quicknetHash = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";

export class DrandRelay {
  readonly #options: DrandRelayOptions;
  readonly #seals = new Map<string, ReturnType<typeof sealOf>>();
  readonly #fetched = new Set<bigint>();
  #isFetching = false;
  #problem: string | null = null;
  readonly #stop: () => void;
  /** Resolves when no fetch is under way. */
  settled: Promise<void> = Promise.resolve();

  constructor(options: DrandRelayOptions) {
    this.#options = options;
    this.#stop = options.ledger.onBlock((block) => this.#look(block));
  }

  close(): void {
    this.#stop();
  }

  #look({ number, timestampMs }: LocalBlock): void {
    const { ledger, server } = this.#options;
    const waiting = sealedCommits(ledger.state);
    const known = new Set(waiting.map(({ key }) => key));
    for (const key of this.#seals.keys()) if (!known.has(key)) this.#seals.delete(key);
    for (const round of this.#fetched) {
      if (!waiting.some((commit) => commit.round === round)) this.#fetched.delete(round);
    }
    for (const commit of waiting) this.#judge(commit, number);
    if (server === null || this.#isFetching) return;
    const due = waiting.find(({ key, round }) =>
      this.#seals.get(key) === "foreign" && !this.#fetched.has(round) && timeOfRoundMs(quicknet, round) <= timestampMs
    );
    if (due !== undefined) this.settled = this.#bring(due.round, server);
  }

  #judge(commit: SealedCommit, block: number): void {
    const { ledger, server, warn } = this.#options;
    if (this.#seals.has(commit.key)) return;
    const seal = sealOf(ledger.beacon, commit);
    this.#seals.set(commit.key, seal);
    const what = `block ${block}: the weights that ${commit.hotkey} committed`;
    if (seal === "broken") warn(`${what} are not a timelocked ciphertext and will be lost`);
    if (seal !== "foreign") return;
    const whose =
      `${what} are not sealed to this chain's beacon, but probably to drand's quicknet, as Bittensor's SDK does`;
    if (server === null) {
      return warn(`${whose}: they will be lost, as --drand none keeps this chain from fetching its pulses`);
    }
    warn(`${whose}: they open if round ${commit.round} can be fetched from ${server} when it is published`);
    if (!this.#isFetching) this.settled = this.#tryServer(server);
  }

  /** Now, while a problem can still be fixed, rather than when the round comes. */
  async #tryServer(server: string): Promise<void> {
    await this.#fetching(server, "latest", () => {});
  }

  async #bring(round: bigint, server: string): Promise<void> {
    const { ledger, note } = this.#options;
    await this.#fetching(server, String(round), (text) => {
      const signature = signatureOf(text);
      if (signature === null || !ledger.learnPulse({ round, signature })) {
        throw new Error(`its answer is not quicknet's pulse of round ${round}`);
      }
      this.#fetched.add(round);
      note(`quicknet's pulse of round ${round} has been fetched from ${server}`);
    });
  }

  async #fetching(server: string, round: string, use: (text: string) => void): Promise<void> {
    const { fetchText, warn } = this.#options;
    this.#isFetching = true;
    try {
      use(await fetchText(`${server}/${quicknetHash}/public/${round}`));
      this.#problem = null;
    } catch (error) {
      const why = reasonOf(error);
      if (this.#problem !== why) {
        warn(
          `cannot fetch quicknet's pulse from ${server}, so weights sealed to it will be lost unless the server answers: ${why}`,
        );
      }
      this.#problem = why;
    } finally {
      this.#isFetching = false;
    }
  }
}

/** `fetch` gives the reason as its error's cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Null: not in the format of drand's servers. */
function signatureOf(text: string): Uint8Array | null {
  const hex = /"signature"\s*:\s*"([0-9a-f]{96})"/.exec(text)?.[1];
  return hex === undefined ? null : Uint8Array.fromHex(hex);
}

const fetchMs = 10_000;
const answerBytesMax = 4_096; // a pulse has about 300

export async function fetchSmallText(url: string): Promise<string> {
  const response = await outboundFetch(url, { signal: AbortSignal.timeout(fetchMs), redirect: "error" });
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > answerBytesMax) throw new Error(`it answers with more than ${answerBytesMax} bytes`);
  }
  if (!response.ok) throw new Error(`it answers with status ${response.status}`);
  return text;
}
