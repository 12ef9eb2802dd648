/**
 * A run's TOML file, and the line of every setting, so that a problem reads `run.toml:12: Cannot use …`. Files over 1
 * MiB are rejected unread.
 */

import { parse, TomlError } from "smol-toml";
import type { Problem } from "../../../core/settings/parse.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { cut, printable } from "../text/format.ts";
import { shellWords } from "../../program/shell_words.ts";

export interface ConfigFile {
  readonly path: string;
  readonly table: Readonly<Record<string, unknown>>;
  /** 1-based; the setting's ("train.steps") or its table's; null: neither is there. */
  lineOf(setting: string): number | null;
}

const maxBytes = 2 ** 20;
const longestShown = 80; // characters of a wrong line

/** `makes`: the kind of file for `iota config init`. */
export async function readConfigFile(
  path: string,
  { makes = "run" }: { makes?: string } = {},
): Promise<ConfigFile> {
  const text = await attempting({ action: "read the configuration", value: path }, async () => {
    const { isFile, size } = await statFile(path, makes);
    if (!isFile) {
      throw new UserError(`Cannot read the configuration '${path}': it is not a file`, {
        next: "Pass the path of a TOML file",
      });
    }
    if (size > maxBytes) {
      throw new UserError(
        `Cannot read the configuration '${path}': it has ${size} bytes, more than the limit of ${maxBytes}`,
        {
          next: "Pass the path of a TOML file",
        },
      );
    }
    return await Deno.readTextFile(path);
  });
  return parseConfigFile({ path, text });
}

async function statFile(path: string, makes: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const init = ["iota", "config", "init", ...(makes === "run" ? [] : ["--for", makes]), path];
    throw new UserError(`Cannot read the configuration '${path}': it does not exist`, {
      next: `Check the spelling, or make a new one: ${shellWords(init)}`,
      cause: error,
    });
  }
}

export function parseConfigFile({ path, text }: { path: string; text: string }): ConfigFile {
  const table = parseToml({ path, text });
  const lines = settingLines(text);
  return { path, table, lineOf: (setting) => nearestLine(lines, setting) };
}

function parseToml({ path, text }: { path: string; text: string }): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason] = error.message.replace("Invalid TOML document: ", "").split("\n");
    const source = text.split(/\r?\n/)[error.line - 1] ?? "";
    const shown = cut(printable(source.trim()), longestShown);
    throw new UserError(
      `${path}:${error.line}:${error.column}: Cannot read '${shown}' as TOML: ${why(reason, source)}`,
      {
        next: "Correct that line",
        cause: error,
      },
    );
  }
}

/** For a missing quotation mark, the parser blames the line's end. */
function why(reason: string | undefined, source: string): string {
  const marks = source.replaceAll(/\\./g, "").match(/"/g)?.length ?? 0;
  const isUnclosed = /control characters are not allowed/.test(reason ?? "") && marks % 2 === 1;
  return isUnclosed ? "a quotation mark is missing" : reason ?? "it is not TOML";
}

export function placeProblems({ problems, file }: { problems: readonly Problem[]; file: ConfigFile | null }): string[] {
  const placed = problems.map(({ path, text, origin }) => {
    const line = origin === "file" ? file?.lineOf(path) ?? null : null;
    return { line: line ?? Infinity, text: line === null ? text : `${file?.path}:${line}: ${text}` };
  });
  return placed.sort((a, b) => a.line === b.line ? 0 : a.line - b.line).map(({ text }) => text);
}

function nearestLine(lines: ReadonlyMap<string, number>, setting: string): number | null {
  for (let path = setting; path !== ""; path = path.slice(0, Math.max(path.lastIndexOf("."), 0))) {
    const line = lines.get(path);
    if (line !== undefined) return line;
  }
  return null;
}

const header = /^\s*\[{1,2}\s*([^\]]+?)\s*\]/;
const assignment = /^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=(.*)/;

/** The text has already been parsed, so only lines inside multi-line strings could be mistaken for settings. */
function settingLines(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  let table = "";
  let openQuotes: string | null = null;
  text.split(/\r?\n/).forEach((source, index) => {
    if (openQuotes !== null) {
      if (source.includes(openQuotes)) openQuotes = null;
      return;
    }
    const opened = header.exec(source);
    const assigned = assignment.exec(source);
    if (opened !== null) {
      table = plainPath(opened[1]!);
      record(lines, table, index + 1);
    } else if (assigned !== null) {
      record(lines, table === "" ? plainPath(assigned[1]!) : `${table}.${plainPath(assigned[1]!)}`, index + 1);
    }
    openQuotes = unclosedQuotes(assigned?.[2] ?? source);
  });
  return lines;
}

function record(lines: Map<string, number>, path: string, line: number): void {
  if (!lines.has(path)) lines.set(path, line);
}

function plainPath(path: string): string {
  return path.replaceAll(/["'\s]/g, "");
}

function unclosedQuotes(value: string): string | null {
  for (const quotes of ['"""', "'''"]) {
    const start = value.indexOf(quotes);
    if (start >= 0 && value.indexOf(quotes, start + 3) < 0) return quotes;
  }
  return null;
}
