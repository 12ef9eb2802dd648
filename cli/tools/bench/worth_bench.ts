/**
 * `iota bench` alone: within a minute, what a machine is worth to a run.
 *
 * Strangers get only an orchestrator's status, so only its round trip is measured. The table has the bandwidth that
 * each size would need at this device's speed.
 */

import type { CommandContext } from "../../terminal/command.ts";
import { probeHub } from "../doctor/hub_check.ts";
import { hubTrust } from "../../node/find/hub_trust.ts";
import { byteOption } from "../../terminal/text/byte_text.ts";
import { fitAdapterOf, type Memory } from "../../device/model_fit.ts";
import { deviceText, openDevice } from "../../device/open_device.ts";
import { readTuning } from "../../device/tuning_file.ts";
import { byteSize, decimal } from "../../terminal/text/format.ts";
import { type SizeWorth, worthOfSizes } from "./size_worth.ts";

const hubDeadlineMs = 5000;

export async function runWorthBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const signal = context.interruption();
  const worker = await openDevice(options.text("device"), {
    threads: options.number("threads"),
    tuned: await readTuning(context.dataFolder()),
  });
  output.line(`Computes on ${deviceText(worker)}`);
  try {
    const adapter = await fitAdapterOf(worker);
    const memory = memoryFor(worker.adapter.isSoftware, byteOption("memory", options.text("memory")));
    output.line(memory.words);
    output.line("");
    output.line(output.paint.dim(headingText));
    const sizes: SizeWorth[] = [];
    for await (const worth of worthOfSizes({ worker, adapter, memory, signal })) {
      sizes.push(worth);
      output.line(worthText(worth));
      output.event({ type: "measurement", ...worth });
    }
    output.line("");
    output.line(
      "~: estimated from the FLOPs of a stage. Link: what the busiest stage receives and sends at that speed.",
    );
    const link = await linkTo(options.text("orchestrator"), options.text("tls-ca"));
    output.line(link.words);
    const { device, name, isSoftware } = worker.adapter;
    const { memoryBytes } = memory;
    const { threads } = worker;
    const facts = {
      device,
      adapter: name,
      threads,
      isSoftware,
      memoryBytes: memoryBytes === Infinity ? null : memoryBytes,
    };
    output.summary(output.mode === "json" ? { ...facts, link: link.facts, sizes } : facts);
  } finally {
    await worker.finish(); // never terminated just before the exit: see its contract
  }
  return 0;
}

/** WebGPU does not tell a GPU's memory; a software device has this machine's. */
function memoryFor(isSoftware: boolean, given: number | null): Memory & { words: string } {
  if (given !== null) return { memoryBytes: given, words: `A stage may take ${byteSize(given)}` };
  if (!isSoftware) {
    return { memoryBytes: Infinity, words: "Any memory: WebGPU does not say what a GPU has, --memory 8GiB does" };
  }
  const { available } = Deno.systemMemoryInfo();
  return { memoryBytes: available, words: `A stage may take ${byteSize(available)}, which this machine has free` };
}

const widths = [6, 22, 14, 12, 12];
const line = (cells: readonly string[]) =>
  cells.map((cell, i) => i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)).join("  ").trimEnd();
const headingText = line(["size", "stages it can hold", "a stage takes", "tokens/s", "link"]);

export function worthText(worth: SizeWorth): string {
  const { size, largestBytes, tokensPerSecond, isMeasured, linkBytesPerToken } = worth;
  const speed = tokensPerSecond === null ? "-" : `${isMeasured ? "" : "~"}${decimal(Math.round(tokensPerSecond))}`;
  const link = tokensPerSecond === null ? "-" : `${byteSize(tokensPerSecond * linkBytesPerToken)}/s`;
  return line([size, holdText(worth), largestBytes === 0 ? "-" : byteSize(largestBytes), speed, link]);
}

function holdText({ stages, holds, fitsWithStages }: SizeWorth): string {
  if (holds.length === stages) return `any of ${stages}`;
  const other = fitsWithStages === null ? "" : `; all of ${fitsWithStages}`;
  if (holds.length === 0) return `none of ${stages}${other}`;
  return `${holds.length} of ${stages} (${rangesText(holds)})${other}`;
}

export function rangesText(numbers: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(", ");
}

interface Link {
  readonly words: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

async function linkTo(url: string | undefined, authorityFile: string | undefined): Promise<Link> {
  if (url === undefined) {
    const reason = "no orchestrator is named: --orchestrator URL";
    return { words: `The link was not measured: ${reason}`, facts: { skipped: reason } };
  }
  const { verdict } = await probeHub({
    ...{ url, isNamed: true, deadlineMs: hubDeadlineMs },
    trust: hubTrust(authorityFile),
  });
  return {
    words: `The orchestrator: ${verdict.text}`,
    facts: { level: verdict.level, text: verdict.text, ...verdict.facts },
  };
}
