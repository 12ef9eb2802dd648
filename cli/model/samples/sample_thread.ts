/**
 * A thread for one sample of a run's text, so that a model is in memory only meanwhile. It may read only the run's
 * folder.
 */

import { resolve } from "node:path";
import type { Sample, SampleRequest } from "../generate/run_generate.ts";

export type SampleQuestion = Omit<SampleRequest, "goesOn" | "onText"> & { readonly mostMs: number };

export type SampleAnswer = Sample | { readonly problem: string; readonly isTooLarge: boolean };

export interface SampleThread {
  readonly answer: Promise<SampleAnswer>; // never rejects; of a thread that was stopped, never comes
  stop(): void;
}

export type StartSample = (question: SampleQuestion) => SampleThread;

export const startSample: StartSample = (question) => {
  const { promise: answer, resolve: answered } = Promise.withResolvers<SampleAnswer>();
  const model = resolve(question.model);
  const worker = new Worker(workerUrl(), {
    ...{ type: "module", name: "sample" },
    deno: { permissions: { read: [model] } },
  });
  worker.onmessage = ({ data }: MessageEvent<SampleAnswer>) => {
    worker.terminate();
    answered(data);
  };
  worker.onerror = (event) => {
    event.preventDefault(); // otherwise an error in the worker ends this process
    answered({ problem: event.message, isTooLarge: false });
  };
  worker.postMessage({ ...question, model });
  return { answer, stop: () => worker.terminate() };
};

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./sample_worker.js", import.meta.url)
    : new URL("./sample_worker.ts", import.meta.url);
}
