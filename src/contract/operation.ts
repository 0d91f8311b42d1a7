/** What an operation is, as data. */
import type * as z from 'zod';
import type { Resource } from '../domain/resources.ts';
import type { Role } from '../domain/role.ts';
import type { Scope } from '../domain/scope.ts';
import type { ErrorCode } from './errors.ts';

export type Stability = 'stable' | 'beta' | 'experimental';

/** RFC 9745 and RFC 8594: when a deprecation was announced, when the operation goes, and what replaces it. */
export interface Deprecation {
  readonly announcedAt: Date;
  readonly sunset: Date;
  readonly successor: string;
}

/** A part of the path, which is an int64. */
export interface PathParameter {
  readonly schema: z.ZodType<bigint>;
  /** The refusal of a text that is no int64, for nothing has it as its id; without it, that is `invalid_parameter`. */
  readonly otherwise?: ErrorCode;
}

export const mediaTypes = { json: 'application/json', mergePatch: 'application/merge-patch+json' } as const;

export type MediaType = (typeof mediaTypes)[keyof typeof mediaTypes];

export interface Body {
  readonly schema: z.ZodObject<z.ZodRawShape, z.core.$strict>;
  /** Those it may be sent as; `application/json` unless given. */
  readonly types?: readonly MediaType[];
  /** Whether it may be left out; then it is as if it had no members. */
  readonly optional?: true;
  /** Largest size; defaults to `maxBodyBytes`. */
  readonly maxBytes?: number;
}

export type SuccessStatus = 200 | 201 | 204;

/** How what an operation came to is answered. */
export interface Success<Outcome = never> {
  /** What each status says. */
  readonly descriptions: Readonly<Partial<Record<SuccessStatus, string>>>;
  readonly statusOf: (outcome: Outcome) => SuccessStatus;
  /** The shape of the body; undefined for none. */
  readonly schema?: z.ZodType;
  /** The body. */
  readonly json?: (outcome: Outcome) => string;
  /** The path of what was made, below `basePath`. */
  readonly location?: (outcome: Outcome) => string;
  /** What the entity tag is derived from, where that is not the body: what operators can change about it. */
  readonly tagged?: (outcome: Outcome) => string;
  /** Whether it is answered line by line (NDJSON): the outcome is an `AsyncIterable` of them, each the JSON of the shape. */
  readonly lines?: true;
  /** Whether it is answered with a file; the outcome is its content. */
  readonly file?: true;
}

/** A file, as it is downloaded. */
export interface FileContent {
  readonly name: string;
  readonly content: Blob;
}

export type Precondition = 'If-Match' | 'If-None-Match';

/** How a large body is read, as it comes; it is checked by whoever reads it. */
export interface Upload {
  readonly types: readonly string[];
  readonly description: string;
}

export interface Operation<Outcome = never> {
  readonly operationId: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `basePath`, with its parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly stability: Stability;
  readonly params?: Readonly<Record<string, PathParameter>>;
  readonly query?: z.ZodObject<z.ZodRawShape, z.core.$strict>;
  readonly body?: Body;
  /** What is sent instead of a JSON body. */
  readonly upload?: Upload;
  /** What a key needs; undefined: any key may. */
  readonly scope?: Scope;
  /** What a key needs besides to see the body of a change; without it, the response is 204. */
  readonly readScope?: Scope;
  /** What an operator needs, on the admin API: to read, `viewer`, and to change something, `admin`, unless given. */
  readonly role?: Role | 'anybody';
  /** The resources a response shows: a held one is good while none of them changes. None: it is never held. */
  readonly reads: readonly Resource[];
  /** Whether a list, linked page by page (RFC 8288): the outcome is a `Page`. */
  readonly paginated?: true;
  /** Whether it costs none of the account's requests, and is answered when there are none left. */
  readonly free?: true;
  /** False for a `POST` that takes no `Idempotency-Key`. */
  readonly repeatable?: false;
  /** The conditions that a change may depend on. */
  readonly preconditions?: readonly Precondition[];
  readonly success: Success<Outcome>;
  readonly deprecation?: Deprecation;
  /** The errors of its own; every operation has more besides (`errorsOf`). */
  readonly errors: readonly ErrorCode[];
}

/** Whether it changes nothing. */
export function isRead({ method }: Pick<Operation, 'method'>): boolean {
  return method === 'GET';
}

type ParamsOf<Row> = Row extends { params: infer Params extends Readonly<Record<string, PathParameter>> }
  ? { readonly [Name in keyof Params]: bigint }
  : Readonly<Record<never, never>>;

type QueryOf<Row> = Row extends { query: infer Query extends z.ZodType } ? z.infer<Query> : undefined;

type BodyOf<Row> = Row extends { body: infer Sent extends Body } ? z.infer<Sent['schema']> : undefined;

/** What the operation of a row is called with, as its schemas made it. */
export interface InputOfRow<Row> {
  readonly params: ParamsOf<Row>;
  readonly query: QueryOf<Row>;
  readonly body: BodyOf<Row>;
}

/** What an operation with an upload is called with, besides: the bytes as they come, to be read once. */
export type UploadOfRow<Row> = Row extends { upload: Upload }
  ? { readonly upload: AsyncIterable<Uint8Array> }
  : unknown;

/** What it comes to. */
export type OutcomeOfRow<Row> = Row extends { success: Success<infer Outcome> } ? Outcome : never;

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** 200 with a representation. */
export function ok<Outcome>(
  schema: z.ZodType,
  json: (outcome: Outcome) => string,
  description: string,
): Success<Outcome> {
  return { descriptions: { 200: description }, statusOf: () => 200, schema, json };
}

/** 200 with a page of representations. */
export function page<Item>(
  schema: z.ZodType,
  json: (item: Item) => string,
  description: string,
): Success<Page<Item>> {
  return ok(schema, ({ items }: Page<Item>) => `[${items.map(json).join(',')}]`, description);
}

/** 201 with the representation of what was made. */
export function created<Outcome>(
  schema: z.ZodType,
  json: (outcome: Outcome) => string,
  location: (outcome: Outcome) => string,
  description: string,
): Success<Outcome> {
  return { descriptions: { 201: description }, statusOf: () => 201, schema, json, location };
}

/** 204. */
export function noContent(description: string): Success<void> {
  return { descriptions: { 204: description }, statusOf: () => 204 };
}

/** 200 with a representation that JSON.stringify writes. */
export function shown<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): Success<z.infer<Schema>> {
  return ok(schema, (outcome: z.infer<Schema>) => JSON.stringify(outcome), description);
}
