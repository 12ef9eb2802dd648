/**
 * `lab redteam`: lets the attackers of the catalogue loose on whole swarms in this process, each beside a calm run of
 * the same seed, and says what came of it.
 *
 * Three stages of three replicas, three validators, real numbers, virtual time. Pay counts from the attack's first
 * round on; it includes that of honest rounds before it, which is due later.
 */

import { openProgress } from "../../../cli/terminal/output/progress.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { withLabData } from "../world/lab_data.ts";
import { alignedRows } from "../world/aligned_rows.ts";
import { configOf, type Settings } from "../world/lab_settings.ts";
import { processor as device } from "../world/devices.ts";
import { addressOf, type LabOptions, type Own, type Place, placesOf, runLab } from "../world/run_lab.ts";
import type { World } from "../world/world.ts";
import { givenRun } from "../../../cli/terminal/options/run_options.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import { decimal, plural } from "../../../cli/terminal/text/format.ts";
import { type AttackName, attackNames } from "./attack_names.ts";
import { type Attack, attacks } from "./attacks.ts";
import { hostileMiner, hostileValidator } from "./hostile_node.ts";
import {
  type AttackBook,
  type AttackRow,
  noteRecord,
  noteScores,
  openBook,
  rowOf,
  type Sides,
} from "./measure_attack.ts";

const stages = 3;
const replicas = 3;
const plenty = 1_000_000;

/** The attacks are written for these; payload patches for float32, false means for replicas that reduce. */
const fixed = {
  "pipeline.stages": stages,
  "swarm.replicas": replicas,
  "swarm.validators": 3,
  "outer.payload": "float32",
  "outer.reducers": "replicas",
} satisfies Settings;

/** Deadlines are far longer than a round, so that a missed one shows. */
const common = {
  "train.stepsPerRound": 8,
  "train.microbatchesPerStep": 9,
  "limits.leaseMs": 20_000,
  "limits.mergePhaseMs": 20_000,
} satisfies Settings;

export async function runRedteam(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const wanted = options.text("attack") ?? "all";
  const names = attackNames.filter((name) => wanted === "all" || wanted === name);
  const rounds = options.number("rounds") ?? 20;
  const fromRound = options.number("honest-rounds") ?? 0;
  if (fromRound >= rounds) {
    throw new UsageError(
      `--honest-rounds is ${fromRound}, and must be less than --rounds, which is ${rounds}`,
      {
        next: "See: lab redteam --help",
      },
    );
  }
  const config = await configFor(context, rounds);
  const folder = await Deno.makeTempDir({ prefix: "iota-redteam-" });
  try {
    output.line(
      `${plural(names.length, "attack")} of ${plural(rounds - fromRound, "round")} each on ${
        plural(stages, "stage")
      } of ${plural(replicas, "replica")}`,
    );
    const rows = await withLabData({ folder, config }, async (batches) => {
      const run = { config, batches, device, signal: context.interruption() };
      const { loss: calmLoss, validatorShare } = await runLab({ ...run, onRecord: () => {} });
      output.line(`without an attack the run ends with a held-out loss of ${decimal(calmLoss)} nats per token`);
      output.line(`its validators compute ${((validatorShare ?? 0) * 100).toFixed(1)} % of what its miners do`);
      output.event({ type: "calm", loss: calmLoss, validatorShare });
      const rows: AttackRow[] = [];
      const progress = openProgress(output, "attacking", "attacks");
      for (const [done, name] of names.entries()) {
        progress.at(done, names.length, name);
        const row = await attacked({ name, ...run, rounds, fromRound, calmLoss });
        rows.push(row);
        output.event({ type: "attack", ...row });
        output.line(`${name.padEnd(nameWidth)}${attacks[name].doc}`);
      }
      progress.close();
      return rows;
    });
    output.line("");
    for (const line of tableOf(rows)) output.line(line);
    output.answer({ attacks: rows }, "");
    return rows.some(({ honestEjected }) => honestEjected > 0) ? 1 : 0;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const nameWidth = 2 + Math.max(...attackNames.map(({ length }) => length));

async function configFor(context: CommandContext, rounds: number): Promise<RunConfig> {
  const { file, input } = await givenRun(context);
  const size = input.size ?? (file === null ? "toy" : undefined);
  const given = size === undefined ? input : { ...input, size };
  for (const path of [...Object.keys(fixed), "train.steps"]) {
    if (input.overrides?.[path] === undefined) continue;
    throw new UsageError(`Cannot set ${path}: the attacks determine it`, {
      next: "Leave it out, or see: lab redteam --help",
    });
  }
  const resolve = (settings: Settings) => configOf({ common, input: given, fixed: settings });
  const { train: { stepsPerRound } } = resolve({ ...fixed, "train.steps": plenty }); // the rounds decide how many there are
  return resolve({ ...fixed, "train.steps": rounds * Math.max(1, stepsPerRound) });
}

interface AttackedRunOptions extends Pick<LabOptions, "config" | "batches" | "device" | "signal"> {
  readonly name: AttackName;
  readonly rounds: number;
  readonly fromRound: number; // the first that is attacked
  readonly calmLoss: number;
}

async function attacked({ name, rounds, fromRound, calmLoss, ...run }: AttackedRunOptions): Promise<AttackRow> {
  const { config } = run;
  const attack = attacks[name];
  const sides = sidesOf(attack, config);
  const hostile = new Set<NodeId>([...sides.miners, ...sides.validators]);
  const honest = everyone(config).filter((node) => !hostile.has(node));
  const book: AttackBook = openBook(sides, fromRound);
  const { loss } = await runLab({
    ...run,
    patch: (place, world) =>
      hostile.has(addressOf(place, config)) ? patched(attack, { place, world, config, fromRound }) : {},
    onRecord: (record, state) => noteRecord(book, record, state),
    onScores: (scores) => noteScores(book, scores),
  });
  return rowOf(book, { name, rounds, loss, calmLoss, honest });
}

const everyone = (config: RunConfig): NodeId[] => placesOf(config).map((place) => addressOf(place, config));

/** The first replicas of the stage are hostile, and the first validator. */
function sidesOf({ stage, miners, slowness = 1, validator }: Attack, config: RunConfig): Sides {
  const ofStage = placesOf(config).filter(({ role, index }) => role === "miner" && index % stages === stage)
    .map((place) => addressOf(place, config));
  return {
    miners: ofStage.slice(0, miners),
    machines: miners / slowness,
    validators: validator === undefined ? [] : [addressOf({ role: "validator", index: 0 }, config)],
    peers: ofStage.slice(miners),
  };
}

function patched(
  { miner, validator, slowness }: Attack,
  { place: { role }, world, config, fromRound }: {
    place: Place;
    world: World;
    config: RunConfig;
    fromRound: number;
  },
): Own {
  const { blobs: store } = world;
  const isOn = () => world.orchestrator.state.round >= fromRound;
  const { stepsPerRound } = config.train;
  if (role === "validator") {
    const hostile = validator?.() ?? {};
    const own = hostileValidator({ hostile, host: world.device(), store, isOn });
    return { device: own.device, validator: own.machine };
  }
  const host = world.device(slowness);
  const own = hostileMiner({ hostile: miner?.({ stepsPerRound }) ?? {}, host, store, isOn });
  return { device: own.device, miner: own.machine };
}

function tableOf(rows: readonly AttackRow[]): string[] {
  const heading = ["attack", "detected in round", "banned", "pay of honest", "loss gap", "honest banned"];
  const cells = rows.map((row) => [
    row.name,
    row.roundsToDetection === null ? "never" : String(row.roundsToDetection),
    row.ejected ? "yes" : "no",
    row.payShareOfHonest === null ? "-" : `${(100 * row.payShareOfHonest).toFixed(0)} %`,
    row.lossGap.toFixed(3),
    String(row.honestEjected),
  ]);
  return alignedRows([heading, ...cells]);
}
