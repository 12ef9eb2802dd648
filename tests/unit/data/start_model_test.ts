/** A model as the start of a run (`--from`): its settings, its parameters in the run's stages, and the way back out. */

import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { main } from "../../../cli/command_line.ts";
import { sha256Hex } from "../../../cli/files/file_entry.ts";
import { writeSavedRun } from "../../../cli/files/saved_run.ts";
import { planDataset } from "../../../cli/model/prepare/plan_dataset.ts";
import { exportModel } from "../../../cli/model/export/export_model.ts";
import { writeFirstRound } from "../../../cli/model/source/first_round.ts";
import { type ModelSource, stagesOf } from "../../../cli/model/source/model_source.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import {
  firstParameters,
  freshTensors,
  identify,
  settingsOf,
  startName,
} from "../../../cli/model/source/start_model.ts";
import { describeStart } from "../../../cli/orchestrator/run/describe_run.ts";
import { UserError } from "../../../cli/program/errors.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { writeExported } from "../../support/exported_models.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { writeSmallCorpus } from "../../support/process/small_corpus.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const llama = "tests/vectors/export/llama"; // 260 tokens, width 32, 2 layers
const open = (path: string): Promise<ModelSource> => openModel(path, () => {});
const start = async (path: string) => ({ name: startName(path), source: await open(path) });

function configFrom(source: ModelSource, overrides: Record<string, unknown> = {}): RunConfig {
  const resolved = resolveConfig({ from: settingsOf(source, null), overrides });
  assert(resolved.ok, resolved.ok ? "" : resolved.problems[0]?.text);
  return resolved.config;
}

/** A run that has begun and taken no step, as a folder. */
async function begin(folder: string, path: string, overrides: Record<string, unknown>): Promise<RunConfig> {
  const begun = await start(path);
  const config = configFrom(begun.source, overrides);
  const { vocabSize } = config.model;
  const corpus = await writeSmallCorpus(folder);
  const data = { corpus, vocabSize, heldOutFraction: 0.1, maxBytes: 0, seed: 1, tokenizer: begun.source };
  const dataset = await (await planDataset({ ...data, folder: `${folder}/dataset` })).write();
  await writeFirstRound(begun, { folder, runId: "r-1", config, dataset, warn: () => {} });
  return config;
}

/** Every tensor of the model by name. */
async function valuesOf(source: ModelSource): Promise<Map<string, Float32Array>> {
  const values = new Map<string, Float32Array>();
  for (const spec of stagesOf(source, { sequences: 1, contextLength: 16 })) {
    const vector = await source.readStage(spec);
    for (const { name, offset, size } of parameterTable(spec).tensors) {
      values.set(name, vector.slice(offset, offset + size));
    }
  }
  return values;
}

Deno.test("Start: shape, tokenizer and size come with the model, the rest from the size, and a contradiction is refused", async () => {
  const source = await open(llama);
  const overrides = { "train.steps": 7, "model.width": 32 };
  const resolved = resolveConfig({ from: settingsOf(source, null), overrides });
  assert(resolved.ok);
  const { config: { model, size, pipeline, train }, origins } = resolved;
  assertEquals([model.vocabSize, model.width, model.layers, model.heads, model.kvHeads], [260, 32, 2, 4, 2]);
  assertEquals([model.ffnWidth, model.ropeBase, model.normEpsilon, size], [64, 50_000, 1e-5, "toy"]);
  assertEquals([model.contextLength, pipeline.stages, pipeline.codec, train.steps], [16, 2, "iota", 7]);
  assertEquals([origins["model.ropeBase"], origins["model.width"], origins["size"]], ["from", "flag", "from"]);
  assertEquals([origins["train.steps"], origins["train.learningRate"]], ["flag", "size"]);
  const refused = resolveConfig({ from: settingsOf(source, null), file: { model: { layers: 3 } } });
  assert(!refused.ok);
  assertEquals(refused.problems.map(({ text, origin }) => [text, origin]), [[
    "model.layers is 3, and the model that the run starts from has 2: leave model.layers out",
    "file",
  ]]);
  const scaled = settingsOf(await open(`${llama}-rope`), null);
  assertEquals([scaled.fixed["model.ropeFactor"], scaled.fixed["model.ropeOriginalContext"]], [8, 16]);
  assertEquals(settingsOf(source, "tiny").usual, { size: "tiny", "model.contextLength": 32 }); // no longer than it knows
});

Deno.test("Start: a Llama cut into stages and exported again is the same model, bit for bit, and so named by one hash", async () => {
  await withScratchFolder(async (folder) => {
    await begin(`${folder}`, llama, { "pipeline.codec": "none" });
    const [source, run] = [await open(llama), await open(folder)];
    assertEquals([run.trained?.round, run.trained?.step, run.layersOfStages], [0, 0, [1, 1]]);
    await exportModel(run, { out: `${folder}/out`, type: "f32", shardBytes: 1e9, card: "" });
    const out = await open(`${folder}/out`);
    assertEquals(await valuesOf(out), await valuesOf(source));
    assertEquals(out.tokenizerFile, source.tokenizerFile);
    const hashOf = async (model: ModelSource) => (await identify({ name: "", source: model })).parameters;
    const [hash, ...others] = [await hashOf(source), await hashOf(run), await hashOf(out)];
    assertEquals(others, [hash, hash]);
    assertNotEquals(await hashOf(await open(`${llama}-rope`)), hash);
  });
});

Deno.test("Start: boundaries that the model lacks begin random, and leave again; the same ones before the same layer are kept", async () => {
  await withScratchFolder(async (folder) => {
    const wires = { "pipeline.codec": "q5block", "pipeline.bottleneckWidth": 8, "pipeline.sideWidth": 16, seed: 5 };
    const config = await begin(folder, llama, wires);
    const source = await open(llama);
    const fresh = freshTensors(source, config);
    assertEquals(fresh.every(({ name }) => name.startsWith("model.boundary.1.")) && fresh.length, 4);
    const [plain, narrow] = [await valuesOf(source), await valuesOf(await open(folder))];
    for (const [name, values] of plain) assertEquals(narrow.get(name), values, name);
    for (const spec of stagesOf(await open(folder), { sequences: 1, contextLength: 16 })) {
      const [table, random] = [parameterTable(spec), initialParameters(parameterTable(spec), 5)];
      for (
        const { name, offset, size } of table.tensors.filter(({ name }) => fresh.some((each) => each.name === name))
      ) {
        assertEquals(narrow.get(name), random.slice(offset, offset + size), name);
      }
    }
    const run = { name: "run", source: await open(folder) };
    const begunWith = async (overrides: Record<string, unknown>) => {
      const config = configFrom(run.source, overrides);
      const stages = await Array.fromAsync(firstParameters(run.source, config));
      const values = stages.flatMap(({ table, parameters }) =>
        table.tensors.map(({ name, offset, size }) => [name, parameters.slice(offset, offset + size)] as const)
      );
      return { config, values: new Map(values) };
    };
    const same = await begunWith({ ...wires, seed: 6 });
    assertEquals([same.values, freshTensors(run.source, same.config)], [narrow, []]);
    const back = await begunWith({ "pipeline.codec": "none" });
    assertEquals(back.values, plain);
    const lines = describeStart(run, back.config, { name: "run", parameters: "ab".repeat(32) });
    assertEquals(lines.length, 2);
    assertStringIncludes(lines[1]!, "forgets without them: tiny, at 3.24 nats with them, was at 4.51");
    const wider = await begunWith({ ...wires, "pipeline.bottleneckWidth": 12 });
    assertEquals(freshTensors(run.source, wider.config).length, 4);
  });
});

Deno.test("Start: a boundary's tensors move with their layer when the run has other stages", async () => {
  await withScratchFolder(async (folder) => {
    const source = await open((await writeExported(folder, "q5block-side")).run); // 3 stages of a layer each
    const wires = { "pipeline.codec": "q5block", "pipeline.bottleneckWidth": 8, "pipeline.sideWidth": 16 };
    const config = configFrom(source, { ...wires, "pipeline.stages": 2 });
    const [head, tail] = await Array.fromAsync(firstParameters(source, config));
    const layer = splitLayers(config)[0]!;
    const before = await valuesOf(source);
    for (const { table, parameters } of [head!, tail!]) {
      for (const { name, offset, size } of table.tensors) {
        const inSource = name.replace("boundary.1.", `boundary.${layer}.`);
        assertEquals(parameters.slice(offset, offset + size), before.get(inSource), name);
      }
    }
    assertEquals([layer > 0, freshTensors(source, config)], [true, []]);
    const alone = configFrom(source, { "pipeline.stages": 1 });
    const [whole] = await Array.fromAsync(firstParameters(source, alone));
    assertEquals(whole!.table.tensors.filter(({ name }) => name.includes("boundary")), []);
  });
});

Deno.test("Start: a tied head is said to train apart, and is copied", async () => {
  const tied = await start(`${llama}-rope`);
  const config = configFrom(tied.source, { "pipeline.codec": "none" });
  const stages = await Array.fromAsync(firstParameters(tied.source, config));
  const [embedding, head] = [stages[0]!, stages[1]!].map(({ table, parameters }) => {
    const { offset, size } = table.tensors[0]!.size === 260 * 32
      ? table.tensors[0]!
      : table.tensors.find(({ name }) => name === "lm_head.weight")!;
    return parameters.slice(offset, offset + size);
  });
  assertEquals(head, embedding);
  const lines = describeStart(tied, config, { name: "x", parameters: "00".repeat(32) });
  assertEquals(lines[1], "Its head was its embedding: both are copied, are in different stages, and train apart");
});

Deno.test("Start: the text is prepared with the model's tokenizer, and not with one that another run left in the folder", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const data = { folder: `${folder}/dataset`, corpus, vocabSize: 320, heldOutFraction: 0.1, maxBytes: 0, seed: 1 };
    const own = await (await planDataset(data)).write();
    const tokenizer = await open(llama);
    const given = await (await planDataset({ ...data, tokenizer })).write();
    const hash = sha256Hex(tokenizer.tokenizerFile);
    assertEquals([given.manifest.tokenizer.sha256, own.manifest.tokenizer.sha256 === hash], [hash, false]);
    assertEquals((await planDataset(data)).tokenizerHash, own.manifest.tokenizer.sha256);
    assertEquals((await planDataset({ ...data, tokenizer, isResumed: true })).tokenizerHash, hash);
  });
});

Deno.test("Start: refused is a model with fewer rows than tokens, and --from where a run began otherwise or lost its start", async () => {
  const source = await open(llama);
  const few = { ...source, plan: { ...source.plan, model: { ...source.plan.model, vocabSize: 256 } } };
  await assertRejects(
    () => Promise.resolve().then(() => settingsOf(few, null)),
    UserError,
    "257 tokens, and embeddings",
  );
  await withScratchFolder(async (folder) => {
    const orchestrate = async (...words: string[]) => {
      const host = new FakeHost();
      return { code: await main(["orchestrate", "--data", folder, ...words], host), text: host.written.stderr };
    };
    const config = configFrom(source, { "pipeline.codec": "none" });
    const run = { runId: "r-1", config, host: null, port: null, hub: null, tokenizerHash: null, options: {} };
    await writeSavedRun(folder, { ...run, from: null });
    await Deno.writeTextFile(`${folder}/run.toml`, "# The settings of this run and their origins\n");
    const other = await orchestrate("--from", llama);
    assertEquals(other.code, 2);
    assertStringIncludes(other.text, `began with random parameters, and --from '${llama}' begins a new run`);
    const inside = await orchestrate("--fresh", "--from", folder);
    assertEquals(inside.code, 2);
    assertStringIncludes(inside.text, "is in it");
    await writeSavedRun(folder, { ...run, from: { name: "llama", parameters: "ab".repeat(32) } });
    const lost = await orchestrate();
    assertEquals(lost.code, 1);
    assertStringIncludes(lost.text, "began with the parameters of 'llama', and neither they nor its journal are there");
  });
});

Deno.test("Start: a checkpoint is named with its run", () => {
  assertEquals(startName("runs/demo/"), "demo");
  assertEquals(startName("/a/demo/checkpoints/round-000012"), "demo/round-000012");
});
