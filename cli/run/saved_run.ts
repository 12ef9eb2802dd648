/**
 * What a run's folder says about the run before any checkpoint exists: its id, configuration and port.
 *
 * Written whole or not at all. A file that is missing or torn is as good as none: the checkpoint knows the rest.
 */

import type { RunConfig } from "../../core/config/config.ts";
import { parseRunConfig } from "../../core/config/parse.ts";
import { readIfPresent, realDisk, writeAtomically } from "../data/disk.ts";

export interface SavedRun {
  readonly runId: string;
  readonly config: RunConfig;
  readonly port: number | null; // nodes look for a restarted orchestrator where it was
}

const fileName = "run.json";

export async function writeSavedRun(folder: string, run: SavedRun): Promise<void> {
  const text = `${JSON.stringify(run, null, 2)}\n`;
  await writeAtomically(`${folder}/${fileName}`, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
}

export async function readSavedRun(folder: string): Promise<SavedRun | null> {
  const bytes = await readIfPresent(`${folder}/${fileName}`);
  return bytes === null ? null : parseSavedRun(new TextDecoder().decode(bytes));
}

function parseSavedRun(text: string): SavedRun | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // torn or foreign
  }
  if (typeof value !== "object" || value === null || !("runId" in value) || !("config" in value)) return null;
  const { runId, config } = value;
  const parsed = parseRunConfig(config);
  if (typeof runId !== "string" || !parsed.ok) return null;
  const port = "port" in value && typeof value.port === "number" ? value.port : null;
  return { runId, config: parsed.value, port };
}
