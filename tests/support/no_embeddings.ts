/** What a payload codec is told of a stage without embeddings. */

import type { Embeddings } from "../../core/update/payload/payload_codec.ts";

export const noEmbeddings: Embeddings = { ranges: [], share: 0 };
