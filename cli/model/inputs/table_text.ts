/**
 * Whether the beginning of a text is a table (CSV, TSV, and the same with semicolons or bars).
 *
 * All records have as many fields as the first line, which verse and dialogue may have too.
 * So a table must also have a column of numbers, fields in quotation marks from delimiter to delimiter, or a first line
 * of short names above long entries; and no space follows its delimiters, as in sentences.
 */

const delimiters = [",", ";", "\t", "|"] as const;
type Delimiter = (typeof delimiters)[number];

const sampledRecords = 200;
const fewestRecords = 3; // below the names
const evenShare = 0.95; // of the records: exports have flaws
const numberColumn = /^[-+]?\d[\d.,:/ TZ+-]*%?$/; // numbers, dates and times
const longestName = 40;
const leastEntry = 20; // characters on average
const namesRatio = 4; // entries are longer than their name by this

/** Null: no table. */
export function columnsOf(text: string): number | null {
  for (const delimiter of delimiters) {
    const columns = columnsBy(delimiter, text);
    if (columns !== null) return columns;
  }
  return null;
}

function columnsBy(delimiter: Delimiter, text: string): number | null {
  const [names, ...records] = readRecords(text, delimiter);
  if (names === undefined || records.length < fewestRecords) return null;
  const columns = names.length;
  const even = records.filter(({ length }) => length === columns);
  if (even.length < evenShare * records.length) return null;
  if (columns === 1) return delimiter === "," && isQuotedColumn(names, even) ? 1 : null;
  if (names.some((_, i) => [names, ...even].every((record) => isBlank(record[i]!)))) return null; // one that begins or ends each line
  const isSpaced = delimiter !== "\t" && delimiter !== "|" && isMostlySpaced(even);
  const hasNumbers = names.some((_, i) => isOfNumbers(even.map((record) => record[i]!)));
  const isQuoted = even.filter((record) => record.some(isQuotedField)).length >= even.length / 2;
  const lengths = names.map((_, i) => even.reduce((sum, record) => sum + record[i]!.length, 0) / even.length);
  const longest = lengths.indexOf(Math.max(...lengths));
  const isTable = isSpaced
    ? hasNumbers && isQuoted
    : hasNumbers || isQuoted || isNamed(names, { entry: lengths[longest]!, name: names[longest]! });
  return isTable ? columns : null;
}

/** A name above entries in quotation marks, which are doubled within. Without those it may be dialogue. */
const isQuotedColumn = (names: readonly string[], records: readonly string[][]): boolean =>
  !isQuotedField(names[0]!) && records.every(([field]) => isQuotedField(field!)) &&
  records.some(([field]) => /[^"]""[^"]/.test(field!));

const isBlank = (field: string): boolean => field.trim() === "";
const isQuotedField = (field: string): boolean => /^ *"[^]*"$/.test(field);

function isMostlySpaced(records: readonly string[][]): boolean {
  const after = records.flatMap((record) => record.slice(1)).filter((field) => field !== "");
  return after.filter((field) => field.startsWith(" ")).length > after.length / 2;
}

function isOfNumbers(entries: readonly string[]): boolean {
  const given = entries.filter((entry) => !isBlank(entry)).map((entry) => entry.trim().replace(/^"(.*)"$/, "$1"));
  return given.length >= entries.length / 2 && given.every((entry) => numberColumn.test(entry));
}

const isNamed = (names: readonly string[], { entry, name }: { entry: number; name: string }): boolean =>
  names.every(({ length }) => length <= longestName) && entry >= Math.max(leastEntry, namesRatio * name.length);

/** A field in quotation marks may hold delimiters and line ends. */
function readRecords(text: string, delimiter: Delimiter): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  const mark = delimiter === "|" ? "\\|" : delimiter;
  const quoted = `"[^"]*(?:""[^"]*)*"`;
  const field = new RegExp(
    String.raw`( *${quoted}|(?! *")[^${mark}\r\n]*)(${mark}|\r?\n|$)`,
    "y",
  );
  while (records.length <= sampledRecords && field.lastIndex < text.length) {
    const found = field.exec(text);
    if (found === null) return records; // a quotation mark that nothing closes, or text after one
    fields.push(found[1]!);
    if (found[2] === delimiter) continue;
    const isBlankLine = fields.length === 1 && fields[0] === "";
    if (!isBlankLine) records.push(fields);
    fields = [];
  }
  return records;
}
