/** An export's README.md: what the model is, with the run's own numbers, and how to load it. Numbers that are not known are left out. */

import { beyondLlama } from "../../../core/model/plain.ts";
import { type ModelSource, tensorsOf } from "../source/model_source.ts";

/** Of the run that trained the model. Null: unknown. */
export interface TrainedFacts {
  readonly corpus: string;
  readonly heldOut: readonly { readonly step: number; readonly loss: number }[]; // nats per token
  readonly bitsPerByte: number | null;
  /** By accepted work, most first. */
  readonly miners: readonly { readonly hotkey: string; readonly share: number }[];
  readonly log: { readonly run: string; readonly hub: string; readonly line: number; readonly hash: string } | null;
}

export function modelCard(source: ModelSource, facts: TrainedFacts | null): string {
  const { trained, plan } = source;
  const name = trained?.config.name ?? "model";
  const lines = [
    "---",
    "library_name: transformers",
    "pipeline_tag: text-generation",
    "tags:",
    "- iota",
    "---",
    "",
    `# ${name}`,
    "",
    ...shapeLines(source),
    ...(trained === null ? [] : trainingLines(trained, facts)),
    ...(facts === null ? [] : [...curveLines(facts), ...minerLines(facts), ...logLines(facts)]),
    "## Use",
    "",
    ...useLines(beyondLlama(plan)),
  ];
  return `${lines.join("\n")}\n`;
}

function shapeLines(source: ModelSource): string[] {
  const { model } = source.plan;
  const parameters = tensorsOf(source).reduce((sum, { size }) => sum + size, 0);
  return [
    `A language model of ${count(parameters)} parameters: ${model.layers} layers of width ${model.width}, ` +
    `${model.heads} heads (${model.kvHeads} of keys and values), ${count(model.vocabSize)} tokens, ` +
    `a context of ${count(model.contextLength)}.`,
    "",
  ];
}

function trainingLines(
  { runId, round, step, from, config: { train, model } }: NonNullable<ModelSource["trained"]>,
  facts: TrainedFacts | null,
): string[] {
  const tokens = step * train.microbatchesPerStep * train.sequencesPerMicrobatch * model.contextLength;
  return [
    "## Training",
    "",
    `- Run ${runId}, after round ${round}: ${count(step)} steps, about ${count(tokens)} tokens.`,
    ...(from === null
      ? []
      : [`- It began with the model \`${from.name}\`, whose parameters have the hash \`${from.parameters}\`.`]),
    ...(facts === null ? [] : [`- Text: ${facts.corpus}.`]),
    ...(facts === null || facts.bitsPerByte === null
      ? []
      : [`- Held-out text: ${facts.bitsPerByte.toFixed(3)} bits per byte.`]),
    "",
  ];
}

const count = (value: number): string => value.toLocaleString("en-US");

const mostPoints = 12; // of the curve
const mostMiners = 50;

function curveLines({ heldOut }: TrainedFacts): string[] {
  if (heldOut.length === 0) return [];
  const every = Math.ceil(heldOut.length / mostPoints);
  const shown = heldOut.filter((_, i) => (heldOut.length - 1 - i) % every === 0);
  return [
    "| step | held-out loss (nats per token) |",
    "|---|---|",
    ...shown.map(({ step, loss }) => `| ${step} | ${loss.toFixed(4)} |`),
    "",
  ];
}

function minerLines({ miners }: TrainedFacts): string[] {
  if (miners.length === 0) return [];
  const rest = miners.length - mostMiners;
  return [
    "## Trained by",
    "",
    "Hotkeys and their shares of the accepted work:",
    "",
    ...miners.slice(0, mostMiners).map(({ hotkey, share }) => `- ${hotkey}: ${(100 * share).toFixed(1)} %`),
    ...(rest > 0 ? [`- and ${rest} more`] : []),
    "",
  ];
}

function logLines({ log }: TrainedFacts): string[] {
  if (log === null) return [];
  return [
    `The run's signed log ends with line ${log.line}, hash \`${log.hash}\`, signed by ${log.hub}. With the log, ` +
    "`iota verify --model DIR` says whether these tensors are what the run's miners agreed on.",
    "",
  ];
}

function useLines(beyond: string | null): string[] {
  const load = beyond === null ? "" : ", trust_remote_code=True";
  return [
    ...(beyond === null ? [] : [
      `This is not a plain Llama: it has ${beyond}. \`modeling_iota.py\` in this folder computes them; ` +
      "`trust_remote_code=True` lets transformers run that file, so read it first. A Llama class must not load these weights.",
      "",
    ]),
    "```python",
    "from transformers import AutoModelForCausalLM, AutoTokenizer",
    `model = AutoModelForCausalLM.from_pretrained("."${load})`,
    'tokenizer = AutoTokenizer.from_pretrained(".")',
    "```",
  ];
}
