/**
 * Checks the files that a settings file names, as its command will. A wallet may still be created, so a missing one is
 * a note.
 */

import { dirname, resolve } from "node:path";
import type { Problem } from "../../../core/settings/parse.ts";
import type { ConfigFile } from "../../terminal/options/config_file.ts";
import { mustBeCorpus } from "../../model/prepare/collect_small.ts";
import { type CommandContext, commonOptions } from "../../terminal/command.ts";
import { isPathOption } from "../../terminal/options/args.ts";
import { nodeOptions } from "../../terminal/options/node_options.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { hubFileProblems, hubTexts } from "../../orchestrator/run/hub_file_check.ts";
import { mustHaveText } from "../../orchestrator/run/prepare_run.ts";
import { corpusOf, expandCorpus } from "../../terminal/options/run_options.ts";
import { resolveRunFile } from "../../terminal/options/run_file.ts";
import { openHotkeyOf } from "../../terminal/options/wallet_options.ts";
import { dataFolder, type Environment, expandHome } from "../../program/paths.ts";
import { logOptions } from "../../terminal/options/service_options.ts";
import { readTlsAuthority } from "../../files/tls_files.ts";
import type { FilePurpose } from "../../terminal/options/file_kind.ts";

export async function namedFileProblems(
  { table }: ConfigFile,
  { purpose, context }: { purpose: FilePurpose; context: CommandContext },
): Promise<Problem[]> {
  const { environment } = context;
  const texts = textsOf(table, { purpose, environment });
  const ofLog = await logProblem(texts.get("log-file"), { table, purpose, environment });
  if (purpose !== "run") {
    const authority = texts.get("tls-ca");
    if (authority === undefined) return ofLog;
    return [...ofLog, ...await problemOf("tls-ca", () => readTlsAuthority({ name: "tls-ca", text: authority }))];
  }
  return [...await textProblems(table, environment), ...await hubFileProblems(table, context), ...ofLog];
}

/** Checks the text as a start does, or only that it can be read while settings are invalid. */
async function textProblems(table: ConfigFile["table"], environment: Environment): Promise<Problem[]> {
  const file = expandCorpus(table, environment);
  const corpus = corpusOf(file);
  const resolved = resolveRunFile({ table: file });
  const folder = { path: noFolder, isResumed: false };
  if (resolved.ok) return await problemOf("data.corpus", () => mustHaveText({ folder, ...resolved }));
  return corpus === null ? [] : await problemOf("data.corpus", () => mustBeCorpus(corpus));
}

const noFolder = "/nonexistent"; // a new run has no stored text

/** What a start still needs although the file is valid; null: nothing. */
export async function walletNote(
  { table }: ConfigFile,
  { purpose, context }: { purpose: FilePurpose; context: CommandContext },
): Promise<string | null> {
  const { environment } = context;
  const texts = textsOf(table, { purpose, environment });
  const wallet = texts.get("wallet");
  if (wallet === undefined) return null;
  const options: CommandContext["options"] = {
    text: (name) => texts.get(name),
    number: () => undefined,
    flag: () => false,
    given: (name) => texts.has(name),
  };
  try {
    await openHotkeyOf({ ...context, options }, wallet);
    return null;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return `${error.message}${error.next === undefined ? "" : `. ${error.next}`}`;
  }
}

type Place = { readonly purpose: FilePurpose; readonly environment: Environment };

function textsOf(table: ConfigFile["table"], { purpose, environment }: Place): ReadonlyMap<string, string> {
  if (purpose === "run") return hubTexts(table, environment);
  const set = Object.entries(table).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return new Map(
    set.map(([name, text]) => [name, nodePaths.has(name) ? expandHome(text, environment) : text]),
  );
}

const nodePaths = new Set(
  [...nodeOptions, ...logOptions, ...commonOptions].filter(isPathOption).map(({ name }) => name),
);

async function logProblem(
  log: string | undefined,
  { table, purpose, environment }: Place & { table: ConfigFile["table"] },
): Promise<Problem[]> {
  if (log === undefined) return [];
  const path = resolve(log);
  const data = textsOf(table, { purpose, environment }).get("data");
  if (path.startsWith(`${resolve(dataFolder(environment, data))}/`)) return [];
  return await problemOf(
    purpose === "run" ? "hub.logFile" : "log-file",
    () => attempting({ action: "open the log", value: path, creates: true }, () => Deno.stat(dirname(path))),
  );
}

async function problemOf(path: string, attempt: () => Promise<unknown>): Promise<Problem[]> {
  try {
    await attempt();
    return [];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [{
      path,
      text: error.next === undefined ? error.message : `${error.message}. ${error.next}`,
      origin: "file",
    }];
  }
}
