/**
 * The rows of an experiment's answer, from the results of its runs, and its table.
 *
 * A gap is the mean over seeds of (row's loss - control's loss with the same seed), and its standard error is that of this mean.
 * Where a row's wires say nothing, the utility of another is its share of the way from there to the control.
 */

import { present } from "../../../core/assert.ts";
import { alignedRows } from "../world/aligned_rows.ts";
import type { LabResult } from "../world/run_lab.ts";
import type { Row } from "./experiments.ts";
import { meanOf, standardErrorOf } from "./sample_moments.ts";

export interface ExperimentRow {
  readonly name: string;
  readonly bytesForward: number;
  readonly bytesBackward: number;
  readonly mergeBytesPerParameter: number;
  readonly tokensPerSecond: number; // of virtual time
  readonly loss: number; // mean over seeds
  readonly control: string | null; // the row that the gap is to; null: this is one
  readonly gap: number;
  readonly standardError: number | null; // of the gap; null: one seed
  readonly utility: number | null; // of its wires; null: no row's wires say nothing, or they are worth nothing
  readonly seeds: number;
}

export interface RowResults {
  readonly row: Row;
  readonly ofSeeds: LabResult[];
}

/** Of the rows that have been trained: of some, in an interrupted experiment, with fewer seeds than of others before them. */
export function rowsOf(results: readonly RowResults[]): ExperimentRow[] {
  const trained = results.filter(({ ofSeeds }) => ofSeeds.length > 0);
  return trained.map((result) => {
    const { row: { name, family }, ofSeeds } = result;
    const relatives = trained.filter(({ row }) => row.family === family);
    const control = present(relatives[0], "a family has a control");
    const zero = relatives.find(({ row }) => row.wires === "zero");
    const gaps = ofSeeds.map(({ loss }, i) => loss - control.ofSeeds[i]!.loss);
    const { bytesForward, bytesBackward } = ofSeeds[0]!;
    const common = Math.min(ofSeeds.length, zero?.ofSeeds.length ?? 0);
    const worth = zero === undefined ? 0 : lossOf(zero, common) - lossOf(control, common);
    return {
      ...{ name, bytesForward, bytesBackward },
      mergeBytesPerParameter: meanOf(ofSeeds.map((run) => run.mergeBytesPerParameter)),
      tokensPerSecond: meanOf(ofSeeds.map((run) => run.tokensPerSecond)),
      loss: lossOf(result, ofSeeds.length),
      control: result === control ? null : control.row.name,
      gap: meanOf(gaps),
      standardError: standardErrorOf(gaps),
      utility: zero === undefined || worth <= 0 ? null : (lossOf(zero, common) - lossOf(result, common)) / worth,
      seeds: ofSeeds.length,
    };
  });
}

/** Mean over the first seeds. */
const lossOf = ({ ofSeeds }: RowResults, seeds: number): number =>
  meanOf(ofSeeds.slice(0, seeds).map(({ loss }) => loss));

export function tableOf(rows: readonly ExperimentRow[]): string[] {
  const heading = [
    ...["", "bytes forward", "back", "merge bytes/parameter", "tokens/s, virtual"],
    ...["loss", "gap", "standard error", "utility"],
  ];
  const cells = rows.map(({ name, bytesForward, bytesBackward, standardError, utility, ...row }) => [
    ...[name, bytesForward.toFixed(1), bytesBackward.toFixed(1), row.mergeBytesPerParameter.toFixed(4)],
    ...[row.tokensPerSecond.toFixed(0), row.loss.toFixed(3), row.gap.toFixed(3)],
    standardError === null ? "-" : standardError.toFixed(3),
    utility === null ? "-" : utility.toFixed(3),
  ]);
  return [...alignedRows([heading, ...cells]), ...controlLines(rows)];
}

/** Which rows are compared with which, where there is more than one control. */
function controlLines(rows: readonly ExperimentRow[]): string[] {
  const controls = rows.filter(({ control }) => control === null).map(({ name }) => name);
  if (controls.length < 2) return [];
  return controls.flatMap((name) => {
    const compared = rows.filter(({ control }) => control === name).map((row) => row.name);
    return compared.length === 0 ? [] : [`gap to ${name}: ${compared.join("; ")}`];
  });
}
