/** What a run's own files say about its training, for the card of its model. */

import { basename } from "node:path";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { TrainedFacts } from "../../model/export/model_card.ts";
import type { TrainedBy } from "../../model/source/model_source.ts";
import { type DatasetManifest, readDatasetManifest } from "../../model/data/dataset_manifest.ts";
import { headPath, ledgerPath, readHead } from "../../files/ledger_files.ts";
import { verifyLedger } from "./verify_ledger.ts";
import { readRecordLog } from "../projection/record_log.ts";

export async function trainedFacts({ run, step, config }: TrainedBy): Promise<TrainedFacts> {
  const { view } = await readRecordLog(run);
  const heldOut = view.heldOut.filter((point) => point.step <= step).map(({ step, loss }) => ({ step, loss }));
  const dataset = await readDatasetManifest(`${run}/dataset`);
  const last = heldOut.at(-1);
  return {
    corpus: corpusText(config.data.corpus, dataset),
    heldOut,
    bitsPerByte: dataset === null || last === undefined ? null : last.loss / Math.LN2 / dataset.bytesPerToken,
    miners: await minersOf(run),
    log: await logOf(run),
  };
}

function corpusText(corpus: string, dataset: DatasetManifest | null): string {
  if (corpus === "sotu") {
    return "State of the Union addresses of the presidents of the United States, in the public domain";
  }
  const { inputs, license, origin } = dataset ?? {};
  const names = inputs?.map(({ name }) => `\`${basename(name)}\``).join(", ") ?? `\`${basename(corpus)}\``;
  const terms = [
    ...(license === undefined ? [] : [`license ${license}`]),
    ...(origin === undefined ? [] : [`from ${origin}`]),
  ];
  return terms.length === 0 ? `${names}; license and origin are not stated` : `${names}; ${terms.join(", ")}`;
}

/** By the accepted units of work in the signed log. */
async function minersOf(run: string): Promise<TrainedFacts["miners"]> {
  const units = new Map<NodeId, number>();
  await verifyLedger(ledgerPath(run), {
    verify: verifySignature,
    onEntry: (entry) => {
      if (entry.type !== "step") return;
      entry.miners.forEach((miner, i) => units.set(miner, (units.get(miner) ?? 0) + (entry.units[i] ?? 0)));
    },
  });
  const total = [...units.values()].reduce((sum, each) => sum + each, 0);
  return [...units].map(([hotkey, own]) => ({ hotkey, share: total === 0 ? 0 : own / total }))
    .toSorted((a, b) => b.share - a.share);
}

async function logOf(run: string): Promise<TrainedFacts["log"]> {
  const head = await readHead(headPath(ledgerPath(run)));
  return head === null ? null : { run: head.run, hub: head.signer, line: head.line, hash: head.hash };
}
