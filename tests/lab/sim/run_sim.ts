/**
 * `lab sim`, from the command line to the summary, or to the line that replays a failure.
 */

import { nextTurn } from "../../../net/turns.ts";
import { givenLinks } from "../../../cli/swarm/run_swarm.ts";
import { openProgress } from "../../../cli/terminal/output/progress.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import type { Output } from "../../../cli/terminal/output/output.ts";
import { type FaultKind, faultKinds, isFaultKind } from "./faults.ts";
import { replayLine } from "./replay_line.ts";
import { runSeeds } from "./run_seeds.ts";
import { shrinkInTurns } from "./shrink.ts";
import { kindsOf, type SimFailure, type SimOptions, simulateInTurns } from "./simulate.ts";

export async function runSim(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const signal = context.interruption();
  const links = givenLinks(context);
  const forwardMs = options.number("forward-ms");
  const asked: SimOptions = {
    seed: options.number("seed") ?? 1,
    miners: options.number("miners") ?? 256,
    minutes: options.number("minutes") ?? 2,
    faults: faultsOf(options.text("faults") ?? "drawn"),
    ...(forwardMs === undefined ? {} : { forwardMs }),
    ...(links === undefined ? {} : { links }),
  };
  const seeds = options.number("seeds");
  if (seeds !== undefined) return await runSeeds(context, asked, seeds);
  output.line(`Replay: ${replayLine({ ...asked, faults: kindsOf(asked) })}`);
  const progress = openProgress(output, "simulating", "virtual minutes");
  const result = await inTurns(simulateInTurns(asked), {
    signal,
    onTurn: (virtualMs) => progress.at(virtualMs / 60_000, asked.minutes),
  });
  progress.close();
  if (result.ok) {
    output.summary({ ...result.summary });
    return 0;
  }
  printFailure(output, asked, result.failure);
  if (options.flag("shrink")) {
    const smallest = await inTurns(shrinkInTurns(asked, result.failure), { signal });
    output.log.error(`After ${smallest.runs} smaller runs it still fails: ${smallest.failure.detail}`);
    output.log.error(`Replay: ${replayLine(smallest.options)}`);
  }
  return 1;
}

/** Between turns the process handles signals; rejects with the signal's reason when aborted. */
async function inTurns<T>(
  turns: Generator<number, T>,
  { signal, onTurn = () => {} }: { signal: AbortSignal; onTurn?: (virtualMs: number) => void },
): Promise<T> {
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
    onTurn(value);
    await nextTurn();
    signal.throwIfAborted();
  }
}

function faultsOf(text: string): SimOptions["faults"] {
  if (text === "drawn") return "drawn";
  if (text === "all") return faultKinds;
  if (text === "none") return [];
  return text.split(",").map((word): FaultKind => {
    if (isFaultKind(word)) return word;
    throw new UsageError(`There is no kind of fault '${word}' for --faults`, {
      next: `The kinds are ${faultKinds.join(", ")}; or all, none, drawn`,
    });
  });
}

function printFailure(output: Output, asked: SimOptions, failure: SimFailure): void {
  const { rule, detail, virtualMs, cause } = failure;
  const named = { ...asked, faults: failure.faults };
  output.log.error(`Simulation broke a rule after ${virtualMs} virtual ms: ${detail}`);
  output.log.error(`Replay: ${replayLine(named)}`);
  if (cause instanceof Error && cause.stack !== undefined) output.log.debug(cause.stack);
  const { seed, miners, minutes } = asked;
  output.summary({
    seed,
    miners,
    minutes,
    faults: failure.faults,
    virtualMs,
    violations: 1,
    rule,
    detail,
    replay: replayLine(named),
  });
}
