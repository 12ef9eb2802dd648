/** What a run's folder says about the run before any checkpoint exists. Written before anything else of the run. */

import { createHash } from "node:crypto";
import type { RunConfig } from "../../core/config/config.ts";
import type { StartModel } from "../../core/ledger/entry.ts";
import { parseRunConfig } from "../../core/settings/parse.ts";
import { readIfPresent, realDisk, writeAtomically } from "./disk.ts";

export interface SavedRun {
  readonly runId: string;
  readonly config: RunConfig;
  readonly host: string | null; // where nodes look for a restarted orchestrator
  readonly port: number | null;
  readonly hub: string | null; // the key that signs; null: in files written before it was kept
  readonly tokenizerHash: string | null; // that the run is trained with; null: as above
  readonly from: StartModel | null; // whose parameters it began with; null: random ones
  readonly options: KeptOptions;
}

/** By option name; paths are absolute. */
export type KeptOptions = Readonly<Record<string, string | number>>;

const fileName = "run.json";

export async function writeSavedRun(folder: string, run: SavedRun): Promise<void> {
  const { runId, config, from, ...others } = run;
  const check = checkOf({ runId, config });
  const began = from === null ? {} : { from };
  const text = `${JSON.stringify({ runId, ...others, ...began, check, config }, null, 2)}\n`;
  await writeAtomically(`${folder}/${fileName}`, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
}

export async function readSavedRun(folder: string): Promise<SavedRun | "damaged" | null> {
  const bytes = await readIfPresent(`${folder}/${fileName}`);
  return bytes === null ? null : parseSavedRun(new TextDecoder().decode(bytes)) ?? "damaged";
}

/** A file with one changed digit counts as damaged. */
function checkOf({ runId, config }: { runId: unknown; config: unknown }): string {
  return createHash("sha256").update(JSON.stringify([runId, config])).digest("hex");
}

function parseSavedRun(text: string): SavedRun | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || !("runId" in value) || !("config" in value)) return null;
  const { runId, config } = value;
  if ("check" in value && value.check !== checkOf({ runId, config })) return null;
  const parsed = parseRunConfig(config);
  if (typeof runId !== "string" || !parsed.ok) return null;
  const port = "port" in value && typeof value.port === "number" ? value.port : null;
  const host = "host" in value && typeof value.host === "string" ? value.host : null;
  const hub = "hub" in value && typeof value.hub === "string" ? value.hub : null;
  const tokenizerHash = "tokenizerHash" in value && typeof value.tokenizerHash === "string"
    ? value.tokenizerHash
    : null;
  const options = "options" in value ? parseOptions(value.options) : {};
  const from = "from" in value ? parseStart(value.from) : null;
  return { runId, config: parsed.value, host, port, hub, tokenizerHash, from, options };
}

function parseStart(value: unknown): StartModel | null {
  if (typeof value !== "object" || value === null || !("name" in value) || !("parameters" in value)) return null;
  const { name, parameters } = value;
  return typeof name === "string" && typeof parameters === "string" ? { name, parameters } : null;
}

/** The command-line parser checks the rest. */
function parseOptions(value: unknown): KeptOptions {
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value).filter((entry): entry is [string, string | number] =>
    typeof entry[1] === "string" || typeof entry[1] === "number"
  );
  return Object.fromEntries(entries);
}
