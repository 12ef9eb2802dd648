/**
 * What anyone may read of a run's past, as JSON: the span that its log covers, the public state at a moment, one microbatch's way.
 *
 * Owns: the published field names of the span, which stay. Out of scope: what is public (cli/dashboard/public_run.ts), serving.
 */

import { publicPathway, type RunSnapshot, runSnapshot } from "../dashboard/public_run.ts";
import { PathwaySearch } from "./pathway_search.ts";
import { type HistorySpan, RunHistory, type ViewMoment } from "./run_history.ts";

/** The body of `/api/v1/history`. */
export type PublicSpan = HistorySpan;

export interface Past {
  /** A `PublicSpan`; reads what the log has gained. */
  span(): Promise<string>;
  /** A `RunSnapshot`; null if no moment can be shown. */
  at(sequence: number): Promise<string | null>;
  /** A `PublicPathway`; null if no task of the microbatch is in the log. */
  pathway(microbatch: number): Promise<string | null>;
  close(): void;
}

/** In this thread. */
export function openPast(history: RunHistory): Past {
  return {
    span: async () => JSON.stringify(await history.refresh() satisfies PublicSpan),
    at: async (sequence) => await history.at(sequence, (moment) => JSON.stringify(publicMoment(moment))),
    async pathway(microbatch) {
      const search = new PathwaySearch(microbatch);
      await history.eachLine((text) => search.take(text));
      return search.found === null ? null : JSON.stringify(publicPathway(search.found));
    },
    close: () => void history.close(),
  };
}

/** As a viewer saw it when the record had just arrived. */
export const publicMoment = ({ view, sequence, atMs }: ViewMoment): RunSnapshot =>
  runSnapshot(view, { sequence, atMs });

export const pastOf = (folder: string): Past => openPast(new RunHistory(folder));
