/**
 * The news of a run as anyone may read them at the orchestrator's port.
 *
 * Owns: what is left out. A sentence that can hold a path of this machine, or text that a node sent about its own machine, is
 * replaced by one that cannot. Text is one printable line of at most `textLength` characters.
 */

import type { News, NewsRecord } from "../../../core/view/view.ts";
import { printable, shortAddress } from "../../terminal/text/format.ts";
import { newsLine } from "../screen/news_words.ts";
import { isLate, isReturn, reissuedClause } from "../screen/record_words.ts";

export interface PublicNews {
  readonly atMs: number; // wall clock
  readonly level: "info" | "warn";
  readonly text: string;
}

const textLength = 240;

export function publicNews({ atMs, record }: News): PublicNews {
  const { level, text } = newsLine(record);
  return { atMs, level, text: printable(withoutPrivate(record) ?? text).slice(0, textLength) };
}

/** Null if the whole sentence may be shown. */
function withoutPrivate(record: NewsRecord): string | null {
  switch (record.type) {
    case "checkpointWritten":
      return `checkpoint of step ${record.step} written`;
    case "runPaused":
      return "the run is paused until the orchestrator's disk has room";
    case "warning":
    case "noted":
      return "a warning; its text is in the orchestrator's log";
    case "runFinished":
      return `run ${record.finished ? "ended" : "stopped"} at step ${record.step}`;
    case "nodeLost":
      return isReturn(record) ? null : `${shortAddress(record.node)} lost${reissuedClause(record.tasksReissued)}`;
    case "taskReleased":
      return `task ${record.task} taken back from ${shortAddress(record.node)}`;
    case "faultSeen":
      return isLate(record) ? null : `${whoOf(record.node)}: fault '${record.code}'`;
    case "blamed":
      return `${shortAddress(record.node)} is to blame: fault '${record.code}'`;
    default:
      return null;
  }
}

const whoOf = (node: string | null): string => node === null ? "a stranger" : shortAddress(node);
