/** Where the signed log of a run lies: `ledger.jsonl`, the full files beside it (`.1` the newest), and the newest signed head. */

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

export interface LedgerFile {
  readonly path: string;
  readonly lines: readonly string[]; // whole ones
  readonly tornBytes: number; // after the last line's end: a process was killed while it wrote
}

/** The files that exist, oldest first; `path`: of the newest. */
export async function readLedgerFiles(path: string): Promise<LedgerFile[]> {
  const files: LedgerFile[] = [];
  for (let i = keptLedgerFiles; i >= 0; i--) {
    const file = await readLedgerFile(i === 0 ? path : `${path}.${i}`);
    if (file !== null) files.push(file);
  }
  return files;
}

/** Null if there is no such file. */
export async function readLedgerFile(path: string): Promise<LedgerFile | null> {
  try {
    const bytes = await Deno.readFile(path);
    const whole = bytes.lastIndexOf(lineEnd) + 1;
    const text = new TextDecoder().decode(bytes.subarray(0, Math.max(0, whole - 1)));
    return { path, lines: whole === 0 ? [] : text.split("\n"), tornBytes: bytes.length - whole };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

const lineEnd = 10;
