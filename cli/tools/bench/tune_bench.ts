/**
 * `iota bench --tune`: finds this adapter's fastest kernels for a model's matrix products, and keeps them for later
 * runs.
 */

import { resolveConfig } from "../../../core/settings/parse.ts";
import { isSizeName, type SizeName, sizeNames } from "../../../core/config/size.ts";
import type { GemmSettings } from "../../../gpu/webgpu/generate/gemm_settings.ts";
import type { LinearSizes } from "../../../gpu/stage_ops.ts";
import { choiceOf } from "../../../gpu/webgpu/tuning/tune_gemm.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UserError } from "../../program/errors.ts";
import { deviceText, openDevice } from "../../device/open_device.ts";
import { keepTuning } from "../../device/tuning_file.ts";
import { decimal } from "../../terminal/text/format.ts";
import { gemmForms } from "../../../gpu/speed/gemm_speed.ts";

const softwareSize: SizeName = "tiny";
const hardwareSize: SizeName = "100m";
const mostRows = 4096;

export async function runTune(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const worker = await openDevice(options.given("device") ? options.text("device") : "webgpu", { threads: 1 });
  output.line(`Tunes ${deviceText(worker)}`);
  try {
    const { device, name: adapter, isSoftware } = worker.adapter;
    const size = sizeOf(options.given("size") ? options.text("size") : undefined) ??
      (isSoftware ? softwareSize : hardwareSize);
    const tuning = await worker.tune({ shapes: shapesOf(size) });
    if (tuning === null) {
      throw new UserError(`Cannot tune ${adapter}: its kernels have no settings`, {
        next: "Tune a GPU: --device gpu, or a software driver: --device software",
      });
    }
    output.line(
      `Matrix products of ${size}, timed by ${tuning.isOnDevice ? "the device's own timestamps" : "the clock"}`,
    );
    output.line("");
    const rows = tuning.products.map(({ kind, best: settings, defaultMs, bestMs, tried, wrong }) => {
      const row = { kind: gemmForms[kind], settings, defaultMs, bestMs, speedup: defaultMs / bestMs, tried, wrong };
      output.event({ type: "measurement", ...row });
      output.line(
        `  ${row.kind.padEnd(4)} ${decimal(defaultMs).padStart(9)} ms -> ${decimal(bestMs).padStart(9)} ms, ` +
          `${decimal(row.speedup)} times as fast  ${settingsText(settings)}; ${tried} tried` +
          `${wrong === 0 ? "" : `, ${wrong} faster ones gave wrong results`}`,
      );
      return row;
    });
    const file = await keepTuning(context.dataFolder(), { adapter, gemm: choiceOf(tuning, { isSoftware }) });
    output.line("");
    output.line(`Kept in ${file}: every later run from this data folder uses it`);
    output.summary({ device, adapter, isSoftware, size, isTimedByDevice: tuning.isOnDevice, file, rows });
  } finally {
    await worker.finish(); // never terminated just before the exit: see its contract
  }
  return 0;
}

function sizeOf(text: string | undefined): SizeName | undefined {
  if (text === undefined) return undefined;
  if (isSizeName(text)) return text;
  throw new UserError(
    `There is no size '${text}', only ${sizeNames.join(", ")}`,
  );
}

/** The products at both ends of attention, and the feed-forward layer's two. */
function shapesOf(size: SizeName): LinearSizes[] {
  const resolved = resolveConfig({ size, overrides: {} });
  if (!resolved.ok) throw new Error(`size ${size} must be a configuration`);
  const { model: { width, ffnWidth, contextLength }, train: { sequencesPerMicrobatch } } = resolved.config;
  const rows = Math.min(mostRows, sequencesPerMicrobatch * contextLength);
  return [
    { rows, inWidth: width, outWidth: width },
    { rows, inWidth: width, outWidth: 2 * ffnWidth },
    { rows, inWidth: ffnWidth, outWidth: width },
  ];
}

function settingsText(settings: GemmSettings): string {
  const { family, rows, columnVectors } = settings;
  const outputs = `${rows} x ${4 * columnVectors} outputs a lane`;
  if (family === "direct") return `${settings.lanes} lanes, ${outputs}, no tiles`;
  return `${settings.lanesX} x ${settings.lanesY} lanes, ${outputs}, tiles ${settings.depth} deep` +
    (settings.sums === "scalars" ? ", scalar sums" : "");
}
