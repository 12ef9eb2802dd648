/** Writes a plain Llama as one GGUF file. */

import { beyondLlama } from "../../../core/model/plain.ts";
import { type Disk, isFile, realDisk, writeAtomically } from "../../files/disk.ts";
import { UserError } from "../../program/errors.ts";
import { type ModelSource, tensorsOf, valuesOf } from "../source/model_source.ts";
import type { ExportedModel } from "./export_model.ts";
import { bytesOf } from "../tensors/safetensors.ts";
import { ggufTokens } from "./gguf_tokenizer.ts";
import { ggufHead, ggufPadding, ggufTensor, ropeDivisors } from "./gguf.ts";

interface GgufRequest {
  readonly out: string; // folder
  readonly name: string;
  readonly disk?: Disk;
  readonly onTensor?: (done: number, total: number) => void;
}

export async function exportGguf(source: ModelSource, request: GgufRequest): Promise<ExportedModel> {
  const { out, name, disk = realDisk, onTensor = () => {} } = request;
  const { plan: { model } } = source;
  const beyond = beyondLlama(source.plan);
  if (beyond !== null) {
    throw new UserError(`GGUF holds plain Llamas only, and this model has ${beyond}`, {
      next: "Export it for transformers, without --gguf; or train with codec none and without side embeddings",
    });
  }
  const tokens = ggufTokens({ ...source, vocabSize: model.vocabSize });
  const path = `${out}/model.gguf`;
  if (await isFile(path)) {
    throw new UserError(`'${path}' is there already`, { next: "Pass another folder with --out, or remove that file" });
  }
  await disk.createFolder(out);
  const tensors = tensorsOf(source);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield ggufHead({ name, model, tokens, tensors });
    let done = 0;
    for await (const values of valuesOf(source)) {
      yield ggufTensor(tensors[done]!, values, model);
      yield new Uint8Array(ggufPadding(values.byteLength));
      onTensor(done += 1, tensors.length);
    }
    const divisors = ropeDivisors(model);
    if (divisors === null) return;
    yield bytesOf(divisors);
    yield new Uint8Array(ggufPadding(divisors.byteLength));
  }
  await writeAtomically(path, { disk, chunks: chunks() });
  const parameters = tensors.reduce((sum, { size }) => sum + size, 0);
  return { parameters, bytes: 4 * parameters, shards: 1 };
}
