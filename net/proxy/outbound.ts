/**
 * Every WebSocket and HTTP request of this program, directly or through a proxy.
 *
 * Each connection through a proxy has its own tunnel, even for plain HTTP, so the proxy needs only CONNECT. Nothing
 * here reads the process's environment, which Deno's `fetch` would obey even for loopback.
 */

import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import {
  bareHost,
  chooseProxy,
  type GetVariable,
  isOwnMachine,
  portOf,
  type Proxy,
  type ProxyChoice,
  shownVariables,
} from "./proxy_choice.ts";
import { openTunnel, ProxyError, type TunnelDone } from "./tunnel.ts";
import type { Connections } from "../blobs/session_fetch.ts";

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

interface OutboundOptions {
  readonly get: GetVariable; // the proxy's variables
  /** PEM, instead of the system's. */
  readonly authority?: string;
}

type CreateConnection = (options: unknown, done: TunnelDone) => void;

export class Outbound {
  readonly #get: GetVariable;
  readonly #authority: string | undefined;
  readonly #client: { client?: Deno.HttpClient };

  constructor({ get, authority }: OutboundOptions) {
    this.#get = get;
    this.#authority = authority;
    this.#client = authority === undefined ? {} : { client: Deno.createHttpClient({ caCerts: [authority] }) };
  }

  trusting(authority: string): Outbound {
    return new Outbound({ get: this.#get, authority });
  }

  choose(url: string): ProxyChoice {
    return chooseProxy(url, this.#get);
  }

  /** The variables that are set but not used for a connection to this address, without passwords. */
  unusedFor(url: string): string[] {
    const isElsewhere = !isOwnMachine(bareHost(URL.parse(url)?.hostname ?? "localhost"));
    return isElsewhere && this.choose(url).type === "direct" ? shownVariables(this.#get) : [];
  }

  socketOptions(url: string): { readonly ca?: string; readonly createConnection?: CreateConnection } {
    const createConnection = this.#connection(url);
    const ca = this.#authority === undefined ? {} : { ca: this.#authority };
    return createConnection === null ? ca : { ...ca, createConnection };
  }

  /** Like the runtime's `fetch`, but follows no redirects through a proxy. */
  readonly fetch: Fetch = (url, init = {}) => this.#fetchBy(this.#client, { url, init });

  /** Has its own pool, which can be closed; through a proxy each request has its own tunnel. */
  connections(): Connections {
    const client = Deno.createHttpClient(this.#authority === undefined ? {} : { caCerts: [this.#authority] });
    return { fetch: (url, init) => this.#fetchBy({ client }, { url, init }), close: () => client.close() };
  }

  #fetchBy(by: { client?: Deno.HttpClient }, { url, init }: { url: string; init: RequestInit }): Promise<Response> {
    const createConnection = this.#connection(url);
    return createConnection === null
      ? fetch(url, { ...init, ...by })
      : fetchThrough(createConnection, new URL(url), init);
  }

  /** Null: the runtime's own, which is direct. */
  #connection(url: string): CreateConnection | null {
    const choice = this.choose(url);
    if (choice.type === "direct") return null;
    if (choice.type === "unusable") return (_, done) => queueMicrotask(() => done(new ProxyError(choice.reason)));
    const ca = this.#authority;
    return (_, done) => connectThrough(choice.proxy, { url: new URL(url), ca }, done);
  }
}

function connectThrough(proxy: Proxy, to: { url: URL; ca: string | undefined }, done: TunnelDone): void {
  const { url, ca } = to;
  openTunnel({ proxy, target: `${url.hostname}:${portOf(url)}` }, (error, socket) => {
    if (error !== null || socket === undefined) return done(error);
    if (url.protocol === "http:" || url.protocol === "ws:") return done(null, socket);
    secure(socket, { host: bareHost(url.hostname), ca }, done);
  });
}

function secure(socket: Socket, { host, ca }: { host: string; ca: string | undefined }, done: TunnelDone): void {
  const secured = connectTls({ socket, host, servername: host, ...ca === undefined ? {} : { ca: [ca] } });
  const onError = (error: Error) => done(error);
  secured.once("error", onError);
  secured.once("secureConnect", () => {
    secured.off("error", onError);
    done(null, secured);
  });
}

function fetchThrough(createConnection: CreateConnection, url: URL, init: RequestInit): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { method = "GET", body, signal, redirect } = init;
  const bytes = bytesOf(body);
  const headers = Object.fromEntries(new Headers(init.headers));
  if (bytes !== null) headers["content-length"] = String(bytes.length);
  const options = {
    ...{ host: bareHost(url.hostname), port: portOf(url), path: `${url.pathname}${url.search}`, method },
    ...{ headers: { host: url.host, ...headers }, createConnection: createConnection as () => Socket }, // Node's type lacks the late answer
  };
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(options, (answer) => {
    const status = answer.statusCode ?? 0;
    if (status >= 300 && status < 400 && redirect === "error") {
      request.destroy();
      return reject(new TypeError(`${url.origin} answered with a redirect (status ${status})`));
    }
    resolve(responseOf(answer, { url, method }));
  });
  request.on("error", (error: Error) => reject(signal?.aborted ? signal.reason : error));
  const abort = () => {
    request.destroy();
    reject(signal?.reason);
  };
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  request.on("close", () => signal?.removeEventListener("abort", abort));
  if (bytes === null) request.end();
  else request.end(bytes);
  return promise;
}

function bytesOf(body: RequestInit["body"]): Uint8Array | null {
  if (body === undefined || body === null) return null;
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError("Cannot send this body through a proxy: it is neither text nor bytes");
}

function responseOf(answer: IncomingMessage, { url, method }: { url: URL; method: string }): Response {
  const status = answer.statusCode ?? 502;
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const isEmpty = method === "HEAD" || status === 204 || status === 304;
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : Readable.toWeb(answer) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const response = new Response(body, { status, headers });
  Object.defineProperty(response, "url", { value: url.href });
  return response;
}
