/**
 * The bytes of an input, from a file or over HTTP. A download that breaks goes on where it broke, by a range request for
 * the same version of the file.
 */

import { attempting, UserError } from "../../program/errors.ts";
import { outboundFetch } from "../../program/outbound.ts";

export interface ByteInput {
  readonly name: string;
  readonly bytes: number;
  /** Changes when the content does, as far as the place says. */
  readonly version: string;
  stream(): AsyncIterable<Uint8Array<ArrayBuffer>>;
  range(from: number, to: number): Promise<Uint8Array<ArrayBuffer>>;
}

export const isWebAddress = (place: string): boolean => /^https?:\/\//i.test(place);

export async function openByteInput(place: string): Promise<ByteInput> {
  return isWebAddress(place) ? await openWebInput(place) : await openFileInput(place);
}

const chunkBytes = 2 ** 20;

async function openFileInput(path: string): Promise<ByteInput> {
  const action = { action: "read the text", value: path };
  const { size, mtime } = await attempting(action, () => Deno.stat(path));
  async function* stream() {
    const file = await attempting(action, () => Deno.open(path, { read: true }));
    try {
      for (;;) {
        const chunk = new Uint8Array(chunkBytes);
        const count = await attempting(action, () => file.read(chunk));
        if (count === null) return;
        yield chunk.subarray(0, count);
      }
    } finally {
      file.close();
    }
  }
  return {
    ...{ name: path, bytes: size, version: String(mtime?.getTime() ?? 0), stream },
    range: (from, to) => attempting(action, () => readRange(path, from, to)),
  };
}

async function readRange(path: string, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = await Deno.open(path, { read: true });
  try {
    await file.seek(from, Deno.SeekMode.Start);
    const bytes = new Uint8Array(to - from);
    let done = 0;
    for (let count: number | null = 0; done < bytes.length && count !== null; done += count ?? 0) {
      count = await file.read(bytes.subarray(done));
    }
    return bytes.subarray(0, done);
  } finally {
    file.close();
  }
}

const mostRetries = 5; // in a row without a byte
const retryMs = 1_000; // grows with each

async function openWebInput(url: string): Promise<ByteInput> {
  const first = await answerOf(url, { from: 0, to: 1 }).catch((error) => {
    throw error instanceof UserError ? error : unreachable(url, error);
  });
  await first.body?.cancel();
  const total = Number(first.headers.get("content-range")?.split("/")[1]);
  if (first.status !== 206 || !Number.isSafeInteger(total)) {
    throw new UserError(`Cannot read '${url}': its server sends no parts of files (status ${first.status})`, {
      next: "Download the file first, and pass its path",
    });
  }
  const version = first.headers.get("etag") ?? first.headers.get("last-modified") ?? "";
  const expected = { total, version };
  return {
    ...{ name: url, bytes: total, version },
    stream: () => webStream(url, expected),
    async range(from, to) {
      if (from >= to) return new Uint8Array(0);
      const parts: Uint8Array[] = [];
      for await (const part of webStream(url, expected, { from, to })) parts.push(part);
      const bytes = new Uint8Array(to - from);
      let done = 0;
      for (const part of parts) {
        bytes.set(part, done);
        done += part.length;
      }
      return bytes;
    },
  };
}

async function* webStream(
  url: string,
  { total, version }: { total: number; version: string },
  { from, to }: { from: number; to: number } = { from: 0, to: total },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let at = from;
  for (let failures = 0; at < to; failures++) {
    if (failures > 1) await new Promise((resolve) => setTimeout(resolve, (failures - 1) * retryMs));
    try {
      const answer = await answerOf(url, { from: at, to });
      const now = answer.headers.get("etag") ?? answer.headers.get("last-modified") ?? "";
      if (answer.status !== 206 || now !== version) {
        await answer.body?.cancel();
        throw new UserError(`'${url}' changed while it was read`, { next: "Start again" });
      }
      for await (const chunk of answer.body ?? []) {
        const part = chunk.subarray(0, to - at);
        at += part.length;
        failures = 0;
        yield part;
      }
    } catch (error) {
      if (error instanceof UserError) throw error;
      if (failures >= mostRetries) throw unreachable(url, error);
    }
  }
}

async function answerOf(url: string, { from, to }: { from: number; to: number }): Promise<Response> {
  const answer = await attempting(
    { action: "read the text", value: url },
    () => outboundFetch(url, { headers: { range: `bytes=${from}-${to - 1}`, "accept-encoding": "identity" } }),
  );
  if (answer.ok) return answer;
  await answer.body?.cancel();
  throw new UserError(`Cannot read '${url}': the server answered ${answer.status} ${answer.statusText}`.trim(), {
    next: answer.status === 401 || answer.status === 403
      ? "Download it with your account, and pass the file"
      : "Check the address",
  });
}

const unreachable = (url: string, cause: unknown): UserError =>
  new UserError(`Cannot read '${url}': ${cause instanceof Error ? cause.message : String(cause)}`, {
    next: "Check the address and the network, then start again",
    cause,
  });
