/** JSON-RPC 2.0 as text. An invalid request becomes an `RpcError` with its id. Answers keep the requests' order. */

import { invalidRequest, parseError, RpcError } from "./rpc_error.ts";

type RequestId = string | number | null;

export interface Request {
  readonly id: RequestId | undefined; // undefined: a notification
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface BadRequest {
  readonly id: RequestId;
  readonly error: RpcError;
}

interface Message {
  readonly isBatch: boolean;
  readonly requests: readonly (Request | BadRequest)[];
}

export function parseMessage(text: string, limits: { readonly batchRequests: number }): Message {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { isBatch: false, requests: [{ id: null, error: parseError() }] };
  }
  if (!Array.isArray(value)) return { isBatch: false, requests: [requestOf(value)] };
  if (value.length === 0 || value.length > limits.batchRequests) {
    return { isBatch: false, requests: [{ id: null, error: invalidRequest() }] };
  }
  return { isBatch: true, requests: value.map(requestOf) };
}

function requestOf(value: unknown): Request | BadRequest {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { id: null, error: invalidRequest() };
  const { id, method, params } = value as Readonly<Record<string, unknown>>;
  const isId = id === undefined || id === null || typeof id === "string" || typeof id === "number";
  if (!isId) return { id: null, error: invalidRequest() };
  const hasParams = params === undefined || params === null || Array.isArray(params);
  if (typeof method !== "string" || !hasParams) return { id: id ?? null, error: invalidRequest() };
  return { id, method, params: params ?? [] };
}

export function resultText(id: RequestId, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

export function errorText(id: RequestId, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } });
}

export function notificationText(method: string, of: { subscription: string; result: unknown }): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params: of });
}
