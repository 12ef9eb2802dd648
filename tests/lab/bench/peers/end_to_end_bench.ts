/**
 * A whole run end to end (E20): four stages of three replicas as processes on loopback, one miner lazy, one with the
 * wrong sign in merges, one miner killed every round, beside one honest process that trains as many tokens.
 *
 *   deno run -A tests/lab/bench/peers/end_to_end_bench.ts [--json] [--seeds 3] [--seed 1] [--rounds 10]
 * [--steps-per-round 8]
 *            [--size toy] [--codec none] [--calm]
 *
 * --codec is of the swarm's wires, the size's own by default; the one process has none. With --calm the same swarm
 * trains once more with nobody hostile or killed, which says how much of the gap is their doing.
 *
 * Asked are: a held-out loss at most 5 % above the one process's, hostile miners below 20 % of an honest miner's pay,
 * nobody honest banned. Exit code 1 if one of them is missed. The payload attack is one of float32, so the run's
 * payload is.
 */

import { TextLineStream } from "../../../../cli/program/text_lines.ts";

const stages = 4;
const replicas = 3;
const mostGap = 0.05;
const mostPay = 0.2;
const iota = new URL("../../../../iota", import.meta.url).pathname;

const isJson = Deno.args.includes("--json");
const withCalm = Deno.args.includes("--calm");
const size = valueOf("--size") ?? "toy";
const seeds = Number(valueOf("--seeds") ?? 3);
const firstSeed = Number(valueOf("--seed") ?? 1);
const rounds = Number(valueOf("--rounds") ?? 10);
const stepsPerRound = Number(valueOf("--steps-per-round") ?? 8);

interface Attacker {
  readonly attack: string;
  readonly ejectedInRound: number | null;
  readonly payShareOfHonest: number | null;
}

/** What a swarm's summary says, as far as it is asked here. */
interface Ended {
  readonly finished: boolean;
  readonly steps: number;
  readonly tokens: number;
  readonly validationLossLast: number | null;
  readonly stageHashesAgree: boolean | null;
  readonly microbatchesLost: number | null;
  readonly minersKilled: number;
  readonly attackers: readonly Attacker[];
  readonly honestEjected: number;
  readonly wallMs: number;
}

interface Row {
  readonly seed: number;
  readonly loss: number;
  readonly lossOfOne: number; // of the one process
  readonly gap: number; // share
  readonly calmGap: number | null; // of the swarm without attackers and kills; null: not asked for
  readonly attackers: readonly Attacker[];
  readonly honestEjected: number;
  readonly minersKilled: number;
  readonly stageHashesAgree: boolean | null;
  readonly microbatchesLost: number | null;
  readonly tokens: number;
  readonly wallMs: number; // all runs
}

const common = (seed: number) => ({
  seed,
  "train.steps": rounds * stepsPerRound,
  "train.stepsPerRound": stepsPerRound,
  "train.microbatchesPerStep": 12, // four for each replica
  "model.layers": stages,
  "outer.payload": "float32",
  "validate.heldOutSequences": 128, // with toy's eight, seeds differ by a fifth of the loss
  "sample.tokens": 0, // nothing else computes
});

/** Runs `iota swarm` to its end, in a folder that is deleted afterwards. */
async function trained(settings: Readonly<Record<string, string | number>>, words: readonly string[]): Promise<Ended> {
  const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
  const set = Object.entries(settings).map(([path, value]) => `${path}=${value}`).join(",");
  const args = ["swarm", "--size", size, "--sample-tokens", "0", "--data", `${folder}/run`, "--set", set];
  const swarm = new Deno.Command(iota, { args: [...args, ...words, "--json"], stdout: "piped", stderr: "piped" })
    .spawn();
  const said = new Response(swarm.stderr).text(); // read beside the run, or a full pipe would stop it
  const lines = swarm.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream({ wholeOnly: true }));
  let last = "{}";
  for await (const line of lines) last = line;
  const { code } = await swarm.status;
  await Deno.remove(folder, { recursive: true });
  const ended: Partial<Ended> & { type?: string } = JSON.parse(last);
  if (code === 0 && ended.type === "summary" && ended.finished === true) return ended as Ended;
  throw new Error(`The swarm ended with ${code}: ${last}\n${await said}`);
}

async function measure(seed: number): Promise<Row> {
  const swarm = {
    ...common(seed),
    "pipeline.stages": stages,
    "swarm.replicas": replicas,
    "swarm.validators": 2,
    ...givenSetting("--codec", "pipeline.codec"),
  };
  const trouble = ["--attackers", "lazy:1,flip-payload:1", "--chaos", "kill-miner every 1 rounds"];
  const attacked = await trained(swarm, trouble);
  const calm = withCalm ? await trained(swarm, []) : null;
  const one = await trained(
    { ...common(seed), "pipeline.stages": 1, "swarm.replicas": 1, "swarm.validators": 1, "pipeline.codec": "none" },
    [],
  );
  if (attacked.tokens !== one.tokens) throw new Error(`Tokens differ: ${attacked.tokens} and ${one.tokens}`);
  const loss = lossOf(attacked);
  const lossOfOne = lossOf(one);
  const { attackers, honestEjected, minersKilled, stageHashesAgree, microbatchesLost, tokens } = attacked;
  return {
    ...{ seed, loss, lossOfOne, gap: loss / lossOfOne - 1, attackers, honestEjected, minersKilled },
    calmGap: calm === null ? null : lossOf(calm) / lossOfOne - 1,
    ...{ stageHashesAgree, microbatchesLost, tokens },
    wallMs: attacked.wallMs + one.wallMs + (calm?.wallMs ?? 0),
  };
}

function lossOf({ validationLossLast }: Ended): number {
  if (validationLossLast === null) throw new Error("A run that is over has been evaluated");
  return validationLossLast;
}

/** The word after a flag; null without it. */
function valueOf(flag: string): string | null {
  const at = Deno.args.indexOf(flag);
  return at === -1 ? null : Deno.args[at + 1] ?? null;
}

function givenSetting(flag: string, path: string): Record<string, string> {
  const value = valueOf(flag);
  return value === null ? {} : { [path]: value };
}

/** The mean of shares of pay; null, which meets no bar: the chain paid nobody in these runs. */
function payOf(rows: readonly Row[], attack: string): number | null {
  const shares = rows.flatMap(({ attackers }) => attackers)
    .filter((each) => each.attack === attack)
    .flatMap(({ payShareOfHonest }) => payShareOfHonest === null ? [] : [payShareOfHonest]);
  return shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

const rows: Row[] = [];
for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
  const row = await measure(seed);
  rows.push(row);
  if (isJson) console.log(JSON.stringify({ type: "measurement", ...row }));
}
const gap = rows.reduce((sum, row) => sum + row.gap, 0) / rows.length;
const pay = { lazy: payOf(rows, "lazy"), "flip-payload": payOf(rows, "flip-payload") };
const honestEjected = rows.reduce((sum, row) => sum + row.honestEjected, 0);
const isMet = gap <= mostGap && honestEjected === 0 &&
  Object.values(pay).every((share) => share !== null && share < mostPay);
if (isJson) {
  console.log(JSON.stringify({ type: "summary", rounds, stepsPerRound, seeds, gap, pay, honestEjected, isMet }));
} else {
  console.table(rows.map(({ attackers, ...row }) => ({
    ...row,
    ...Object.fromEntries(attackers.map(({ attack, ejectedInRound, payShareOfHonest }) => [
      attack,
      `${payShareOfHonest?.toFixed(3) ?? "unpaid"}, out in ${ejectedInRound ?? "none"}`,
    ])),
  })));
  console.log(`gap ${(100 * gap).toFixed(1)} %, ${isMet ? "all met" : "not all met"}`);
}
if (!isMet) Deno.exitCode = 1;
