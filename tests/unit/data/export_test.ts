/** Exports against Hugging Face transformers, both ways: golden logits (tests/vectors/export/make_logits.py). */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { sha256Hex } from "../../../cli/files/file_entry.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import { type ModelSource, stagesOf } from "../../../cli/model/source/model_source.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import type { StageInput } from "../../../gpu/compute.ts";
import { ropeScalingOf } from "../../../core/model/rope.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { type ExportedKind, exportedKinds, writeExported } from "../../support/exported_models.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { exportGguf } from "../../../cli/model/export/export_gguf.ts";
import { exportModel } from "../../../cli/model/export/export_model.ts";
import { generateText } from "../../../cli/model/generate/generate_text.ts";
import { TextModel } from "../../../cli/model/generate/text_model.ts";
import { processor } from "../../lab/world/devices.ts";
import ofLlamaCpp from "../../vectors/export/greedy.json" with { type: "json" };
import golden from "../../vectors/export/logits.json" with { type: "json" };

const mostError = 1e-4; // of the largest logit

async function lastLogits(source: ModelSource, tokens: readonly number[]): Promise<Float32Array> {
  const contextLength = 16;
  const padded = Uint32Array.from({ length: contextLength }, (_, i) => tokens[i] ?? 0);
  let input: StageInput = { type: "tokens", tokens: padded };
  let logits = new Float32Array();
  for (const spec of stagesOf(source, { sequences: 1, contextLength })) {
    const stage = await createCpuStage(spec, { optimizer: null });
    await stage.loadParameters(await source.readStage(spec));
    if (spec.wireOut === null) logits = new Float32Array(await stage.logitsAt(input, tokens.length - 1));
    else input = { type: "wire", wire: await stage.forward(input) };
    stage.close();
  }
  return logits;
}

function assertClose(found: Float32Array, expected: readonly number[]): void {
  assertEquals(found.length, expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  const error = Math.max(...expected.map((value, i) => Math.abs(value - found[i]!))) / largest;
  assert(error <= mostError, `the largest difference is ${error} of the largest logit`);
}

for (const kind of Object.keys(exportedKinds) as ExportedKind[]) {
  Deno.test(`Export: transformers and we compute the same logits from it (${kind})`, async () => {
    await withScratchFolder(async (folder) => {
      const { model } = await writeExported(folder, kind);
      const { hashes, logits } = golden.kinds[kind];
      for (const [name, hash] of Object.entries(hashes)) {
        assertEquals(sha256Hex(await Deno.readFile(`${model}/${name}`)), hash, `${name}: make the vectors again`);
      }
      assertClose(await lastLogits(await openModel(model, () => {}), golden.tokens), logits);
    });
  });
}

Deno.test("Import: a Llama that transformers wrote in shards of bfloat16 gives its logits", async () => {
  const source = await openModel("tests/vectors/export/llama", () => {});
  assertEquals(source.plan.model.ropeBase, 50_000);
  assertClose(await lastLogits(source, golden.tokens), golden.kinds.llama.logits);
});

Deno.test("Import: scaled rotary angles and a tied head as in Llama 3.2 give transformers' logits, and export keeps them", async () => {
  await withScratchFolder(async (folder) => {
    const source = await openModel("tests/vectors/export/llama-rope", () => {});
    assertEquals(ropeScalingOf(source.plan.model), { factor: 8, low: 1, high: 4, originalContext: 16 });
    assertClose(await lastLogits(source, golden.tokens), golden.kinds["llama-rope"].logits);
    await exportModel(source, { out: folder, type: "f32", shardBytes: 1e9, card: "" });
    const again = await openModel(folder, () => {});
    assertEquals(again.plan, source.plan);
    const [spec] = stagesOf(source, { sequences: 1, contextLength: 16 });
    assertEquals(await again.readStage(spec!), await source.readStage(spec!));
  });
});

Deno.test("Import: rope scaling that is not Llama 3's is refused by its type, and numbers that contradict each other", async () => {
  await withScratchFolder(async (folder) => {
    const config = JSON.parse(await Deno.readTextFile("tests/vectors/export/llama-rope/config.json"));
    const refusal = async (change: Record<string, unknown>, message: string) => {
      const rope_scaling = { ...config.rope_scaling, ...change };
      await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify({ ...config, rope_scaling }));
      await assertRejects(() => openModel(folder, () => {}), UserError, message);
    };
    await refusal({ rope_type: "yarn" }, "rope scaling of type 'yarn' is not computed by this program");
    await refusal({ high_freq_factor: 1 }, "high_freq_factor (1) must be larger than low_freq_factor (1)");
    await refusal({ factor: 0.5 }, "rope_scaling.factor: ");
  });
});

Deno.test("Export: shards hold every tensor once, and are read back to the same parameters", async () => {
  await withScratchFolder(async (folder) => {
    const { run, model } = await writeExported(folder, "q5block-side", { shardBytes: 60_000 });
    const names = [...Deno.readDirSync(model)].map(({ name }) => name).filter((name) => name.endsWith(".safetensors"));
    assert(names.length > 3 && names.every((name) => /^model-\d{5}-of-\d{5}\.safetensors$/.test(name)), names.join());
    const [ours, theirs] = [await openModel(run, () => {}), await openModel(model, () => {})];
    assertEquals(theirs.layersOfStages, ours.layersOfStages);
    for (const spec of stagesOf(ours, { sequences: 1, contextLength: 16 })) {
      assertEquals(await theirs.readStage(spec), await ours.readStage(spec));
    }
  });
});

Deno.test("Export: bfloat16 rounds each value, and halves the bytes", async () => {
  await withScratchFolder(async (folder) => {
    const { run, model } = await writeExported(folder, "plain", { type: "bf16" });
    const [ours, theirs] = [await openModel(run, () => {}), await openModel(model, () => {})];
    const [whole] = stagesOf(theirs, { sequences: 1, contextLength: 16 });
    const [first] = stagesOf(ours, { sequences: 1, contextLength: 16 });
    const exact = await ours.readStage(first!);
    const rounded = await theirs.readStage(whole!);
    const { size } = parameterTable(first!).tensors[0]!; // the embedding is first in both
    const errors = Array.from(exact.subarray(0, size), (value, i) => Math.abs(value - rounded[i]!) / Math.abs(value));
    assert(Math.max(...errors) <= 2 ** -8 && Math.max(...errors) > 2 ** -11);
  });
});

Deno.test("Export: a folder that holds a model is left alone", async () => {
  await withScratchFolder(async (folder) => {
    await writeExported(folder, "plain");
    await assertRejects(() => writeExported(folder, "plain"), UserError, "already holds a model");
  });
});

for (const [name, { sha256, greedy }] of Object.entries(ofLlamaCpp.models)) {
  Deno.test(`GGUF: llama.cpp and we continue prompts with the same tokens (${name})`, async () => {
    await withScratchFolder(async (folder) => {
      const source = await openModel(`tests/vectors/export/${name}`, () => {});
      await exportGguf(source, { out: folder, name });
      const bytes = await Deno.readFile(`${folder}/model.gguf`);
      assertEquals(sha256Hex(bytes), sha256, "make greedy.json again");
      const model = await TextModel.open(processor, source, { room: { streams: 1, rows: 4, length: 32 } });
      for (const [prompt, tokens] of Object.entries(greedy)) {
        const made: number[] = [];
        const sampling = { temperature: 0, topK: 0, seed: 1, tokens: 10 };
        await generateText({ ...sampling, model, prompt, onToken: (token) => made.push(token) });
        assertEquals(made, tokens, prompt);
      }
    });
  });
}

Deno.test("GGUF: a model that is not a plain Llama is refused with what it has besides", async () => {
  await withScratchFolder(async (folder) => {
    const { model } = await writeExported(folder, "q5block-side");
    const source = await openModel(model, () => {});
    const message = "this model has compressed boundaries between its stages (q5block) and token side embeddings";
    await assertRejects(() => exportGguf(source, { out: folder, name: "x" }), UserError, message);
  });
});

Deno.test("Import: a config.json that claims more than the file holds is refused before there is memory for it", async () => {
  await withScratchFolder(async (folder) => {
    const { model } = await writeExported(folder, "plain");
    const config = JSON.parse(await Deno.readTextFile(`${model}/config.json`));
    const huge = { ...config, vocab_size: 2 ** 20, hidden_size: 2 ** 16, num_attention_heads: 512, head_dim: 128 };
    await Deno.writeTextFile(`${model}/config.json`, JSON.stringify(huge));
    const source = await openModel(model, () => {});
    const [spec] = stagesOf(source, { sequences: 1, contextLength: 16 });
    await assertRejects(
      () => source.readStage(spec!),
      UserError,
      "must have shape [1048576, 65536], but has [320, 64]",
    );
  });
});
