/**
 * Stages that continue texts (`StageOptions.cache`): every token's logits are those of the whole text computed at once,
 * whatever the rows of a call hold: several tokens of a text, tokens of several texts, or nothing.
 */

import { assert, assertEquals } from "@std/assert";
import type { PipelineShape } from "../../core/model/shape.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import type { StageCompute, StageInput, StageOptions } from "../../gpu/compute.ts";
import { specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";
import { assertClose, suiteParameters } from "./compute_world.ts";

export type OpenCached = (spec: StageSpec, options: StageOptions) => Promise<StageCompute>;

const rows = 4;
const streams = 3;
const length = 16;

/**
 * What the calls hold, as [stream, position]. Streams 0 and 2 have texts; the first is read in parts, beside the other. A
 * single row is a call of one row, and then again one of all, with the same bits.
 */
const calls: readonly (readonly (readonly [stream: number, position: number])[])[] = [
  [[0, 0], [0, 1], [0, 2], [2, 0]],
  [[0, 3], [2, 1]],
  [[2, 2], [0, 4], [2, 3], [2, 4]],
  [[2, 5]],
  [[0, 5]],
  [[2, 6], [0, 6]],
];

/** `most`: error of logits near 1. Sums in another order may change a boundary's code. */
const pipelines: Readonly<Record<string, { readonly pipeline: Partial<PipelineShape>; readonly most: number }>> = {
  "one stage": { pipeline: { stages: 1, codec: "none" }, most: 1e-4 },
  "q5block, side": { pipeline: { codec: "q5block", bottleneckWidth: 8, sideWidth: 8 }, most: 2e-3 },
  "resbm": { pipeline: { codec: "resbm", bottleneckWidth: 8 }, most: 2e-3 },
};

export function cacheSuite(name: string, open: OpenCached, { only = Object.keys(pipelines) } = {}): void {
  for (const [what, { pipeline, most }] of Object.entries(pipelines).filter(([what]) => only.includes(what))) {
    Deno.test(`Cache of ${name}: each token's logits are those of the whole text (${what})`, async () => {
      const model = { ropeFactor: 8, ropeOriginalContext: 64 };
      const specs = specsOf(tinyConfig({ model, pipeline, train: { sequencesPerMicrobatch: 1 } }));
      const texts = [0, 2].map((stream) => [stream, tokensOf(specs[0]!, stream).tokens] as const);
      const tokens = new Map(texts);
      const whole = await openAll(specs, createCpuStage, { optimizer: null });
      const cached = await openAll(specs.map(ofRows), open, { cache: { streams, length } });
      const ask = async (call: typeof calls[number], rows: number) => {
        const places = Uint32Array.from({ length: 2 * rows }, (_, i) => call[i >> 1]?.[i & 1] ?? 0xffffffff);
        const ids = Uint32Array.from({ length: rows }, (_, row) => {
          const [stream, position] = call[row] ?? [0, 0];
          return tokens.get(stream)![position]!;
        });
        return await logitsOf(cached, { type: "tokens", tokens: ids, places }, 0);
      };
      for (const call of calls) {
        const one = call.length === 1 ? await ask(call, 1) : null;
        const logits = await ask(call, rows);
        const width = logits.length / rows;
        if (one !== null) assertEquals(one, logits.slice(0, width), "a call of one row");
        for (const [row, [stream, position]] of call.entries()) {
          const expected = await logitsOf(whole, { type: "tokens", tokens: tokens.get(stream)! }, position);
          const actual = logits.subarray(row * width, (row + 1) * width);
          assertClose({ what: `logits of text ${stream} at ${position}`, actual, expected }, most);
        }
        assert(logits.every(Number.isFinite), "also empty rows are finite");
      }
      for (const stage of [...whole, ...cached]) stage.close();
    });
  }

  Deno.test(`Cache of ${name}: such a stage refuses to train, and a row without places`, async () => {
    const [spec] = specsOf(tinyConfig({ pipeline: { stages: 1, codec: "none" } })).map(ofRows);
    const stage = await open(spec!, { cache: { streams, length } });
    const input: StageInput = { type: "tokens", tokens: new Uint32Array(rows) };
    const refusal = async (call: () => Promise<unknown>) =>
      await call().then(() => "", ({ message }: Error) => message);
    assertEquals(await refusal(() => stage.turnaround(input, input.tokens)), "A stage with a cache has no gradients");
    assertEquals(await refusal(() => stage.logitsAt(input, 0)), "Rows have places exactly in a stage with a cache");
    stage.close();
  });
}

const ofRows = (spec: StageSpec): StageSpec => ({
  ...spec,
  sequences: rows,
  model: { ...spec.model, contextLength: 1 },
});

async function openAll(specs: readonly StageSpec[], open: OpenCached, options: StageOptions): Promise<StageCompute[]> {
  const stages: StageCompute[] = [];
  for (const spec of specs) {
    const stage = await open(spec, options);
    await stage.loadParameters(suiteParameters(spec));
    stages.push(stage);
  }
  return stages;
}

async function logitsOf(stages: readonly StageCompute[], first: StageInput, position: number): Promise<Float32Array> {
  let input = first;
  for (const stage of stages.slice(0, -1)) {
    input = { type: "wire", wire: await stage.forward(input), ...(first.places && { places: first.places }) };
  }
  return await stages.at(-1)!.logitsAt(input, position);
}
