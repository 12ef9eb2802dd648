/**
 * A model whose stages are all open on one device, to continue several texts at once. Each text is a stream with its own
 * cache of keys and values; a call takes the next tokens of any streams, several of one if it has not read them yet.
 */

import { assert, present } from "../../../core/assert.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { StageCompute, StageInput, StageOptions } from "../../../gpu/compute.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import { ComputeError } from "../../../gpu/worker_client.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { UserError } from "../../program/errors.ts";
import { byteSize, plural } from "../../terminal/text/format.ts";
import { type ModelSource, stagesOf } from "../source/model_source.ts";

export interface TextRoom {
  readonly streams: number; // texts at once
  readonly rows: number; // tokens of a call
  readonly length: number; // tokens of a text
}

export interface Row {
  readonly stream: number;
  readonly position: number; // in its text
  readonly token: number;
}

export class ModelTooLarge extends Error {
  override name = "ModelTooLarge";
}

/** Tokens of a call, where a text is read; a call with one takes a quarter of the time on a processor (measured at `tiny`). */
export const rowsOfCall = 16;

const noStream = 0xffffffff;

export class TextModel {
  readonly room: TextRoom;
  readonly tokenizer: Tokenizer;
  readonly ends: ReadonlySet<number>; // tokens that end a text
  readonly #stages: readonly StageCompute[];

  private constructor(source: ModelSource, { room, stages }: { room: TextRoom; stages: readonly StageCompute[] }) {
    this.room = room;
    this.tokenizer = source.tokenizer;
    this.ends = source.ends;
    this.#stages = stages;
  }

  /** `mostBytes`: of all stages together; beyond it, throws a `ModelTooLarge`. */
  static async open(
    device: ComputeHost,
    source: ModelSource,
    { room, mostBytes }: { room: TextRoom; mostBytes?: number | undefined },
  ): Promise<TextModel> {
    const { streams, length, rows } = room;
    const specs = stagesOf(source, { sequences: rows, contextLength: 1 });
    const options: StageOptions = { optimizer: null, cache: { streams, length } };
    if (mostBytes !== undefined) await mustFit(specs, { options, mostBytes });
    const stages: StageCompute[] = [];
    for (const spec of specs) {
      const stage = await device.openStage(spec, options).catch((error) => {
        throw noRoom(error, room) ?? error;
      });
      stages.push(stage);
      await stage.loadParameters(await source.readStage(spec));
    }
    return new TextModel(source, { room, stages });
  }

  /** Logits of the tokens that follow each row, in their order, of the tokenizer's ids only. */
  async next(rows: readonly Row[]): Promise<Float32Array[]> {
    const { rows: room } = this.room;
    assert(rows.length > 0 && rows.length <= room, `A call has 1 to ${room} rows, and this one has ${rows.length}`);
    const most = rows.length === 1 ? 1 : room;
    const tokens = new Uint32Array(most);
    const places = new Uint32Array(2 * most).fill(noStream);
    for (const [i, { stream, position, token }] of rows.entries()) {
      tokens[i] = token;
      places.set([stream, position], 2 * i);
    }
    let input: StageInput = { type: "tokens", tokens, places };
    for (const stage of this.#stages.slice(0, -1)) input = { type: "wire", wire: await stage.forward(input), places };
    const logits = await present(this.#stages.at(-1), "a model has a stage").logitsAt(input, 0);
    const width = logits.length / most;
    return rows.map((_, i) => logits.subarray(i * width, i * width + this.tokenizer.vocabSize));
  }

  close(): void {
    for (const stage of this.#stages) stage.close();
  }
}

const memoryProblems = new Set(["OutOfMemoryError", "TooLargeError", "TooLittleMemoryError"]);

/** A model's own context may be far beyond what the device has memory for. */
function noRoom(error: unknown, { streams, length }: TextRoom): UserError | null {
  if (!(error instanceof ComputeError) || !memoryProblems.has(error.kind)) return null;
  return new UserError(
    `The device has no room for the model and ${plural(streams, "text")} of ${length} tokens: ${error.message}`,
    { next: "Ask for fewer texts at once or for shorter ones, or use a device with more memory", cause: error },
  );
}

async function mustFit(
  specs: readonly StageSpec[],
  { options, mostBytes }: { options: StageOptions; mostBytes: number },
): Promise<void> {
  let bytes = 0;
  for (const spec of specs) bytes += (await planStage(spec, "cpu", options)).bytes;
  if (bytes > mostBytes) {
    throw new ModelTooLarge(`the model takes ${byteSize(bytes)} to compute, of at most ${byteSize(mostBytes)}`);
  }
}
