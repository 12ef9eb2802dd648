/**
 * `iota doctor`: the checks, their order, and the overall verdict.
 *
 * All run in parallel, each within --timeout. Exit code 1 if anything is wrong.
 */

import { sizeNames } from "../../../core/config/size.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import { withDeadline } from "../../../chain/subtensor/connection/timers.ts";
import { systemTimers } from "../../../net/timers.ts";
import { closest, meantText, parseOptions } from "../../terminal/options/args.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { hubTrust } from "../../node/find/hub_trust.ts";
import { bareWord } from "../../roles/addresses.ts";
import { noChain, probeChain, probeWallet } from "./chain_check.ts";
import { type ClockSample, judgeClock } from "./clock_check.ts";
import { DeviceChecks } from "./device_checks.ts";
import { deviceChoice } from "../../device/open_device.ts";
import { checkDisk } from "./disk_check.ts";
import { probeHub, usualHub } from "./hub_check.ts";
import { checkMemory, checkOpenFiles, checkProgram } from "./machine_checks.ts";
import { type Check, type Finding, good, type Level, runChecks, type Verdict, worstOf, wrong } from "./verdict.ts";
import type { Paint } from "../../terminal/text/paint.ts";
import { padEnd, plural, printable, wrapped } from "../../terminal/text/format.ts";
import { readConfigFile } from "../../terminal/options/config_file.ts";
import { isRunFile } from "../../terminal/options/file_kind.ts";
import { givenChain, type NamedChain } from "../../terminal/options/named_chain.ts";
import { wordsOfEntry } from "../../terminal/options/option_file.ts";
import { resolveRunFile } from "../../terminal/options/run_file.ts";
import { shellWord } from "../../program/shell_words.ts";

interface Subjects {
  readonly context: CommandContext;
  readonly chain: NamedChain | null;
  readonly file: Verdict | null; // null: none was named
}

async function subjectsOf(context: CommandContext, options: readonly OptionSpec[]): Promise<Subjects> {
  const path = context.options.text("config");
  if (path === undefined) return { context, chain: givenChain(context), file: null };
  const fix = `See every problem with its line: iota config check ${shellWord(path)}`;
  try {
    const { table } = await readConfigFile(path);
    if (isRunFile(table)) {
      const resolved = resolveRunFile({ table });
      if (!resolved.ok) return subjectsWith(context, wrong(resolved.problems[0]!.text, fix));
      const { network, netuid } = resolved.config.chain;
      const file = good(`${path}, run ${resolved.config.name} of size ${resolved.config.size}`, { path });
      return { context, chain: givenChain(context) ?? { network, netuid }, file };
    }
    const known = options.filter(({ name }) => Object.hasOwn(table, name));
    const words = known.flatMap((spec) => wordsOfEntry(spec, table[spec.name]) ?? []);
    const below = parseOptions({ words, options, maxPositionals: 0, helpCommand: "iota help doctor" }).options;
    const both = { ...context, options: overlaid(context.options, below) };
    return subjectsWith(both, good(`${path}, options of a node`, { path }));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return subjectsWith(context, wrong(error.message, error.next ?? fix));
  }
}

const subjectsWith = (context: CommandContext, file: Verdict): Subjects => (
  { context, chain: givenChain(context), file }
);

function overlaid(top: OptionValues, below: OptionValues): OptionValues {
  const of = (name: string) => !top.given(name) && below.given(name) ? below : top;
  return {
    text: (name) => of(name).text(name),
    number: (name) => of(name).number(name),
    flag: (name) => of(name).flag(name),
    given: (name) => of(name).given(name),
  };
}

export async function runDoctor(given: CommandContext, options: readonly OptionSpec[]): Promise<number> {
  const startMs = performance.now();
  const { output } = given;
  const subjects = await subjectsOf(given, options);
  const device = new DeviceChecks(deviceChoice(subjects.context.options.text("device")));
  const checks = chosen(checksOf(subjects, device), given.options.text("skip"));
  const nameWidth = Math.max(...checks.map(({ name }) => name.length));
  const page = { paint: output.paint, columns: output.columns, nameWidth };
  const findings: Finding[] = [];
  const progress = openProgress(output, "checking", "checks");
  for (const [done, pending] of runChecks(checks).entries()) {
    progress.at(done, checks.length, checks[done]!.name);
    const finding = await pending;
    findings.push(finding);
    const { facts, ...words } = finding;
    output.event({ type: "finding", ...words, ...facts });
    for (const line of findingLines(finding, page)) output.line(line);
  }
  progress.close();
  await device.finish();
  const level = worstOf(findings);
  const count = (wanted: Finding["level"]) => findings.filter((finding) => finding.level === wanted).length;
  const isLoud = ({ level }: Finding) => level === "warning" || level === "wrong";
  const kept = output.quiet ? findings.filter(isLoud).flatMap((finding) => findingLines(finding, page)) : [];
  output.line("");
  output.answer({
    level,
    ...{ good: count("good"), warnings: count("warning"), wrong: count("wrong"), skipped: count("skipped") },
    wallMs: Math.round(performance.now() - startMs),
  }, [...kept, closingLine(findings, output.paint)].join("\n"));
  return level === "wrong" ? 1 : 0;
}

const names = ["program", "config", "adapter", "size", "speed", "numbers", "memory", "disk", "open files", "wallet"];
const remoteNames = ["orchestrator", "chain", "clock"];

const compilingMs = 5000; // all kernels of a stage, by a software driver
const comparingMs = 120_000; // three stages of a large size on one thread

function checksOf({ context, chain, file }: Subjects, device: DeviceChecks): Check[] {
  const { options, environment } = context;
  const deadlineMs = 1000 * (options.number("timeout") ?? 5);
  const size = sizeNames.find((name) => name === options.text("size")) ?? null;
  const isWalletNamed = options.given("wallet") || options.given("hotkey");
  const wallet = once(() => probeWallet(context, { isNamed: isWalletNamed }));
  const hub = once(() =>
    probeHub({
      url: bareWord(options.text("orchestrator") ?? usualHub),
      isNamed: options.given("orchestrator"),
      trust: hubTrust(options.text("tls-ca")),
      deadlineMs,
    })
  );
  const hotkey = () => wallet().then(({ address }) => address, () => null);
  const chainProbe = once(async () =>
    chain === null ? noChain : await probeChain({ ...chain, hotkey: hotkey(), deadlineMs })
  );
  const clock = async () => {
    const samples = await Promise.all([hub, chainProbe].map((probe) => heardOf(probe(), deadlineMs)));
    return judgeClock(samples.filter((sample) => sample !== null), environment.system);
  };
  const busy = "Wait longer, if the machine is busy: --timeout 20";
  const late = device.isProcessor ? busy : `${busy}; or look for driver messages: dmesg`;
  const net = "Check the address and the network, or wait longer: --timeout 20";
  const disk = "Pass a folder on another disk with --data DIR";
  const check = (name: string, run: Check["run"], lateFix = disk): Check => ({ name, run, lateFix, deadlineMs });
  return [
    check("program", checkProgram),
    ...(file === null ? [] : [check("config", () => Promise.resolve(file))]),
    check("adapter", () => device.adapter(), late),
    check("size", () => device.size(), late),
    check("speed", () => device.speed(), late),
    { // after speed, on one thread
      ...check("numbers", () => device.numbers(size), late),
      deadlineMs: deadlineMs + (size === null ? compilingMs : comparingMs),
    },
    check("memory", checkMemory),
    check("disk", () => checkDisk(context.dataFolder())),
    check("open files", checkOpenFiles),
    check("wallet", async () => (await wallet()).verdict),
    check("orchestrator", async () => (await hub()).verdict, net),
    check("chain", async () => (await chainProbe()).verdict, net),
    { ...check("clock", clock, net), deadlineMs: deadlineMs + 1000 }, // waits for the two above
  ];
}

/** Null: the probe fails or is late, which its own check reports. */
async function heardOf(probe: Promise<{ clock: ClockSample | null }>, deadlineMs: number): Promise<ClockSample | null> {
  const bounded = withDeadline(probe, { timers: systemTimers, deadlineMs, late: () => new Error("late") });
  return await bounded.then(({ clock }) => clock, () => null);
}

function once<T>(begin: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | null = null;
  return () => begun ??= begin();
}

function chosen(checks: readonly Check[], skip: string | undefined): Check[] {
  const left = skip?.split(",").map((name) => name.trim().replace("-", " ")) ?? [];
  const known = [...names, ...remoteNames];
  for (const name of left) {
    if (known.includes(name)) continue;
    throw new UsageError(`There is no check '${name}'${meantText(closest(name, known))}`, {
      next: `The checks are ${known.join(", ")}`,
    });
  }
  const rest = checks.filter(({ name }) => !left.includes(name));
  if (rest.length > 0) return rest;
  throw new UsageError("--skip names every check", { next: "Leave --skip out" });
}

/** A finding is a mark, a name and the message, and below it the next step. */
interface FindingPage {
  readonly paint: Paint;
  readonly columns: number;
  readonly nameWidth: number;
}

const widest = 100; // longer lines are hard to read

export function findingLines(
  { name, level, text, fix }: Finding,
  { paint, columns, nameWidth }: FindingPage,
): string[] {
  const marks: Record<Level, string> = {
    good: paint.green("●"),
    warning: paint.yellow("!"),
    wrong: paint.red("×"),
    skipped: paint.dim("·"),
  };
  const indent = " ".repeat(nameWidth + 4);
  const width = Math.max(30, Math.min(columns, widest) - indent.length);
  const shade = (line: string) => level === "skipped" ? paint.dim(line) : line;
  const [first = "", ...more] = linesOf(text, width).map(shade);
  const steps = fix === undefined ? [] : linesOf(fix, width - 6);
  return [
    `${marks[level]} ${paint.dim(padEnd(name, nameWidth))}  ${first}`,
    ...more.map((line) => indent + line),
    ...steps.map((line, i) => `${indent}${i === 0 ? paint.dim("next  ") : "      "}${line}`),
  ];
}

const glue = "\ue000"; // from the private use area: no text contains it

/** Keeps a number and its unit on one line. */
function linesOf(text: string, width: number): string[] {
  const glued = printable(text).replaceAll(/(\d) (?=([KMGT]i)?B\b|m?s\b)/g, `$1${glue}`);
  return wrapped(glued, width).map((line) => line.replaceAll(glue, " "));
}

export function closingLine(findings: readonly Finding[], paint: Paint): string {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const warnings = count("warning") === 0 ? "" : plural(count("warning"), "warning");
  if (worstOf(findings) === "wrong") {
    const also = warnings === "" ? "" : `, and ${warnings}`;
    return `${paint.red("Not ready")}: ${plural(count("wrong"), "problem")} to fix${also}.`;
  }
  return warnings === "" ? `${paint.green("Ready")}.` : `${paint.green("Ready")}, with ${warnings}.`;
}
