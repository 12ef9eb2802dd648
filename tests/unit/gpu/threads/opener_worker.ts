/** Opens a job on a board, leaves it to others and says how that ended. */

import { JobBoard } from "../../../../gpu/cpu/threads/job_board.ts";

export interface Opened {
  readonly board: SharedArrayBuffer;
  readonly threads: number;
}

const scope = self as unknown as {
  onmessage: (event: MessageEvent<Opened>) => void;
  postMessage(message: string): void;
};

scope.onmessage = ({ data }) => {
  const board = new JobBoard(data.threads, data.board);
  board.open({ operation: "kernel", numbers: [], units: 2, unitNs: 1 }, { grain: 1 });
  scope.postMessage("opened");
  try {
    board.finish();
    scope.postMessage("finished");
  } catch (error) {
    scope.postMessage((error as Error).message);
  }
};
