/** An arithmetic thread of the orchestrator (arithmetic_thread.ts). */

import type { RunConfig } from "../../../../core/config/config.ts";
import { atOnce } from "../../../../core/long_work.ts";
import type { StageSpec } from "../../../../core/model/spec.ts";
import { computing, type VectorAnswer, type VectorCall, VectorCalls, type VectorCallType } from "./vector_calls.ts";

export type ArithmeticRequest =
  | { readonly id: null; readonly run: { readonly config: RunConfig; readonly stages: readonly StageSpec[] } }
  | { readonly id: number; readonly type: VectorCallType; readonly call: VectorCall<VectorCallType> };

export interface ArithmeticAnswer {
  readonly id: number;
  readonly answer: VectorAnswer<VectorCallType>;
}

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ArithmeticRequest>) => void;
  postMessage(message: ArithmeticAnswer): void;
};

let calls: VectorCalls | null = null;

scope.onmessage = ({ data }) => {
  if (data.id === null) calls = new VectorCalls(data.run);
  else if (calls !== null) {
    const { id, type, call } = data;
    scope.postMessage({ id, answer: atOnce(computing(calls, type, call as never)) });
  }
};
