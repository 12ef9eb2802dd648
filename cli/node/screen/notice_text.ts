/** The orchestrator's notifications to a miner, in sentences. */

import { unreachable } from "../../../core/assert.ts";
import type { MinerRecord } from "../../../core/miner/event.ts";
import { uploadText } from "../../../core/orchestrator/merge/losses/lost_stages.ts";
import { clockText } from "../../../net/auth/clocks.ts";
import { unservedText } from "../../observe/screen/record_words.ts";
import type { Notice, ToldDuty } from "../../../core/protocol/notice.ts";
import { plural, printable } from "../../terminal/text/format.ts";

const dutyTexts: Readonly<Record<ToldDuty, string>> = {
  confirming: "its commitment to a step's gradient",
  committing: "its payload for the merge",
  reducing: "its slices of the merge",
  applying: "the merged parameters",
  uploading: "an upload of parameters",
  showing: "parameters that it had to upload",
};

function behindText({ merges, startsAnew }: Extract<Notice, { about: "behind" }>): string {
  const rounds = plural(merges, "round");
  return startsAnew
    ? `this link is too slow to join: the run merged more than ${rounds} while the stage loaded; loading it anew`
    : `the run merged ${rounds} while the stage loaded; applying those merges before the first task`;
}

export function standstillText({ why, stages, sinceMs }: Extract<Notice, { about: "standstill" }>): string {
  const since = clockText(sinceMs);
  switch (why) {
    case null:
      return "the run goes on";
    case "owner":
      return `the run is paused by its owner since ${since}`;
    case "disk":
      return `the run is paused since ${since}: the orchestrator's disk is full`;
    case "halt":
      return `the run is halted since ${since}, as its last rounds were lost; it tries again by itself`;
    case "stages":
      return `the run stands still since ${since}: ${unservedText(stages)}`;
    default:
      return unreachable(why);
  }
}

export const failedUploadText = ({ round, upload }: Extract<MinerRecord, { type: "uploadFailed" }>): string =>
  `round ${round}: ${uploadText(upload)}`;

export function noticeText(notice: Notice): string {
  switch (notice.about) {
    case "withheld":
      return `round ${notice.round}: paid less, as ${dutyTexts[notice.duty]} missed the deadline`;
    case "rest":
      return `no stage until round ${notice.untilRound}: too many missed deadlines; check link and device`;
    case "forfeit":
      return `unvested pay from round ${notice.fromRound} on was forfeited: the parameters were never uploaded`;
    case "behind":
      return behindText(notice);
    case "rival":
      return `another process, at ${
        printable(notice.from)
      }, asked to use this hotkey and was refused: stop it, or give it a hotkey ` +
        "of its own";
    case "standstill":
      return standstillText(notice);
    default:
      return unreachable(notice);
  }
}
