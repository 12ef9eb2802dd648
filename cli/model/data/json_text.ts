/** Whether the beginning of a text is JSON, or values of it line by line, and how jq takes the texts out. */

export interface JsonText {
  readonly isLines: boolean;
  readonly kind: "records with fields" | "lists" | "strings in quotation marks";
  readonly texts: string;
}

type JsonFinding =
  | { readonly type: "json"; readonly json: JsonText }
  /** `what` it does that JSON does, as other texts may. */
  | { readonly type: "unclear"; readonly what: string }
  | null;

const firstChars = 1_000_000;
const mostTokens = 20_000;
const fewestRecords = 5; // no prose begins with so many, whatever stands below them
const fewestToMention = 3;
const fewestStrings = 20; // so many lines wholly in quotation marks are data, even a conversation

export function findJson(text: string): JsonFinding {
  const start = text.slice(0, firstChars).replace(/^(?:\s*(?:#|\/\/).*\n)+/, "").trim();
  if (!/^[[{"]/.test(start)) return null;
  const read = readValues(start);
  const isOfStrings = read.values > 0 && read.values === read.topStrings;
  if (!read.isWhole && (read.fields.size === 0 || read.values < fewestRecords)) {
    return read.fields.size > 0 && read.values > 0 ? { type: "unclear", what: "it begins as JSON does" } : null;
  }
  const lines = start.split("\n", fewestStrings);
  const first = lines[0] ?? "";
  const isLines = isValue(first) && (read.values > 1 || first.startsWith("{"));
  if (isOfStrings) {
    if (read.values < fewestToMention || !lines.every(isValue)) return null;
    if (read.values < fewestStrings) return { type: "unclear", what: "each line is in quotation marks, as in JSON" };
    return { type: "json", json: { isLines: true, kind: "strings in quotation marks", texts: "." } };
  }
  const texts = textsOf(read, { isLines, line: first });
  return texts === null ? null : { type: "json", json: { isLines, ...texts } };
}

interface Read {
  isWhole: boolean; // to the end, or as far as it was read
  values: number; // whole ones that no other holds
  topStrings: number;
  strings: number;
  hasFields: boolean;
  readonly fields: Map<string, number>; // characters of text by field
}

const token =
  /\s*(?:("[^"\\]*(?:\\[^][^"\\]*)*")|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|true\b|false\b|null\b|NaN\b|-?Infinity\b)|([[\]{},:]))/y;

function readValues(text: string): Read {
  const read: Read = { isWhole: false, values: 0, topStrings: 0, strings: 0, hasFields: false, fields: new Map() };
  let depth = 0, before = "", field: string | null = null, string = "";
  token.lastIndex = 0;
  for (let i = 0; i < mostTokens; i++) {
    const at = token.lastIndex;
    const found = token.exec(text);
    if (found === null) {
      const rest = text.slice(at).trimStart();
      const isCut = depth > 0 && i > 3 && (rest.startsWith('"') || text.length > 0.99 * firstChars && rest.length < 30);
      read.isWhole = rest === "" || isCut;
      return read;
    }
    const [, quoted, , mark = "value"] = found;
    if (!mayFollow(mark, { before, depth })) return read;
    if (mark === "[" || mark === "{") depth += 1;
    if (mark === "]" || mark === "}") depth -= 1;
    if (mark === ":") {
      field = string;
      read.hasFields = true;
    } else if (quoted !== undefined) {
      string = quoted.slice(1, -1);
      read.strings += 1;
      if (field !== null) read.fields.set(field, (read.fields.get(field) ?? 0) + string.length);
      if (depth === 0) read.topStrings += 1;
    }
    if (mark !== ":") field = null;
    if (depth === 0 && mark !== "," && mark !== ":") read.values += 1;
    before = mark;
  }
  return { ...read, isWhole: true };
}

function mayFollow(mark: string, { before, depth }: { before: string; depth: number }): boolean {
  const isAfterValue = before === "value" || before === "]" || before === "}";
  if (mark === "," || mark === ":") return isAfterValue && depth > 0;
  if (mark === "]" || mark === "}") return depth > 0 && before !== "," && before !== ":";
  return !isAfterValue || depth === 0;
}

function isValue(line: string): boolean {
  return parsed(line) !== undefined;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function textsOf(
  { strings, hasFields, fields }: Read,
  { isLines, line }: { isLines: boolean; line: string },
): Pick<JsonText, "kind" | "texts"> | null {
  const [longest] = [...fields].toSorted(([, a], [, b]) => b - a);
  if (longest !== undefined) {
    const texts = `.${fieldOf(longest[0])} // empty | tostring`;
    return { kind: "records with fields", texts: isLines ? texts : `.. | objects | ${texts}` };
  }
  if (strings === 0) return null;
  const first = parsed(line);
  const kind = hasFields ? "records with fields" : "lists";
  if (!isLines || !Array.isArray(first)) return { kind, texts: ".. | strings" };
  const lengths = first.map((each) => typeof each === "string" ? each.length : 0);
  return { kind, texts: `.[${lengths.indexOf(Math.max(...lengths))}] // empty | tostring` };
}

const fieldOf = (name: string): string => /^[A-Za-z_]\w*$/.test(name) ? name : `["${name}"]`;
