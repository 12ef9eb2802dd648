/** A run's past for anyone, as JSON. Published field names stay. */

import { publicPathway, runSnapshot } from "../public/public_run.ts";
import type { PublicAccount, PublicEarnings, PublicSpan, RunSnapshot } from "../public/public_shape.ts";
import { type ChainWeights, keptChainWeights } from "../../chain/duty/weights_file.ts";
import { memberAccount } from "../ledger/member_account.ts";
import { runEarnings } from "../ledger/run_earnings.ts";
import { RunHistory, type ViewMoment } from "./run_history.ts";
import { addHop, hopOf, type PathwayView } from "../../../core/view/pathways.ts";
import { parseLine } from "../projection/log_line.ts";

export interface Past {
  span(): Promise<string>;
  /** A `RunSnapshot`; null: no moment can be shown. */
  at(sequence: number): Promise<string | null>;
  /** A `PublicPathway`; null: none of its tasks is in the log. */
  pathway(microbatch: number): Promise<string | null>;
  account(member: string): Promise<string | null>;
  earnings(): Promise<string>;
  close(): void;
}

export function openPast(history: RunHistory, folder: string): Past {
  return {
    span: async () => JSON.stringify(await history.refresh() satisfies PublicSpan),
    at: async (sequence) => await history.at(sequence, (moment) => JSON.stringify(publicMoment(moment))),
    async pathway(microbatch) {
      const search = new PathwaySearch(microbatch);
      await history.eachLine((text) => search.take(text));
      return search.found === null ? null : JSON.stringify(publicPathway(search.found));
    },
    async account(member) {
      const account = await memberAccount(folder, member);
      if (account === null) return null;
      return JSON.stringify(
        { ...account, weights: weightsOf(member, await keptChainWeights(folder)) } satisfies PublicAccount,
      );
    },
    earnings: async () => JSON.stringify(await runEarnings(folder) satisfies PublicEarnings | null),
    close: () => void history.close(),
  };
}

export const publicMoment = ({ view, sequence, atMs }: ViewMoment): RunSnapshot =>
  runSnapshot(view, { sequence, atMs });

export const pastOf = (folder: string): Past => openPast(new RunHistory(folder), folder);

function weightsOf(member: string, weights: ChainWeights | null): PublicAccount["weights"] {
  if (weights === null) return null;
  const { block, atMs, validators } = weights;
  const own = validators.find(({ hotkey }) => hotkey === member);
  return {
    ...{ block, atMs, setAtBlock: own?.setAtBlock ?? null },
    given: own?.weights.map(({ hotkey, share }) => ({ node: hotkey, share })) ?? [],
    received: validators.flatMap(({ hotkey, weights }) => {
      const share = weights.find((weight) => weight.hotkey === member)?.share;
      return share === undefined ? [] : [{ validator: hotkey, share }];
    }),
  };
}

class PathwaySearch {
  readonly #microbatch: number;
  readonly #mark: string;
  #found: PathwayView | null = null;

  constructor(microbatch: number) {
    this.#microbatch = microbatch;
    this.#mark = `"microbatch":${microbatch}`;
  }

  take(text: string | null): void {
    if (text === null) return;
    if (text.includes(this.#mark)) this.#takeTask(text);
    else if (this.#found?.step === null && text.includes('"stepClosed"')) this.#takeStep(text);
  }

  /** The last attempt, if the run repeated it. */
  get found(): PathwayView | null {
    return this.#found;
  }

  #takeTask(text: string): void {
    const record = parseLine(text)?.record;
    if (record?.type !== "taskFinished" || record.microbatch !== this.#microbatch) return;
    const hop = hopOf(record);
    if (hop === null) return;
    const isAgain = this.#found !== null && this.#found.step !== null;
    if (this.#found === null || isAgain) this.#found = { microbatch: this.#microbatch, step: null, hops: [] };
    addHop(this.#found, hop);
  }

  #takeStep(text: string): void {
    const record = parseLine(text)?.record;
    if (record?.type === "stepClosed" && this.#found !== null) this.#found = { ...this.#found, step: record.step };
  }
}
