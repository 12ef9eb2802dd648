/**
 * Whether a text is made of records, and which of their fields holds the most text.
 *
 * Only the beginning is read. JSON: its first line, or its first object, is one with named fields. CSV and TSV: the first records
 * have the same number of fields, after a first one of short names. Prose is neither: 5 lines of it with as many commas each, below a line
 * of short pieces, would have to be verse.
 */

export interface JsonField {
  readonly field: string; // as jq writes it
  readonly isLines: boolean;
}

const firstChars = 1_000_000;

export function jsonField(text: string): JsonField | null {
  const start = text.slice(0, firstChars).trimStart();
  if (!/^(\[\s*)?\{\s*"(?:[^"\\]|\\.)*"\s*:/.test(start)) return null;
  const line = start.split("\n", 1)[0]!;
  const record = parsed(line);
  const isLines = isObject(record);
  return { field: longestField(isLines ? record : {}), isLines };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // one object over several lines, or cut
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function longestField(record: Record<string, unknown>): string {
  const texts = Object.entries(record).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const [name = "text"] = texts.toSorted((a, b) => b[1].length - a[1].length)[0] ?? [];
  return /^[A-Za-z_]\w*$/.test(name) ? name : `[${JSON.stringify(name)}]`;
}

export interface CsvColumn {
  readonly index: number; // from 0
  readonly columns: number;
  readonly delimiter: "," | "\t";
}

const sampledRecords = 20;
const fewestRecords = 5; // below the names
const longestName = 40;

export function csvColumn(text: string): CsvColumn | null {
  for (const delimiter of [",", "\t"] as const) {
    const [names = [], ...records] = readRecords(text.slice(0, firstChars), delimiter);
    const isTable = names.length > 1 && records.length >= fewestRecords &&
      names.every((name) => name.length > 0 && name.length <= longestName && !/[.!?;]\s*$/.test(name)) &&
      records.every(({ length }) => length === names.length);
    if (!isTable) continue;
    const lengths = names.map((_, i) => records.reduce((sum, record) => sum + record[i]!.length, 0));
    return { index: lengths.indexOf(Math.max(...lengths)), columns: names.length, delimiter };
  }
  return null;
}

/** The first records. A field in quotation marks may hold delimiters and line ends. */
function readRecords(text: string, delimiter: string): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  const field = new RegExp(String.raw`("(?:[^"]|"")*"|[^"${delimiter}\n][^${delimiter}\n]*|)(${delimiter}|\n|$)`, "y");
  while (records.length <= sampledRecords && field.lastIndex < text.length) {
    const found = field.exec(text);
    if (found === null) return records; // a quotation mark that nothing closes
    fields.push(found[1]!);
    if (found[2] === delimiter) continue;
    records.push(fields);
    fields = [];
  }
  return records;
}
