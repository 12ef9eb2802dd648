/**
 * What anyone may read of a run's past, as JSON: the span that its log covers, the public state at a moment, one microbatch's way,
 * one member's account from the signed log, what each miner has earned.
 *
 * Owns: the published field names of the span, which stay. Out of scope: what is public (cli/observe/public/public_run.ts), serving.
 */

import { publicPathway, type RunSnapshot, runSnapshot } from "../public/public_run.ts";
import type { PublicAccount, PublicEarnings, PublicSpan } from "../public/public_past.ts";
import { type ChainWeights, keptChainWeights } from "../../chain/duty/weights_file.ts";
import { memberAccount } from "../ledger/member_account.ts";
import { runEarnings } from "../ledger/run_earnings.ts";
import { PathwaySearch } from "./pathway_search.ts";
import { RunHistory, type ViewMoment } from "./run_history.ts";

export interface Past {
  /** A `PublicSpan`; reads what the log has gained. */
  span(): Promise<string>;
  /** A `RunSnapshot`; null if no moment can be shown. */
  at(sequence: number): Promise<string | null>;
  /** A `PublicPathway`; null if no task of the microbatch is in the log. */
  pathway(microbatch: number): Promise<string | null>;
  /** A `PublicAccount`; null if the signed log does not name the member. */
  account(member: string): Promise<string | null>;
  /** A `PublicEarnings`. */
  earnings(): Promise<string>;
  close(): void;
}

/** In this thread. `folder`: the run's. */
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

/** As a viewer saw it when the record had just arrived. */
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
