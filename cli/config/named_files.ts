/**
 * Checks the files that a settings file names, as its command will: training text, certificates and keys.
 *
 * Relative paths start at the current folder; the messages show the full path.
 */

import type { Problem } from "../../core/config/parse.ts";
import type { ConfigFile } from "../options/config_file.ts";
import { readCorpus } from "../data/corpus.ts";
import { UserError } from "../output/errors.ts";
import { hubFileProblems } from "../orchestrate/hub_file_check.ts";
import { corpusOf } from "../options/run_options.ts";
import { readTlsAuthority } from "../roles/tls_files.ts";
import type { FilePurpose } from "./file_kind.ts";

export async function namedFileProblems({ table }: ConfigFile, purpose: FilePurpose): Promise<Problem[]> {
  if (purpose !== "run") {
    const authority = table["tls-ca"];
    if (typeof authority !== "string") return [];
    return await problemOf("tls-ca", () => readTlsAuthority({ name: "tls-ca", text: authority }));
  }
  const corpus = corpusOf(table);
  const ofCorpus = corpus === null ? [] : await problemOf("data.corpus", () => readCorpus(corpus));
  return [...ofCorpus, ...await hubFileProblems(table)];
}

async function problemOf(path: string, attempt: () => Promise<unknown>): Promise<Problem[]> {
  try {
    await attempt();
    return [];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [{ path, text: error.message, origin: "file" }];
  }
}
