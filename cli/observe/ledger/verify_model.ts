/** Whether the tensors of an exported model are those that a merge of the run agreed on, by the run's signed log. */

import type { LogEntry } from "../../../core/ledger/entry.ts";
import { sha256InTurns } from "../../files/file_entry.ts";
import { type Provenance, readProvenance, trainedStages } from "../../model/export/provenance.ts";
import { openModel } from "../../model/source/open_model.ts";
import { bytesOf } from "../../model/tensors/safetensors.ts";
import type { VerifiedLedger } from "./verify_ledger.ts";

export type MergedEntry = Extract<LogEntry, { type: "merged" }>;

/** What the log says of merges: each round's newest, as a rollback repeats rounds. */
export class MergesSeen {
  readonly byRound = new Map<number, { readonly entry: MergedEntry; readonly line: number }>();
  newest = 0;

  take(entry: LogEntry, line: number): void {
    if (entry.type !== "merged") return;
    this.byRound.set(entry.round, { entry, line });
    this.newest = entry.round;
  }
}

export interface ModelVerdict {
  readonly isAgreed: boolean;
  readonly round: number;
  readonly isNewest: boolean; // of the log's merges
  readonly differingStages: readonly number[];
  readonly text: string;
}

export async function verifyModel(
  folder: string,
  { found, merges }: { found: VerifiedLedger; merges: MergesSeen },
): Promise<ModelVerdict> {
  const from = await readProvenance(folder);
  const merged = merges.byRound.get(from.round);
  const isNewest = from.round === merges.newest;
  const no = (text: string, differingStages: readonly number[] = []): ModelVerdict => ({
    ...{ isAgreed: false, round: from.round, isNewest, differingStages },
    text: `NOT PROVEN: ${text}`,
  });
  if (from.run !== found.run) return no(`the model is of run ${from.run}, and the log of run ${found.run}`);
  if (from.type !== "f32") return no(`its numbers are rounded to ${from.type}: export the model as f32`);
  if (merged === undefined) return no(`the log has no merge for round ${from.round}`);
  if (merged.line > found.signedLine) return no(`the merge for round ${from.round} is not signed yet in the log`);
  const differing = await differingStages(folder, { from, merged: merged.entry });
  if (differing === null) return no("its layers are not those of the run's stages");
  if (differing.length > 0) {
    const stages = `stage${differing.length === 1 ? "" : "s"} ${differing.join(", ")}`;
    return no(`the tensors of ${stages} differ from those that the merge agreed on`, differing);
  }
  const which = isNewest ? "the log's newest" : `an earlier one: the newest is for round ${merges.newest}`;
  return {
    ...{ isAgreed: true, round: from.round, isNewest, differingStages: [] },
    text: `OK: the model's tensors are those of the merge for round ${from.round}, ${which}`,
  };
}

async function differingStages(
  folder: string,
  { from, merged }: { from: Provenance; merged: MergedEntry },
): Promise<number[] | null> {
  const source = await openModel(folder, () => {});
  const stages = trainedStages(source, from);
  if (stages === null || stages.length !== merged.parameters.length) return null;
  const differing: number[] = [];
  for (const spec of stages) {
    const hash = await sha256InTurns([bytesOf(await source.readStage(spec))]);
    if (hash !== merged.parameters[spec.index]) differing.push(spec.index);
  }
  return differing;
}
