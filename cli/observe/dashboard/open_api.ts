/** The OpenAPI document of `/api/v1`, from public_shape.ts. An unknown kind of schema is our bug. */

import * as v from "valibot";
import { unreachable } from "../../../core/assert.ts";
import { version } from "../../program/version.ts";
import {
  accountShape,
  earningsShape,
  pathwayShape,
  refusalShape,
  snapshotShape,
  spanShape,
} from "../public/public_shape.ts";

type Json = Readonly<Record<string, unknown>>;

type Shape =
  | v.StringSchema<undefined>
  | v.NumberSchema<undefined>
  | v.BooleanSchema<undefined>
  | v.LiteralSchema<number, undefined>
  | v.PicklistSchema<readonly string[], undefined>
  | v.NullableSchema<v.GenericSchema, undefined>
  | v.ArraySchema<v.GenericSchema, undefined>
  | v.RecordSchema<v.StringSchema<undefined>, v.GenericSchema, undefined>
  | v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>;

function jsonSchema(schema: v.GenericSchema): Json {
  const description = v.getDescription(schema as never);
  return { ...bare(schema as unknown as Shape), ...(description === undefined ? {} : { description }) };
}

function bare(shape: Shape): Json {
  switch (shape.type) {
    case "string":
    case "number":
    case "boolean":
      return { type: shape.type };
    case "literal":
      return { const: shape.literal };
    case "picklist":
      return { type: "string", enum: shape.options };
    case "nullable":
      return { anyOf: [jsonSchema(shape.wrapped), { type: "null" }] };
    case "array":
      return { type: "array", items: jsonSchema(shape.item) };
    case "record":
      return { type: "object", additionalProperties: jsonSchema(shape.value) };
    case "strict_object": {
      const properties = Object.entries(shape.entries).map(([name, entry]) => [name, jsonSchema(entry)]);
      return {
        type: "object",
        properties: Object.fromEntries(properties),
        required: Object.keys(shape.entries),
        additionalProperties: false,
      };
    }
    default:
      return unreachable(shape);
  }
}

const answer = (description: string, name: string): Json => ({
  description,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
});

const refused = { "503": answer("Too many ask; come back after Retry-After seconds", "Refusal") };

const paths: Json = {
  "/api/v1/run": { get: { summary: "The run now", responses: { "200": answer("The run", "Run") } } },
  "/api/v1/history": {
    get: {
      summary: "The part of the run's past that can be shown; null where none is kept",
      responses: { "200": answer("The span", "Span"), ...refused },
    },
  },
  "/api/v1/past": {
    get: {
      summary: "The run as it was after one record, or the nearest one that can be shown; `sequence` says which",
      parameters: [{ name: "at", in: "query", required: true, schema: { type: "integer", minimum: 0 } }],
      responses: {
        "200": answer("The run then", "Run"),
        "400": answer("Not the number of a record", "Refusal"),
        "404": answer("The log holds no record", "Refusal"),
        ...refused,
      },
    },
  },
  "/api/v1/pathway": {
    get: {
      summary: "One microbatch's way through the pipeline: which miner did each task, and when",
      parameters: [{ name: "microbatch", in: "query", required: true, schema: { type: "integer", minimum: 0 } }],
      responses: {
        "200": answer("Its finished tasks", "Pathway"),
        "400": answer("Not the number of a microbatch", "Refusal"),
        "404": answer("The log holds no task of it", "Refusal"),
        ...refused,
      },
    },
  },
  "/api/v1/member": {
    get: {
      summary:
        "What the signed log says of one member, what it earned and why, its weights on the chain; null if it is not named",
      parameters: [{ name: "node", in: "query", required: true, schema: { type: "string" } }],
      responses: {
        "200": answer("Its account", "Account"),
        "400": answer("Not an address", "Refusal"),
        ...refused,
      },
    },
  },
  "/api/v1/earnings": {
    get: {
      summary: "What the signed log credits each miner; null before the first round has ended",
      responses: { "200": answer("Their units", "Earnings"), ...refused },
    },
  },
  "/api/v1/beside": {
    get: {
      summary:
        "The second run of `iota dashboard --beside` as it was at a step, or the furthest that it came; served nowhere else",
      parameters: [{ name: "step", in: "query", required: true, schema: { type: "integer", minimum: 0 } }],
      responses: {
        "200": answer("The other run then", "Run"),
        "400": answer("Not the number of a step", "Refusal"),
        "404": answer("Its log holds no record, or one run is served", "Refusal"),
        ...refused,
      },
    },
  },
  "/events": {
    get: {
      summary: "The run as server-sent events: `snapshot`, then `changes` with the parts that changed",
      responses: { "200": { description: "Events", content: { "text/event-stream": {} } }, ...refused },
    },
  },
};

export function openApi(): string {
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: "iota: a run as anyone may read it",
      version,
      description:
        "Read-only. Field names stay within version 1; new ones may appear. Numbers not measured yet are null.",
    },
    paths,
    components: {
      schemas: {
        Run: jsonSchema(snapshotShape),
        Account: { anyOf: [jsonSchema(accountShape), { type: "null" }] },
        Earnings: { anyOf: [jsonSchema(earningsShape), { type: "null" }] },
        Pathway: jsonSchema(pathwayShape),
        Span: { anyOf: [jsonSchema(spanShape), { type: "null" }] },
        Refusal: jsonSchema(refusalShape),
      },
    },
  });
}
