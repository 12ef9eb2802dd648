/** The thread that encodes text: see encode_pool.ts. */

import { parseTokenizer } from "../data/tokenizer_file.ts";
import { type EncodedJob, type EncodeJob, encodeJob } from "./encode_job.ts";
import type { EncodeBegin, Encoding } from "./encode_pool.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<EncodeBegin | EncodeJob>) => void;
  postMessage(message: EncodedJob, transfer: ArrayBuffer[]): void;
};

let encoding: Encoding | null = null;

scope.onmessage = ({ data }) => {
  if ("tokenizer" in data) {
    encoding = { tokenizer: parseTokenizer(data.tokenizer, "tokenizer.json"), tokenBytes: data.tokenBytes };
    return;
  }
  const encoded = encodeJob(data, encoding!);
  scope.postMessage(encoded, [encoded.train.buffer, encoded.heldOut.buffer]);
};
