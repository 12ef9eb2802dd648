/**
 * Every metric of `/metrics`. Published names stay. Totals count from the process's start unless their help says
 * otherwise.
 */

import { byteKinds, noBytes } from "../../../core/view/curves.ts";
import { type RunView, tokensPerSecond } from "../../../core/view/view.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import type { Metric, Sample } from "./metric.ts";
import type { ViewRecord } from "../../../core/view/view_record.ts";

interface MetricSource {
  readonly view: RunView;
  readonly counts: RunCounts;
  readonly refused: RefusalCounts;
}

type RunMetric = Metric<MetricSource>;

const secondMs = 1_000;
const phases: readonly RunView["phase"][] = ["gathering", "training", "merging", "finished", "stopped"];
const roles = ["miner", "validator"] as const;
const memberStates = ["loading", "ready", "lost"] as const;

export const runMetrics: readonly RunMetric[] = [
  gauge("process_start_time_seconds", {
    unit: "seconds",
    help: "When the orchestrator's process began, in seconds since 1970.",
    of: ({ view }) => view.startedAtMs / secondMs,
  }),
  {
    name: "iota_run_info",
    type: "gauge",
    unit: null,
    help: "Always 1; the labels name the run and its size.",
    samples: ({ view: { facts } }) => [{ value: 1, labels: { run: facts.run, size: facts.size } }],
  },
  gauge("iota_parameters", {
    unit: "parameters",
    help: "Parameters of the whole model.",
    of: ({ view }) => view.facts.parameters,
  }),
  {
    name: "iota_phase",
    type: "gauge",
    unit: null,
    help: "1 for the phase that the run is in, 0 for the others.",
    samples: ({ view }) => phases.map((phase) => ({ value: Number(view.phase === phase), labels: { phase } })),
  },
  gauge("iota_paused", {
    unit: null,
    help: "1 while the run waits for room on the orchestrator's disk.",
    of: ({ view }) => Number(view.isPaused),
  }),
  gauge("iota_halted", {
    unit: null,
    help: "1 while the run waits before it repeats a lost round.",
    of: ({ view }) => Number(view.lostRounds.isHalted),
  }),
  gauge("iota_rounds_lost", {
    unit: "rounds",
    help: "Rounds that did not count because a stage had no payload or no merged parameters.",
    of: ({ view }) => view.lostRounds.count,
  }),
  gauge("iota_step", { unit: "steps", help: "Closed optimizer steps.", of: ({ view }) => view.step }),
  gauge("iota_steps", { unit: "steps", help: "Optimizer steps of the whole run.", of: ({ view }) => view.facts.steps }),
  gauge("iota_round", { unit: "rounds", help: "The open round; a merge closes each.", of: ({ view }) => view.round }),
  gauge("iota_step_duration_seconds", {
    unit: "seconds",
    help: "How long the last step took.",
    of: ({ counts }) => counts.stepMs === null ? null : counts.stepMs / secondMs,
  }),
  gauge("iota_loss_nats", {
    unit: "nats per token",
    help: "Training loss of the last step, in nats per token.",
    of: ({ view }) => view.lossLast,
  }),
  gauge("iota_validation_loss_nats", {
    unit: "nats per token",
    help: "Loss on held-out text at the last evaluation, in nats per token.",
    of: ({ view }) => view.validation.at(-1)?.loss ?? null,
  }),
  gauge("iota_learning_rate", {
    unit: null,
    help: "Learning rate of the last step.",
    of: ({ view }) => view.learningRate,
  }),
  gauge("iota_gradient_norm", {
    unit: null,
    help: "Norm of the last step's gradient before clipping.",
    of: ({ counts }) => counts.gradientNorm,
  }),
  counter("iota_tokens_total", { unit: "tokens", help: "Tokens of closed steps.", of: ({ counts }) => counts.tokens }),
  gauge("iota_tokens_per_second", {
    unit: "tokens per second",
    help: "Tokens per second over the last few steps, merges included.",
    of: ({ view }) => tokensPerSecond(view),
  }),
  {
    name: "iota_microbatches_in_flight",
    type: "gauge",
    unit: "microbatches",
    help: "Microbatches of the open step whose next task is on this stage, by direction.",
    samples: ({ view }) =>
      view.stages.flatMap(({ forward, backward }, stage) => [
        { value: forward, labels: { stage: String(stage), direction: "forward" } },
        { value: backward, labels: { stage: String(stage), direction: "backward" } },
      ]),
  },
  gauge("iota_stages_unserved", {
    unit: "stages",
    help: "Stages without a connected miner; the run waits for them.",
    of: ({ view }) => view.unserved.length,
  }),
  {
    name: "iota_members",
    type: "gauge",
    unit: "members",
    help: "Members by role and state.",
    samples: ({ view }) => membersOf(view),
  },
  {
    name: "iota_tasks_finished_total",
    type: "counter",
    unit: "tasks",
    help: "Finished tasks by miner, for the first 256 miners; the label 'other' counts the tasks of all others.",
    samples: ({ counts }) => labelled(counts.tasks, "miner"),
  },
  counter("iota_tasks_released_total", {
    unit: "tasks",
    help: "Tasks taken back from a miner and handed out again, over the whole run.",
    of: ({ view }) => view.reLeases,
  }),
  {
    name: "iota_verdicts_total",
    type: "counter",
    unit: "tasks",
    help: "Audited tasks by outcome, over the whole run.",
    samples: ({ view: { verdicts: { passed, failed } } }) => [
      { value: passed, labels: { outcome: "passed" } },
      { value: failed, labels: { outcome: "failed" } },
    ],
  },
  {
    name: "iota_merge_duration_seconds",
    type: "summary",
    unit: "seconds",
    help: "How long merges took, and how many there were.",
    samples: ({ counts }) => [
      { value: counts.mergeMs / secondMs, suffix: "_sum" },
      { value: counts.merges, suffix: "_count" },
    ],
  },
  gauge("iota_merge_bytes_per_miner", {
    unit: "bytes",
    help: "Bytes uploaded in the last merge, mean over its miners.",
    of: ({ view }) => view.lastMerge?.bytesPerMiner ?? null,
  }),
  {
    name: "iota_wire_bytes_per_token",
    type: "gauge",
    unit: "bytes per token",
    help: "Bytes that cross a stage boundary for each token, as counted at the orchestrator's port.",
    samples: ({ view: { wire } }) =>
      wire === null ? [] : [
        { value: wire.forwardBytes, labels: { direction: "forward" } },
        { value: wire.backwardBytes, labels: { direction: "backward" } },
      ],
  },
  {
    name: "iota_port_bytes_total",
    type: "counter",
    unit: "bytes",
    help: "Bytes over the orchestrator's port, both ways, by kind: wires, merge, parameters, control.",
    samples: ({ counts }) => byteKinds.map((kind) => ({ value: counts.bytes[kind], labels: { kind } })),
  },
  {
    name: "iota_faults_total",
    type: "counter",
    unit: "faults",
    help: "Faults of members by code.",
    samples: ({ counts }) => labelled(counts.faults, "code"),
  },
  counter("iota_blamed_total", {
    unit: "faults",
    help: "Faults that were proven and are blamed on a node.",
    of: ({ counts }) => counts.blamed,
  }),
  counter("iota_warnings_total", {
    unit: "warnings",
    help: "Warnings of the orchestrator.",
    of: ({ counts }) => counts.warnings,
  }),
  {
    name: "iota_refused_connections_total",
    type: "counter",
    unit: "connections",
    help: "Connections that did not prove a node, by reason.",
    samples: ({ refused }) => labelled(new Map(Object.entries(refused.byCode)), "code"),
  },
];

interface Single {
  readonly unit: string | null;
  readonly help: string;
  readonly of: (source: MetricSource) => number | null;
}

function gauge(name: string, { of, ...single }: Single): RunMetric {
  return { name, type: "gauge", ...single, samples: (source) => one(of(source)) };
}

function counter(name: string, { of, ...single }: Single): RunMetric {
  return { name, type: "counter", ...single, samples: (source) => one(of(source)) };
}

const one = (value: number | null): Sample[] => value === null ? [] : [{ value }];

function labelled(counts: ReadonlyMap<string, number>, label: string): Sample[] {
  return Array.from(counts, ([name, value]) => ({ value, labels: { [label]: name } }));
}

function membersOf(view: RunView): Sample[] {
  const counts = new Map<string, number>();
  for (const { role, state } of Object.values(view.nodes)) {
    counts.set(`${role} ${state}`, (counts.get(`${role} ${state}`) ?? 0) + 1);
  }
  return roles.flatMap((role) =>
    memberStates.map((state) => ({ value: counts.get(`${role} ${state}`) ?? 0, labels: { role, state } }))
  );
}

const mostMiners = 256;
const mostCodes = 64;
const otherName = "other";

export class RunCounts {
  tokens = 0;
  merges = 0;
  mergeMs = 0;
  blamed = 0;
  warnings = 0;
  stepMs: number | null = null;
  gradientNorm: number | null = null;
  readonly bytes = noBytes();
  readonly tasks = new Map<string, number>(); // finished, by miner
  readonly faults = new Map<string, number>();

  add(record: ViewRecord): void {
    switch (record.type) {
      case "stepClosed":
        this.tokens += record.tokens;
        this.stepMs = record.stepMs;
        this.gradientNorm = record.gradientNorm;
        return;
      case "bytesMoved":
        for (const kind of byteKinds) this.bytes[kind] += record[kind];
        return;
      case "taskFinished":
        return addOne(this.tasks, { name: record.node, most: mostMiners });
      case "roundMerged":
        this.merges += 1;
        this.mergeMs += record.mergeMs;
        return;
      case "faultSeen":
        return addOne(this.faults, { name: record.code, most: mostCodes });
      case "blamed":
        this.blamed += 1;
        return;
      case "warning":
        this.warnings += 1;
        return;
    }
  }
}

function addOne(counts: Map<string, number>, { name, most }: { name: string; most: number }): void {
  const key = counts.has(name) || counts.size < most ? name : otherName;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
