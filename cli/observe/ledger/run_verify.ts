/** `iota verify`: checks a run's signed log offline and names the first line that does not follow. */

import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { decodeAddress } from "../../../chain/wallet/ss58.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { ledgerPath } from "../../files/ledger_files.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { type VerifiedLedger, verifyLedger } from "./verify_ledger.ts";
import { MergesSeen, verifyModel } from "./verify_model.ts";
import { textOf } from "./verify_text.ts";

export async function runVerify({ options, output, positionals }: CommandContext): Promise<number> {
  const place = placeOf({ named: options.text("run"), word: positionals[0] });
  const wanted = options.text("hub");
  if (wanted !== undefined && decodeAddress(wanted) === null) {
    throw new UsageError(`--hub must be a whole address, but is '${wanted}'`, {
      next: "Copy the orchestrator's whole address from behind the # of the run's invite; a part of it proves nothing",
    });
  }
  const path = await logPathOf(place);
  const merges = new MergesSeen();
  const onEntry = (entry: LogEntry, line: number) => merges.take(entry, line);
  const found = await verifyLedger(path, { verify: verifySignature, onEntry });
  if (found === null || isEmpty(found)) throw missingLog(path);
  const { wrong, ...counts } = found;
  const otherHub = wanted !== undefined && (wanted !== found.hub || found.signedLine === 0);
  for (const line of textOf(found, { isOtherHub: otherHub })) output.line(line);
  if (otherHub) {
    const by = found.signedLine === 0 ? "nobody, as its first round has not ended" : found.hub;
    output.log.error(`The log is signed by ${by}, not by ${wanted}`);
  }
  const folder = options.text("model");
  const isSound = wrong === null && !otherHub;
  const model = folder === undefined || !isSound ? null : await verifyModel(folder, { found, merges });
  if (model !== null) output.line(model.text);
  output.answer({
    ...{ log: path, ...counts, firstWrongLine: wrong?.line ?? null, why: wrong?.why ?? null },
    ...(folder === undefined ? {} : { model: { folder, ...model } }),
  }, "");
  return isSound && model?.isAgreed !== false ? 0 : 1;
}

function placeOf({ named, word }: { named: string | undefined; word: string | undefined }): string {
  if (named !== undefined && word !== undefined && named !== word) {
    throw new UsageError(`Cannot verify two runs at once: '${word}' and --run '${named}' were given`, {
      next: "Leave one of them out",
    });
  }
  const place = word ?? named;
  if (place !== undefined) return place;
  throw new UsageError("There is no run on this machine to verify; a run's folder or its log must be given", {
    next: "For example: iota verify runs/demo",
  });
}

export async function logPathOf(place: string): Promise<string> {
  try {
    return (await Deno.stat(place)).isDirectory ? ledgerPath(place) : place;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw missingLog(place);
    throw error;
  }
}

export function missingLog(path: string): UserError {
  return new UserError(`There is no signed log in '${path}', or it is empty`, {
    next: "Give the folder of a run that an orchestrator of this version has kept, for example runs/demo",
  });
}

/** Killed before its first entry: it proves nothing. */
export const isEmpty = ({ lines, wrong, lostLines }: VerifiedLedger): boolean =>
  lines === 0 && wrong === null && lostLines === 0;
