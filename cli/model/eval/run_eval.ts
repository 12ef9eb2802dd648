/** `iota eval`: models on texts and questions, side by side. */

import type { CommandContext } from "../../terminal/command.ts";
import { attempting, UsageError, UserError } from "../../program/errors.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import { openDevice } from "../../device/open_device.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { TextModel } from "../generate/text_model.ts";
import { modelPlace } from "../source/model_place.ts";
import { openModel } from "../source/open_model.ts";
import { type ChoicesScore, evalChoices, type Question, readQuestions } from "./choices.ts";
import { evalText, type TextScore } from "./eval_text.ts";

interface Tests {
  readonly text: string | null;
  readonly questions: readonly Question[] | null;
}

interface ModelScores {
  readonly model: string;
  readonly text?: TextScore;
  readonly choices?: ChoicesScore;
}

const streams = 4;
const rows = 64; // tokens of a call
const mostLength = 4096; // tokens of a window: memory for a context of a million is rarely there

export async function runEval(context: CommandContext): Promise<number> {
  const { options, output, positionals } = context;
  const places = positionals.length > 0 && !options.given("model")
    ? positionals
    : [modelPlace(options, "to evaluate"), ...positionals];
  const tests = await readTests(options);
  const device = await openDevice(options.text("device"));
  try {
    const scores: ModelScores[] = [];
    for (const place of places) scores.push(await evalModel(context, { device, place, tests }));
    for (const line of tableOf(scores)) output.line(line);
    output.answer({ models: scores }, "");
    return 0;
  } finally {
    await device.finish();
  }
}

async function readTests(options: CommandContext["options"]): Promise<Tests> {
  const [text, choices] = [options.text("text"), options.text("choices")];
  if (text === undefined && choices === undefined) {
    throw new UsageError("Nothing to evaluate on: pass --text FILE, --choices FILE, or both", {
      next: "For example: iota eval --text some.txt",
    });
  }
  const questions = choices === undefined ? null : readQuestions(await readText(choices), choices);
  const whole = text === undefined ? null : await readText(text);
  if (whole === "") throw new UserError(`'${text}' is empty`, { next: "Pass a file with text" });
  return { text: whole, questions };
}

async function readText(path: string): Promise<string> {
  const bytes = await attempting({ action: "read", value: path }, () => Deno.readFile(path));
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`'${path}' is not text in UTF-8`, { next: "Convert it first, for example with iconv" });
  }
}

async function evalModel(
  { output }: CommandContext,
  { device, place, tests }: { device: ComputeHost; place: string; tests: Tests },
): Promise<ModelScores> {
  const source = await openModel(place, (warning) => output.log.warn(warning));
  const room = { streams, rows, length: Math.min(source.plan.model.contextLength, mostLength) };
  const model = await TextModel.open(device, source, { room });
  const progress = openProgress(output, `evaluating ${place}`, "parts");
  try {
    const text = tests.text === null
      ? null
      : await evalText(model, tests.text, (done, total) => progress.at(done, total));
    const choices = tests.questions === null
      ? null
      : await evalChoices(model, tests.questions, (done, total) => progress.at(done, total));
    return { model: place, ...(text === null ? {} : { text }), ...(choices === null ? {} : { choices }) };
  } finally {
    progress.close();
    model.close();
  }
}

function tableOf(scores: readonly ModelScores[]): string[] {
  const rows = [
    ["model", "nats/token", "bits/byte", "accuracy", "per byte"],
    ...scores.map(({ model, text, choices }) => [
      model,
      text?.nats.toFixed(4) ?? "-",
      text?.bitsPerByte.toFixed(4) ?? "-",
      choices?.accuracy.toFixed(3) ?? "-",
      choices?.accuracyPerByte.toFixed(3) ?? "-",
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
}
