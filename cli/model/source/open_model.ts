/**
 * Opens a model: a run's newest checkpoint, a named checkpoint, a folder that `iota export` wrote, or a Hugging Face
 * Llama.
 */

import { basename, dirname } from "node:path";
import { isFile, isFolder } from "../../files/disk.ts";
import { UserError } from "../../program/errors.ts";
import { shellWord } from "../../program/shell_words.ts";
import { configName } from "./llama_config.ts";
import { openLlamaFolder } from "./llama_folder.ts";
import type { ModelSource } from "./model_source.ts";
import { openRunModel } from "./run_model.ts";

export async function openModel(path: string, warn: (text: string) => void): Promise<ModelSource> {
  if (await isFile(`${path}/${configName}`)) return await openLlamaFolder(path);
  const found = await openRunModel(path, warn);
  if (found !== null) return found;
  throw new UserError(`There is no model in '${path}': it holds neither a complete checkpoint nor a ${configName}`, {
    next: await nextOf(path),
  });
}

async function nextOf(path: string): Promise<string> {
  if (basename(path) === "checkpoints") {
    return `Name the run's own folder: --run ${shellWord(dirname(path))}`;
  }
  if (await isFile(path)) return "That is a file: name the folder of a run, a checkpoint or another model";
  return await isFolder(path)
    ? `Train one there: iota swarm --data ${shellWord(path)}`
    : `Name the folder of a run, a checkpoint, an export or a Hugging Face Llama, or train one: iota swarm --data ${
      shellWord(path)
    }`;
}
