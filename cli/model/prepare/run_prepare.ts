/** `iota data prepare`, from the command line to the summary. */

import { basename, dirname } from "node:path";
import type { CommandContext, OptionValues } from "../../terminal/command.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import { plural } from "../../terminal/text/format.ts";
import { Stopped, UsageError } from "../../program/errors.ts";
import { datasetPlace } from "../../program/paths.ts";
import { shellWord } from "../../program/shell_words.ts";
import { describeDataset, factsOf } from "./describe_dataset.ts";
import { type FolderRequest, type InputRequest, prepareFolder } from "./prepare_folder.ts";
import { isWebAddress } from "../inputs/byte_input.ts";
import type { TextFormat } from "../inputs/open_input.ts";
import { endOfTextBeside } from "../tokenizer/end_of_text.ts";
import { parseTokenizer, readTokenizerBytes } from "../tokenizer/parse_tokenizer.ts";

export async function runPrepare(context: CommandContext): Promise<number> {
  const { options, output, environment } = context;
  const inputs = inputsOf(context);
  const named = options.text("out");
  const out = named ?? datasetPlace(environment, nameOf(inputs[0]!.place));
  const reading = openProgress(output, "reading", "bytes");
  const encoding = openProgress(output, "turning the text into tokens", "bytes");
  const signal = context.interruption();
  try {
    const dataset = await prepareFolder({
      ...{ out, inputs, signal, ...settingsOf(context) },
      format: options.text("format") as TextFormat | undefined,
      field: options.text("field"),
      separator: options.text("separator"),
      tokenizer: await tokenizerOf(options),
      onRead: (done, total) => reading.at(done, total),
      onEncoded(done, total) {
        reading.close();
        encoding.at(done, total);
      },
    });
    dataset.close();
    encoding.close();
    const name = named === undefined ? basename(out) : named.includes("/") ? named : `./${named}`;
    const lines = [...describeDataset(dataset), `Train on it: iota swarm --data-set ${shellWord(name)}`];
    output.answer({ dataset: out, ...factsOf(dataset) }, lines.join("\n"));
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    output.line("Stopped. The same command goes on from here");
    throw new Stopped();
  } finally {
    reading.close();
    encoding.close();
  }
}

const vocabDefault = 4096;

function settingsOf({ options }: CommandContext): Pick<
  FolderRequest,
  "vocabSize" | "isVocabAsked" | "license" | "origin" | "heldOutFraction" | "maxBytes" | "seed" | "threads"
> {
  return {
    vocabSize: options.number("vocab") ?? vocabDefault,
    isVocabAsked: options.given("vocab"),
    license: options.text("license"),
    origin: options.text("origin"),
    heldOutFraction: options.number("held-out")!,
    maxBytes: options.number("max-bytes")!,
    seed: options.number("seed")!,
    threads: options.number("threads") ?? navigator.hardwareConcurrency,
  };
}

function inputsOf({ options, positionals }: CommandContext): InputRequest[] {
  const first = options.text("input");
  const places = first === undefined ? positionals : [first, ...positionals];
  if (places.length === 0) {
    throw new UsageError("There is no text to prepare", { next: "For example: iota data prepare --input texts.jsonl" });
  }
  const weights = weightsOf(options.text("weights"), places.length);
  return places.map((place, i) => ({ place, weight: weights[i]! }));
}

function weightsOf(text: string | undefined, count: number): number[] {
  if (text === undefined) return Array.from({ length: count }, () => 1);
  const weights = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  const bad = weights.findIndex((weight) => !(weight >= 0 && weight <= mostWeight));
  if (bad >= 0) {
    throw new UsageError(`--weights must be numbers from 0 to ${mostWeight}, and number ${bad + 1} is not`, {
      next: "For example: --weights 1,0.5",
    });
  }
  if (weights.length === count && weights.some((weight) => weight > 0)) return weights;
  throw new UsageError(`--weights has ${plural(weights.length, "number")} for ${plural(count, "input")}`, {
    next: "Give one for each input, in their order, and one above 0",
  });
}

const mostWeight = 100;

async function tokenizerOf(options: OptionValues): Promise<FolderRequest["tokenizer"]> {
  const path = options.text("tokenizer");
  if (path === undefined) return null;
  const tokenizerFile = await readTokenizerBytes(path);
  const endOfText = options.text("end-of-text") ?? await endOfTextBeside(dirname(path));
  return { tokenizerFile, tokenizer: parseTokenizer(tokenizerFile, { path, endOfText }) };
}

/** `texts` for `some/texts.jsonl.gz`. */
function nameOf(place: string): string {
  const path = isWebAddress(place) ? new URL(place).pathname : place;
  return basename(path).replace(/\..*$/, "") || "text";
}
