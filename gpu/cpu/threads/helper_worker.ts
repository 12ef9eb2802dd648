/** Computes ranges of one stage's jobs until its board is closed. */

import { handOf } from "../jobs/operations.ts";
import { cpuKernels } from "../kernels/cpu_kernels.ts";
import type { FromHelper, ToHelper } from "./helper_messages.ts";
import { JobBoard } from "./job_board.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ToHelper>) => void;
  postMessage(message: FromHelper): void;
};

scope.onmessage = ({ data: { index, threads, memory, module, scratch, board: shared } }) => {
  const board = new JobBoard(threads, shared);
  const hand = handOf({ index, memory, kernels: cpuKernels(memory, module), scratch });
  scope.postMessage({ type: "ready" });
  try {
    board.help(hand);
  } catch (error) {
    board.fail(String(error));
  }
  scope.postMessage({ type: "ended" });
};
