/** The thread that encodes text: see encode_pool.ts. */

import type { TokenBytes } from "../data/token_file.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { parseTokenizer } from "../tokenizer/parse_tokenizer.ts";
import { type EncodedJob, type EncodeJob, encodeJob } from "./encode_job.ts";
import type { EncodeBegin } from "./encode_pool.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<EncodeBegin | EncodeJob>) => void;
  postMessage(message: EncodedJob, transfer: ArrayBuffer[]): void;
};

let encoding: { readonly tokenizer: Tokenizer; readonly tokenBytes: TokenBytes } | null = null;

scope.onmessage = ({ data }) => {
  if ("tokenizerFile" in data) {
    const { tokenizerFile, endOfText, tokenBytes } = data;
    encoding = { tokenizer: parseTokenizer(tokenizerFile, { path: "tokenizer.json", endOfText }), tokenBytes };
    return;
  }
  const encoded = encodeJob(data, encoding!);
  scope.postMessage(encoded, [encoded.train.buffer, encoded.heldOut.buffer]);
};
