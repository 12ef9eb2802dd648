/**
 * Files of models, checkpoints and datasets that damage or a stranger changed: each is used, or refused in a sentence.
 * None ends in another error, and none takes memory for what it only claims.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openDataset } from "../../../../cli/model/data/dataset.ts";
import { datasetHashOf, filesOf } from "../../../../cli/model/data/dataset_manifest.ts";
import { latestCheckpoint, readStage } from "../../../../cli/model/checkpoint/checkpoint.ts";
import { readProvenance, trainedStages } from "../../../../cli/model/export/provenance.ts";
import { openModel } from "../../../../cli/model/source/open_model.ts";
import { tensorsOf, valuesOf } from "../../../../cli/model/source/model_source.ts";
import { planDataset } from "../../../../cli/model/prepare/plan_dataset.ts";
import { sha256Hex } from "../../../../cli/files/file_entry.ts";
import { UserError } from "../../../../cli/program/errors.ts";
import { parameterTable } from "../../../../core/model/spec.ts";
import { microbatchId } from "../../../../core/ids.ts";
import { writeExported } from "../../../support/exported_models.ts";
import { changedBytes, changedJson, mustEndInSentence } from "../../../support/mutations.ts";
import { withMemoryFolder } from "../../../support/scratch_folder.ts";
import { prngOf } from "../../../support/small_prng.ts";
import { specsOf } from "../../../support/tiny_model.ts";
import { cases } from "../../../support/whole.ts";

const isSentence = (error: unknown) => error instanceof UserError && (error.next ?? "") !== "";

type Change = (content: Uint8Array, pick: (below: number) => number) => Uint8Array;

const asJson: Change = (content, pick) =>
  new TextEncoder().encode(changedJson(new TextDecoder().decode(content), pick));

/** Tries changes of one file; it is whole again afterwards. */
async function changing(
  path: string,
  { count, change, use }: { count: number; change: Change; use: () => Promise<unknown> },
): Promise<void> {
  const whole = await Deno.readFile(path);
  const pick = prngOf(count);
  let used = 0;
  for (let i = 0; i < count; i++) {
    await Deno.writeFile(path, change(whole, pick));
    if (await mustEndInSentence(`${path}, change ${i} of ${count}`, use, isSentence)) used++;
  }
  await Deno.writeFile(path, whole);
  await use();
  assert(used < count, `all changes of ${path} were taken for whole`);
}

/** As tensors in a header of safetensors. */
const asHeader: Change = (content, pick) => {
  const length = Number(new DataView(content.buffer, content.byteOffset).getBigUint64(0, true));
  const text = new TextDecoder().decode(content.subarray(8, 8 + length));
  const header = new TextEncoder().encode(changedJson(text, pick));
  const start = new Uint8Array(8);
  const claimed = pick(6) === 0 ? 2n ** BigInt(pick(64)) : BigInt(header.length);
  new DataView(start.buffer).setBigUint64(0, claimed, true);
  return new Uint8Array([...start, ...header, ...content.subarray(8 + length)]);
};

async function useModel(folder: string): Promise<void> {
  const source = await openModel(folder, () => {});
  assert(tensorsOf(source).length > 0);
  for await (const values of valuesOf(source)) assert(values.length >= 0);
  source.tokenizer.decode(source.tokenizer.encode("some text"));
}

Deno.test("Hostile model folders: config, tokenizer files, tensors and their index", async () => {
  await withMemoryFolder(async (folder) => {
    const { model } = await writeExported(folder, "q5block-side", { shardBytes: 60_000 });
    const use = () => useModel(model);
    await changing(`${model}/config.json`, { count: cases(4000), change: asJson, use });
    for (const name of ["model.safetensors.index.json", "tokenizer_config.json"]) {
      await changing(`${model}/${name}`, { count: cases(800), change: asJson, use });
    }
    await changing(`${model}/tokenizer.json`, { count: cases(800), change: asJson, use });
    const [shard] = Array.from(Deno.readDirSync(model), ({ name }) => name).filter((name) => name.startsWith("model-"));
    await changing(`${model}/${shard}`, { count: cases(2000), change: asHeader, use });
  });
});

Deno.test("Hostile model folders: names that climb, pipes, links, and sizes far beyond the file", async () => {
  await withMemoryFolder(async (folder) => {
    const { model } = await writeExported(folder, "plain", { shardBytes: 60_000 });
    const index = `${model}/model.safetensors.index.json`;
    const whole = JSON.parse(await Deno.readTextFile(index));
    const refused = async (place: string, says: string) => {
      const weight_map = Object.fromEntries(Object.keys(whole.weight_map).map((name) => [name, place]));
      await Deno.writeTextFile(index, JSON.stringify({ ...whole, weight_map }));
      const error = await assertRejects(() => useModel(model), UserError);
      assert(error.message.includes(says), error.message);
    };
    for (const place of ["../secret", "/etc/passwd", "a/b", ".hidden", "", "C:\\x", "..", "a\n"]) {
      await refused(place, "must be a plain file name");
    }
    await refused("absent.safetensors", "it is missing");
    await new Deno.Command("mkfifo", { args: [`${model}/pipe`] }).output();
    await refused("pipe", "it is missing, or not a file");
    await Deno.symlink("/dev/zero", `${model}/zeros`);
    await refused("zeros", "it is missing, or not a file");
    const huge = await Deno.create(`${model}/huge`);
    await huge.truncate(2 ** 40); // a hole
    huge.close();
    await refused("huge", "its header is damaged");
    await Deno.rename(`${model}/huge`, `${model}/config.json`);
    const error = await assertRejects(() => useModel(model), UserError);
    assert(error.message.includes("bytes, of at most"), error.message);
  });
});

Deno.test("Hostile model folders: a header of very many mistakes is refused with one, shortly", async () => {
  await withMemoryFolder(async (folder) => {
    const { model } = await writeExported(folder, "plain");
    const text = `{${Array.from({ length: 300_000 }, (_, i) => `"${i}":"${"y".repeat(20)}"`).join()},"z":{}}`;
    const start = new Uint8Array(8);
    new DataView(start.buffer).setBigUint64(0, BigInt(text.length), true);
    await Deno.writeFile(`${model}/model.safetensors`, start);
    await Deno.writeTextFile(`${model}/model.safetensors`, text, { append: true });
    const error = await assertRejects(() => useModel(model), UserError);
    assert(error.message.length < 500, error.message.slice(0, 500));
  });
});

Deno.test("Hostile checkpoints: manifest and tensors; a config of a huge model takes no memory", async () => {
  await withMemoryFolder(async (folder) => {
    const { run } = await writeExported(folder, "iota");
    const place = `${run}/checkpoints/round-000001`;
    await changing(`${place}/manifest.json`, { count: cases(1500), change: asJson, use: () => useModel(place) });
    await changing(`${place}/stage-0.safetensors`, { count: cases(500), change: asHeader, use: () => useModel(place) });
    await changing(`${place}/stage-0.safetensors`, {
      ...{ count: cases(500), change: changedBytes },
      use: async () =>
        assert(
          await latestCheckpoint(`${run}/checkpoints`, () => {}) !== null || (() => {
            throw new UserError("none", { next: "-" });
          })(),
        ),
    });
    const manifest = JSON.parse(await Deno.readTextFile(`${place}/manifest.json`));
    Object.assign(manifest.config.model, { width: 65_536, ffnWidth: 2 ** 20, heads: 64, kvHeads: 64 });
    const [spec] = specsOf(manifest.config);
    await assertRejects(() => readStage({ folder: place, stage: 0, table: parameterTable(spec!) }), UserError);
  });
});

Deno.test("Hostile provenance: what it claims of a model's stages is checked before it is used", async () => {
  await withMemoryFolder(async (folder) => {
    const provenance = { run: "toy", round: 1, step: 2, type: "f32", log: null } as const;
    const { model } = await writeExported(folder, "plain", {
      provenance: { ...provenance, layersOfStages: [1, 1, 1] },
    });
    const source = await openModel(model, () => {});
    await changing(`${model}/provenance.json`, {
      ...{ count: cases(5000), change: asJson },
      use: async () => {
        for (const spec of trainedStages(source, await readProvenance(model)) ?? []) await source.readStage(spec);
      },
    });
  });
});

async function useDataset(folder: string): Promise<void> {
  const dataset = await openDataset(folder);
  try {
    const batches = dataset.batches({ seed: 1, sequences: 2, contextLength: 16 });
    for (let i = 0; i < 3; i++) batches.tokensOf(microbatchId(i));
    batches.heldOut(1);
  } finally {
    dataset.close();
  }
}

Deno.test("Hostile datasets: manifest, counts that its files do not hold, tokens beyond the vocabulary", async () => {
  await withMemoryFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/text`, Array.from({ length: 300 }, (_, i) => `line ${i * i}\n\n`).join(""));
    const out = `${folder}/out`;
    const plan = await planDataset({
      ...{ folder: out, corpus: `${folder}/text`, vocabSize: 320, heldOutFraction: 0.2, maxBytes: 0, seed: 1 },
    });
    (await plan.write()).close();
    const use = () => useDataset(out);
    const path = `${out}/dataset.json`;
    await changing(path, { count: cases(4000), change: asJson, use });
    const rehashed: Change = (content, pick) => {
      const changed = asJson(content, pick);
      try {
        const manifest = JSON.parse(new TextDecoder().decode(changed));
        return new TextEncoder().encode(JSON.stringify({ ...manifest, hash: datasetHashOf(filesOf(manifest)) }));
      } catch {
        return changed;
      }
    };
    await changing(path, { count: cases(4000), change: rehashed, use });
    await changing(`${out}/tokenizer.json`, { count: cases(500), change: asJson, use });
    await changing(`${out}/train-000.bin`, { count: cases(500), change: changedBytes, use });
    const tokens = new Uint16Array((await Deno.readFile(`${out}/train-000.bin`)).buffer).fill(60_000);
    await Deno.writeFile(`${out}/train-000.bin`, new Uint8Array(tokens.buffer));
    const manifest = JSON.parse(await Deno.readTextFile(path));
    manifest.train.files[0].sha256 = sha256Hex(new Uint8Array(tokens.buffer));
    await Deno.writeTextFile(path, JSON.stringify({ ...manifest, hash: datasetHashOf(filesOf(manifest)) }));
    const error = await assertRejects(use, UserError);
    assertEquals(
      error.message.replace(/token \d+ is/, "token N is"),
      "The dataset's token N is 60000, and its tokenizer has 320",
    );
  });
});
