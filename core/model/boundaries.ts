/**
 * What crosses each boundary of a run. A boundary is numbered by its receiving stage, 1 to K - 1, and has the run's
 * codec unless `pipeline.boundaries` names another: "1=q4block:64, 3=none" means four-bit codes of 64 values between
 * the first two stages, and the whole residual stream before the fourth.
 *
 * Owns that text's meaning and its checks. Bytes and arithmetic are in core/codec.
 */

import { type Codec, defaultGradientBits } from "../codec/codec_names.ts";
import { codecs } from "../codec/codecs.ts";
import type { WireSpec } from "../codec/wire.ts";
import type { ModelPlan } from "./shape.ts";

interface NamedBoundary {
  readonly boundary: number;
  readonly codec: Codec;
  readonly bottleneckWidth: number | null; // null: the run's
}

/** Parses a text that matches `boundariesPattern`. */
function namedBoundaries(text: string): NamedBoundary[] {
  if (text === "") return [];
  return text.split(/,? |,/).map((part) => {
    const [boundary, codec, width] = part.split(/[=:]/);
    return {
      boundary: Number(boundary),
      codec: codec as Codec, // the pattern allows no others
      bottleneckWidth: width === undefined ? null : Number(width),
    };
  });
}

/** The problem of a run's named boundaries, or null. */
export function boundariesProblem({ model, pipeline }: Pick<ModelPlan, "model" | "pipeline">): string | null {
  const named = namedBoundaries(pipeline.boundaries ?? "");
  const numbers = named.map(({ boundary }) => boundary);
  const twice = numbers.find((boundary, i) => numbers.indexOf(boundary) !== i);
  if (twice !== undefined) return `a boundary must have one codec: ${twice} has two`;
  const outside = numbers.find((boundary) => boundary >= pipeline.stages);
  if (outside !== undefined) {
    return `a boundary is named by the stage that receives, from 1 to pipeline.stages - 1 = ${pipeline.stages - 1}: ` +
      `there is no ${outside}`;
  }
  const widths = named.map(({ bottleneckWidth }) => bottleneckWidth ?? 4);
  const wrong = widths.find((width) => width % 4 !== 0 || width > Math.min(4096, model.width));
  if (wrong !== undefined) {
    return `values per token must be a multiple of 4 and at most model.width = ${model.width}: one is ${wrong}`;
  }
  const given = named.find(({ codec, bottleneckWidth }) => bottleneckWidth !== null && !hasBottleneck(model, codec));
  return given === undefined ? null : `codec ${given.codec} has no bottleneck: leave out ":${given.bottleneckWidth}"`;
}

function hasBottleneck(model: ModelPlan["model"], codec: Codec): boolean {
  const widthWith = (bottleneckWidth: number) => codecs[codec].wireWidth({ model, pipeline: { bottleneckWidth } });
  return widthWith(8) !== widthWith(16);
}

/** What crosses the boundary before stage `boundary`. */
export function wireAt({ model, pipeline }: Pick<ModelPlan, "model" | "pipeline">, boundary: number): WireSpec {
  const named = namedBoundaries(pipeline.boundaries ?? "").find((other) => other.boundary === boundary);
  const codec = named?.codec ?? pipeline.codec;
  const bottleneckWidth = named?.bottleneckWidth ?? pipeline.bottleneckWidth;
  const width = codecs[codec].wireWidth({ model, pipeline: { bottleneckWidth } });
  const { gradientBits = defaultGradientBits } = pipeline;
  const isOwn = gradientBits === defaultGradientBits || codecs[codec].gradientFormats === undefined;
  const { sideWidth = 0 } = pipeline;
  return {
    ...{ codec, width },
    ...(isOwn ? {} : { gradientBits }),
    ...(sideWidth === 0 ? {} : { vocabSize: model.vocabSize, sideWidth }),
  };
}

/** What crosses the run's boundaries, in their order; empty with one stage. */
export function wiresOfRun(config: Pick<ModelPlan, "model" | "pipeline">): WireSpec[] {
  return Array.from({ length: config.pipeline.stages - 1 }, (_, i) => wireAt(config, i + 1));
}
