/** `iota export`: a run's model as a folder for other programs. */

import { basename, resolve } from "node:path";
import { beyondLlama } from "../../../core/model/plain.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import { UsageError } from "../../program/errors.ts";
import { byteSize, plural } from "../../terminal/text/format.ts";
import { modelPlace } from "../source/model_place.ts";
import { openModel } from "../source/open_model.ts";
import type { ModelSource, TrainedBy } from "../source/model_source.ts";
import { exportGguf } from "./export_gguf.ts";
import type { ExportType } from "../tensors/float_types.ts";
import { exportModel } from "./export_model.ts";
import { modelCard, type TrainedFacts } from "./model_card.ts";
import { provenanceOf } from "./provenance.ts";

const bytesOfMb = 1_000_000; // as transformers counts `max_shard_size`

export async function runExport(
  { options, output }: CommandContext,
  readFacts: (trained: TrainedBy) => Promise<TrainedFacts>,
): Promise<number> {
  const place = modelPlace(options, "to export");
  const out = options.text("out");
  if (out === undefined) {
    throw new UsageError("--out must name the folder to write", { next: "For example: --out out/model" });
  }
  const ofFolder = ["type", "shard-mb"].find((name) => options.flag("gguf") && options.given(name));
  if (ofFolder !== undefined) {
    throw new UsageError(`--${ofFolder} has no meaning with --gguf, which writes one file in float32`, {
      next: "Leave one of them out",
    });
  }
  const startedMs = systemTimers.nowMs();
  const source = await openModel(place, (warning) => output.log.warn(warning));
  const facts = source.trained === null ? null : await readFacts(source.trained);
  const type = options.text("type") as ExportType;
  const progress = openProgress(output, "writing", "tensors");
  const onTensor = (done: number, total: number) => progress.at(done, total);
  const made =
    await (options.flag("gguf")
      ? exportGguf(source, { out, name: source.trained?.config.name ?? basename(resolve(source.path)), onTensor })
      : exportModel(source, {
        ...{ out, onTensor },
        card: modelCard(source, facts),
        provenance: provenanceOf(source, { type, log: facts?.log ?? null }),
        type,
        shardBytes: options.number("shard-mb")! * bytesOfMb,
      }));
  progress.close();
  const beyond = beyondLlama(source.plan);
  output.line(`wrote ${byteSize(made.bytes)} in ${plural(made.shards, "file")} to ${out}`);
  for (const line of kindLines(beyond)) output.line(line);
  output.summary({
    ...summaryOf(source, out),
    ...made,
    plainLlama: beyond === null,
    wallMs: systemTimers.nowMs() - startedMs,
  });
  return 0;
}

function kindLines(beyond: string | null): string[] {
  return beyond === null ? ["a plain Llama: other programs load it as it is"] : [
    `not a plain Llama: it has ${beyond}`,
    "transformers loads it with modeling_iota.py from that folder, which trust_remote_code=True lets it run; Llama classes would compute nonsense",
  ];
}

const summaryOf = ({ trained, path }: ModelSource, out: string) => ({
  ...{ model: path, out },
  ...(trained === null ? {} : { runId: trained.runId, round: trained.round, step: trained.step }),
});
