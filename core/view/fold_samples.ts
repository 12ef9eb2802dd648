/**
 * Samples of the model's text, with the held-out loss of their round. Steps ascend; beyond `mostSamples` every second
 * one is dropped, except the first and the newest.
 */

import type { RunView, TextSample } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const mostSamples = 8; // even
const mostCharacters = 2_048; // of a prompt or a text

export function noteSample(view: RunView, { round, step, prompt, text }: RecordOf<"textSampled">): void {
  const loss = view.heldOut.find((point) => point.round === round)?.loss ?? null;
  const sample: TextSample = {
    ...{ round, step, loss },
    prompt: prompt.slice(0, mostCharacters).toWellFormed(),
    text: text.slice(0, mostCharacters).toWellFormed(),
  };
  view.samples = [...view.samples.filter((before) => before.step < step), sample];
  if (view.samples.length > mostSamples) {
    view.samples = view.samples.filter((_, i) => i === 0 || i === mostSamples || i % 2 === 0);
  }
}

/** An evaluation comes before or after its round's sample. */
export function noteSampleLoss(view: RunView, { round, loss }: { round: number; loss: number }): void {
  view.samples = view.samples.map((sample) => sample.round === round ? { ...sample, loss } : sample);
}

export function forgetSamplesAfter(view: RunView, step: number): void {
  view.samples = view.samples.filter((sample) => sample.step <= step);
}
