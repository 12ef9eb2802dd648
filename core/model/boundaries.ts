/**
 * What crosses each boundary, by its receiving stage (1 to K - 1): the run's codec, unless `pipeline.boundaries` names
 * another. "1=q4block:64, 3=none": four-bit codes of 64 values before stage 1, the whole residual stream before stage
 * 3.
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

/** `text` matches `boundariesPattern`. */
function namedBoundaries(text: string): NamedBoundary[] {
  if (text === "") return [];
  return text.split(/,? |,/).map((part) => {
    const [boundary, codec, width] = part.split(/[=:]/);
    return {
      boundary: Number(boundary),
      codec: codec as Codec, // the pattern allows no other
      bottleneckWidth: width === undefined ? null : Number(width),
    };
  });
}

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

/** As `pipeline.boundaries` names them; the first is stage 1's. */
export function boundariesText(
  model: ModelPlan["model"],
  boundaries: readonly { readonly codec: Codec; readonly width: number }[],
): string {
  return boundaries.map(({ codec, width }, i) => `${i + 1}=${codec}${hasBottleneck(model, codec) ? `:${width}` : ""}`)
    .join();
}

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

/** In their order; empty with one stage. */
export function wiresOfRun(config: Pick<ModelPlan, "model" | "pipeline">): WireSpec[] {
  return Array.from({ length: config.pipeline.stages - 1 }, (_, i) => wireAt(config, i + 1));
}
