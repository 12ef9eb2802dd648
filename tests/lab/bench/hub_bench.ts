/**
 * `lab bench hub`: what an orchestrator on this machine can carry.
 *
 * Owns: the parts, their order, and how their numbers are shown: one JSON line for each measurement, or one row; the summary
 * has the numbers by which the parts are judged. A new part is one line in `parts` and one file beside this one.
 */

import { nextTurn } from "../../../net/turns.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { interrupted, untilStopped } from "../../../cli/program/errors.ts";
import { byteSize, decimal } from "../../../cli/terminal/text/format.ts";
import { measureHello } from "./hello.ts";
import { measurePipeline, measureSwarm } from "./machine.ts";
import { measureMessages } from "../../../cli/tools/bench/messages.ts";
import { measureRelay, type RelayWay } from "../../../cli/tools/bench/relay.ts";
import { measureRestart } from "./restart.ts";
import { unknownName } from "../../../cli/tools/bench/taken_words.ts";

interface PartOptions {
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** A measurement: words for people, raw values for programs. */
  report(fields: Fields, words: string): void;
}

type Fields = Readonly<Record<string, unknown>>;
/** Measures, and returns the part's line of the summary. */
type Part = (options: PartOptions) => Promise<Fields>;

const parts: Readonly<Record<string, Part>> = { relay, hello, messages, restart, machine };

const mebibyte = 1024 * 1024;
const judgedBytes = mebibyte; // the segment size used in the summary
const segmentSizes = [64 * 1024, judgedBytes, 4 * mebibyte];
const relayWays: readonly RelayWay[] = ["session", "session, hashed", "session, journaled", "ws"];
const relayGoal = 300; // MB/s at 1 MiB, the journal included
const relayCpuGoal = 2.5; // CPU seconds per GB, the same

export async function runHubBench(context: CommandContext): Promise<number> {
  const { output, options, positionals } = context;
  const asked = positionals[1];
  const names = asked === undefined ? Object.keys(parts) : [asked];
  const summary: Record<string, unknown> = {};
  const signal = context.interruption();
  const measure = async (name: string) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (part === undefined) throw unknownName("part of hub", { name, known: Object.keys(parts) });
    const report = (fields: Fields, words: string) => {
      output.event({ type: "measurement", benchmark: "hub", part: name, ...fields });
      output.line(`${output.paint.dim(name.padEnd(10))}${words}`);
    };
    Object.assign(summary, await part({ seconds: options.number("seconds") ?? 3, signal, report }));
    await nextTurn(); // a part that computes all the time lets no Ctrl-C through
    signal.throwIfAborted();
  };
  const measureAll = async () => {
    for (const name of names) await measure(name);
  };
  await untilStopped(measureAll, () => output.summary({ ...summary, ...interrupted }));
  output.summary(summary);
  return 0;
}

async function relay({ seconds, signal, report }: PartOptions): Promise<Fields> {
  const speeds = new Map<RelayWay, number>();
  const costs = new Map<RelayWay, number>();
  let eventsPerCommit = 0;
  for (const segmentBytes of segmentSizes) {
    for (const way of relayWays) {
      const measured = await measureRelay({ way, segmentBytes, seconds, signal });
      const megabytesPerSecond = measured.bytes / measured.seconds / 1e6;
      const cpuPerGigabyte = measured.cpuSeconds / (measured.bytes / 1e9);
      if (segmentBytes === judgedBytes) {
        speeds.set(way, megabytesPerSecond);
        costs.set(way, cpuPerGigabyte);
        eventsPerCommit = measured.eventsPerCommit ?? eventsPerCommit;
      }
      const { rssBytes, eventsPerCommit: together } = measured;
      const fields = {
        ...{ way, segmentBytes, megabytesPerSecond, cpuSecondsPerGigabyte: cpuPerGigabyte, rssBytes },
        ...(together === undefined ? {} : { eventsPerCommit: together }),
      };
      const words = [
        byteSize(segmentBytes).padStart(8),
        way.padEnd(18),
        `${megabytesPerSecond.toFixed(0).padStart(5)} MB/s`,
        `${cpuPerGigabyte.toFixed(2).padStart(6)} cpu s/GB`,
        `rss ${byteSize(rssBytes)}`,
        ...(together === undefined ? [] : [`${decimal(together)} events a commit`]),
      ];
      report(fields, words.join("  "));
    }
  }
  const bySession = speeds.get("session")!;
  const journaled = speeds.get("session, journaled")!;
  const journaledCost = costs.get("session, journaled")!;
  return {
    relayMegabytesPerSecond: bySession,
    relayHashedMegabytesPerSecond: speeds.get("session, hashed")!,
    relayJournaledMegabytesPerSecond: journaled,
    relayBareMegabytesPerSecond: speeds.get("ws")!,
    relayShareOfBare: bySession / speeds.get("ws")!,
    relayCpuSecondsPerGigabyte: costs.get("session")!,
    relayJournaledCpuSecondsPerGigabyte: journaledCost,
    relayEventsPerCommit: eventsPerCommit,
    relayGoalMegabytesPerSecond: relayGoal,
    relayGoalCpuSecondsPerGigabyte: relayCpuGoal,
    relayGoalMet: journaled >= relayGoal && journaledCost <= relayCpuGoal,
  };
}

function hello({ seconds, report }: PartOptions): Promise<Fields> {
  const cost = measureHello(seconds);
  const { signedMs, ticketMs, signMs, verifyMs } = cost;
  const ratio = signedMs / ticketMs;
  const words = [
    `signed ${decimal(signedMs)} ms each (signing ${decimal(signMs)} ms, checking ${decimal(verifyMs)} ms)`,
    `by ticket ${ticketMs.toFixed(3)} ms: ${decimal(ratio)} times less`,
  ];
  report({ ...cost, ratio }, words.join("; "));
  return Promise.resolve({
    microsecondsPerSignedHello: 1000 * signedMs,
    microsecondsPerTicketHello: 1000 * ticketMs,
    signedToTicketRatio: ratio,
    fiveThousandSignedMs: 5000 * signedMs,
    fiveThousandByTicketMs: 5000 * ticketMs,
  });
}

async function messages({ seconds, signal, report }: PartOptions): Promise<Fields> {
  const measured = await measureMessages(seconds, signal);
  const roundTripsPerSecond = measured.count / measured.seconds;
  const cpuMicrosecondsEach = (measured.cpuSeconds * 1e6) / measured.count;
  const words = `${decimal(roundTripsPerSecond)} round trips/s, ${decimal(cpuMicrosecondsEach)} cpu us each, both ends`;
  report({ over: "memory", roundTripsPerSecond, cpuMicrosecondsEach }, words);
  return { messageRoundTripsPerSecond: roundTripsPerSecond };
}

const restartSizes = [100, 5000];
const restartGoalMs = 5000; // with thousands of miners

function restart({ report }: PartOptions): Promise<Fields> {
  const costs = restartSizes.map((miners) => {
    const cost = measureRestart(miners);
    const { restartMs, entries, entryMicroseconds, stateBytes, snapshotMs } = cost;
    const words = [
      `${decimal(miners)} miners: ready after ${(restartMs / 1000).toFixed(2)} s`,
      `${decimal(entries)} events replayed (${entryMicroseconds.toFixed(0)} us each to keep)`,
      `a snapshot of ${byteSize(stateBytes)} takes ${snapshotMs.toFixed(0)} ms`,
    ];
    report({ ...cost }, words.join("; "));
    return cost;
  });
  const { miners, entries, restartMs, snapshotMs, snapshotShare } = costs.at(-1)!;
  return Promise.resolve({
    restartMiners: miners,
    restartEntries: entries,
    restartMs,
    restartGoalMs,
    restartGoalMet: restartMs <= restartGoalMs,
    restartSnapshotMs: snapshotMs,
    restartSnapshotShare: snapshotShare,
  });
}

const pipelines = [
  { stagePaces: [1, 1, 1, 1], microbatches: 32 },
  { stagePaces: [1, 1, 1, 1, 1, 1, 1, 1], microbatches: 64 },
  { stagePaces: [1, 2, 1, 1], microbatches: 32 },
];
const bigSwarm = { miners: 10_000, minutes: 10 };

function machine({ report }: PartOptions): Promise<Fields> {
  const results = pipelines.map((pipeline) => {
    const result = measurePipeline(pipeline);
    const { stagePaces, microbatches, shareOfFormula, slowestBusyShare, stepMs } = result;
    const words = `${stagePaces.length} stages at paces ${stagePaces.join(" ")}, ${microbatches} microbatches: ` +
      `${(stepMs / 1000).toFixed(1)} s a step (virtual), ${shareOfFormula.toFixed(2)} of M/(M+K-1), ` +
      `the slowest stage is busy ${(100 * slowestBusyShare).toFixed(1)} %`;
    report({ ...result }, words);
    return result;
  });
  const swarm = measureSwarm(bigSwarm);
  const { events, wallMs, tasks } = swarm;
  report({ ...swarm }, `${decimal(bigSwarm.miners)} miners, ${bigSwarm.minutes} virtual minutes: ${wallMs} ms`);
  return Promise.resolve({
    pipelineShareOfFormula: Math.min(...results.slice(0, -1).map((result) => result.shareOfFormula)),
    slowestStageBusyShare: results.at(-1)?.slowestBusyShare,
    simulatedMiners: bigSwarm.miners,
    simulatedMinutes: bigSwarm.minutes,
    simulationWallMs: wallMs,
    simulatedEvents: events,
    simulatedTasks: tasks,
    microsecondsPerEvent: (1000 * wallMs) / events,
  });
}
