/**
 * The files of a run's signed log: `ledger.jsonl`, full files beside it (`.1` the newest), and the newest signed head.
 */

import type { SignedHead } from "./chain_line.ts";
import { readWholeLines, type WholeLines } from "../terminal/text/whole_lines.ts";

const name = "ledger.jsonl";
export const keptLedgerFiles = 15; // 256 MiB

export const ledgerPath = (folder: string): string => `${folder}/${name}`;

export function headPath(path: string): string {
  return `${path}.head`;
}

export async function readHead(path: string): Promise<SignedHead | null> {
  try {
    const parsed = JSON.parse(await Deno.readTextFile(path)) as Partial<SignedHead> | null;
    const { run, signer, line, hash, signature } = parsed ?? {};
    const isHead = [run, signer, hash, signature].every((text) => typeof text === "string") &&
      Number.isSafeInteger(line);
    return isHead ? { run, signer, line, hash, signature } as SignedHead : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

export const ledgerFileNames: readonly string[] = [
  name,
  headPath(name),
  `${headPath(name)}.new`,
  ...Array.from({ length: keptLedgerFiles }, (_, i) => `${name}.${i + 1}`),
];

interface LedgerFile extends WholeLines {
  readonly path: string;
}

/** Oldest first; `newest`: the path of the last. */
export async function readLedgerFiles(newest: string): Promise<LedgerFile[]> {
  const files: LedgerFile[] = [];
  for (let i = keptLedgerFiles; i >= 0; i--) {
    const path = i === 0 ? newest : `${newest}.${i}`;
    const found = await readWholeLines(path);
    if (found !== null) files.push({ path, ...found });
  }
  return files;
}
