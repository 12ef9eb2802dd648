/** `iota generate`: one text by a model whose stages are all on one device. */

import { harmless } from "../../terminal/text/foreign_text.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openModel } from "../source/open_model.ts";
import { modelPlace } from "../source/model_place.ts";
import { generateText, promptTokens } from "./generate_text.ts";
import { rowsOfCall, TextModel } from "./text_model.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { openDevice } from "../../device/open_device.ts";

export interface SampleRequest {
  readonly model: string; // folder of a run, a checkpoint, an export or a Hugging Face Llama
  readonly prompt: string;
  readonly tokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly topP?: number; // @default 1
  readonly seed: number;
  readonly stops?: readonly string[];
  readonly onText?: (piece: string) => void;
  /** Of all stages together; a larger model throws a `ModelTooLarge`. @default what the device can hold */
  readonly mostBytes?: number;
  readonly onToken?: (made: number) => void;
  readonly goesOn?: () => boolean;
}

export async function runGenerate(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const model = modelPlace(options, "to generate from");
  const device = await openDevice(options.text("device"));
  const tokens = options.number("tokens") ?? 60;
  const progress = openProgress(output, "generating", "tokens");
  const startedMs = systemTimers.nowMs();
  try {
    const prompt = options.text("prompt") ?? "";
    const lines = new TextLines((line) => output.line(harmless(line, line.length)));
    lines.add(prompt);
    const stop = options.text("stop");
    const { text, trained } = await sampleModel(device, {
      ...{ model, prompt, tokens, stops: stop === undefined ? [] : [stop] },
      onToken: (made) => progress.at(made, tokens),
      onText(piece) {
        lines.add(piece);
        output.event({ type: "text", text: piece });
      },
      temperature: options.number("temperature") ?? 0.8,
      topK: options.number("top-k") ?? 40,
      topP: options.number("top-p") ?? 1,
      seed: options.number("seed") ?? 1,
    }, (warning) => output.log.warn(warning));
    progress.close();
    lines.end();
    if (output.mode === "json") {
      const wallMs = systemTimers.nowMs() - startedMs;
      output.summary({ text, run: model, ...trained, device: device.adapter.name, wallMs });
    }
    return 0;
  } finally {
    await device.finish();
  }
}

/** Text in pieces as lines, each as soon as it is whole. */
class TextLines {
  readonly #tell: (line: string) => void;
  #open = "";

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  add(piece: string): void {
    const lines = (this.#open + piece).split("\n");
    this.#open = lines.pop() ?? "";
    for (const line of lines) this.#tell(line);
  }

  end(): void {
    this.#tell(this.#open);
  }
}

export interface Sample {
  readonly text: string;
  readonly trained: { readonly round: number; readonly step: number } | null; // null: not by a run of this machine
  readonly tokens: number;
}

export async function sampleModel(
  device: ComputeHost,
  request: SampleRequest,
  warn: (text: string) => void,
): Promise<Sample> {
  const source = await openModel(request.model, warn);
  const { tokenizer, trained } = source;
  const wanted = promptTokens(tokenizer, request.prompt).length + request.tokens;
  const room = { streams: 1, rows: rowsOfCall, length: Math.min(wanted, source.plan.model.contextLength) };
  const model = await TextModel.open(device, source, { room, mostBytes: request.mostBytes });
  let tokens = 0;
  request.onToken?.(0);
  const onToken = () => {
    tokens += 1;
    request.onToken?.(tokens);
  };
  const text = await generateText({ ...request, model, onToken });
  model.close();
  return { text, tokens, trained: trained === null ? null : { round: trained.round, step: trained.step } };
}
