/** `iota serve`: a model behind OpenAI's HTTP interface, until it is stopped. */

import { basename, resolve } from "node:path";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listen, noNodes } from "../../../net/server.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { untilAborted } from "../../program/aborted.ts";
import { attempting } from "../../program/errors.ts";
import { isLoopbackHost } from "../../address/public_address.ts";
import { deviceSentence, openDevice } from "../../device/open_device.ts";
import { rowsOfCall, TextModel } from "../generate/text_model.ts";
import { modelPlace } from "../source/model_place.ts";
import { openModel } from "../source/open_model.ts";
import { serveApi } from "./serve_api.ts";
import { TextService } from "./text_service.ts";

const promptCharacters = 2 ** 19; // more could not be a prompt of any context that fits a body

export async function runServe(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const place = modelPlace(options, "to serve");
  const device = await openDevice(options.text("device"));
  try {
    const source = await openModel(place, (warning) => output.log.warn(warning));
    const streams = options.number("parallel")!;
    const length = source.plan.model.contextLength;
    const room = { streams, rows: Math.max(rowsOfCall, streams), length };
    output.line(deviceSentence(device));
    const model = await TextModel.open(device, source, { room });
    const failed = new AbortController();
    const onFailed = (error: unknown) => failed.abort(error);
    const service = new TextService(model, { mostWaiting: options.number("queue")!, onFailed });
    const name = options.text("name") ?? basename(resolve(source.trained?.run ?? source.path));
    const limits = { contextLength: length, mostTokens: options.number("max-tokens")!, promptCharacters };
    const onProblem = (error: unknown) => output.log.error(error instanceof Error ? error.message : String(error));
    const api = serveApi({ service, name, chat: source.chat, limits, nowMs: () => systemTimers.nowMs(), onProblem });
    const [host, port] = [options.text("host")!, options.number("port")!];
    const listener = await attempting({ action: "serve the model on", value: `${host}:${port}` }, () =>
      listen({
        ...{ host, port, limits: defaultNetLimits, onNotice: (text: string) => output.log.warn(text) },
        accept: noNodes,
        fetch: (request, trust) => {
          trust(); // an answer may take long
          return isMeant(request, host)
            ? api.fetch(request)
            : new Response("This name is not served here", { status: 421 });
        },
      }));
    output.event({ type: "serving", url: listener.url, model: name });
    const path = source.chat === null ? "/v1/completions" : "/v1/chat/completions";
    output.line(`Serving ${name}: ${listener.url}${path}, and ${listener.url}/ to try it (Ctrl-C ends it)`);
    await untilAborted(AbortSignal.any([context.interruption(), failed.signal]));
    await listener.close();
    failed.signal.throwIfAborted();
    output.summary({ url: listener.url, model: name, requests: service.requests, tokens: service.tokens });
    model.close();
    return 0;
  } finally {
    await device.finish();
  }
}

/** A page of another site could otherwise give this machine its own name, and read answers. */
const isMeant = (request: Request, host: string): boolean =>
  !isLoopbackHost(host) || isLoopbackHost(new URL(request.url).hostname.replace(/^\[|\]$/g, ""));
