/** Where the signed log of a run lies: `ledger.jsonl`, the full files beside it (`.1` the newest), and the newest signed head. */

import { readWholeLines, type WholeLines } from "../output/whole_lines.ts";

const name = "ledger.jsonl";
export const keptLedgerFiles = 15; // full ones, 256 MiB

export const ledgerPath = (folder: string): string => `${folder}/${name}`;

/** Of a log's newest file. */
export function headPath(path: string): string {
  return `${path}.head`;
}

export const ledgerFileNames: readonly string[] = [
  name,
  headPath(name),
  `${headPath(name)}.new`,
  ...Array.from({ length: keptLedgerFiles }, (_, i) => `${name}.${i + 1}`),
];

export interface LedgerFile extends WholeLines {
  readonly path: string;
}

/** The files that exist, oldest first; `newest`: the path of the last. */
export async function readLedgerFiles(newest: string): Promise<LedgerFile[]> {
  const files: LedgerFile[] = [];
  for (let i = keptLedgerFiles; i >= 0; i--) {
    const path = i === 0 ? newest : `${newest}.${i}`;
    const found = await readWholeLines(path);
    if (found !== null) files.push({ path, ...found });
  }
  return files;
}
