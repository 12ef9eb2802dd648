/**
 * Whether a text is a table (CSV, TSV, and the same with semicolons or bars), and which column holds the most text.
 *
 * Only the beginning is read. All records have as many fields as the first line, which verse and dialogue may have too.
 * So a table must also have a column of numbers, fields in quotation marks from delimiter to delimiter, or a first line
 * of short names above long entries; and no space follows its delimiters, as in sentences.
 */

const delimiters = [",", ";", "\t", "|"] as const;
type Delimiter = (typeof delimiters)[number];

export interface Table {
  readonly columns: number;
  readonly delimiter: Delimiter;
  readonly index: number; // of the column with the most text
  readonly hasNames: boolean;
  readonly isSpaced: boolean;
}

type TableFinding =
  | { readonly type: "table"; readonly table: Table }
  | { readonly type: "unclear"; readonly delimiter: Delimiter; readonly records: number; readonly columns: number }
  | null;

const firstChars = 1_000_000;
const sampledRecords = 200;
const fewestRecords = 3; // below the names
const fewestToMention = 10; // so many lines of verse have the same number of commas by intent
const evenShare = 0.95; // of the records: exports have flaws
const numberColumn = /^[-+]?\d[\d.,:/ TZ+-]*%?$/; // numbers, dates and times
const longestName = 40;
const leastEntry = 20; // characters on average
const namesRatio = 4; // entries are longer than their name by this

export function findTable(text: string): TableFinding {
  const found = delimiters.map((delimiter) => tableBy(delimiter, text.slice(0, firstChars)));
  return found.find((each) => each?.type === "table") ?? found.find((each) => each !== null) ?? null;
}

function tableBy(delimiter: Delimiter, text: string): TableFinding {
  const [names, ...records] = readRecords(text, delimiter);
  if (names === undefined || records.length < fewestRecords) return null;
  const columns = names.length;
  const even = records.filter(({ length }) => length === columns);
  if (even.length < evenShare * records.length) return null;
  if (columns === 1) return delimiter === "," && isQuotedColumn(names, even) ? oneColumn : null;
  if (names.some((_, i) => [names, ...even].every((record) => isBlank(record[i]!)))) return null; // one that begins or ends each line
  const isSpaced = delimiter !== "\t" && delimiter !== "|" && isMostlySpaced(even);
  const numbers = names.map((_, i) => isOfNumbers(even.map((record) => record[i]!)));
  const isQuoted = even.filter((record) => record.some(isQuotedField)).length >= even.length / 2;
  const hasNumbers = numbers.includes(true);
  const lengths = names.map((_, i) => even.reduce((sum, record) => sum + record[i]!.length, 0) / even.length);
  const index = lengths.indexOf(Math.max(...lengths));
  const isTable = isSpaced
    ? hasNumbers && isQuoted
    : hasNumbers || isQuoted || isNamed(names, { entry: lengths[index]!, name: names[index]! });
  if (isTable) {
    const hasNames = !names.some((name, i) => numbers[i] && numberColumn.test(name.trim()));
    return { type: "table", table: { columns, delimiter, index, hasNames, isSpaced } };
  }
  return even.length < fewestToMention ? null : { type: "unclear", delimiter, records: even.length, columns };
}

const oneColumn: TableFinding = {
  type: "table",
  table: { columns: 1, delimiter: ",", index: 0, hasNames: true, isSpaced: false },
};

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
