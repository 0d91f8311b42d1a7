import type * as z from 'zod';
import type { IdSpan } from '../domain/changed-ids.ts';
import type { Resource, UnversionedResource } from '../domain/resources.ts';
import type { Role } from '../domain/role.ts';
import type { Scope } from '../domain/scope.ts';
import type { ErrorCode } from './errors.ts';

/** A tag (section) of the OpenAPI document. */
export interface Tag {
  readonly name: string;
  readonly description: string;
}

type Stability = 'stable' | 'beta' | 'experimental';

/** Announcement, sunset and replacement of a deprecated operation (RFC 9745 and RFC 8594). */
interface Deprecation {
  readonly announcedAt: Date;
  readonly sunset: Date;
  readonly successor: string;
}

interface PathParameter {
  readonly schema: z.ZodType<bigint>;
  /** Error code for text that is not an int64. Defaults to `invalid_parameter`. */
  readonly otherwise?: ErrorCode;
}

export const mediaTypes = { json: 'application/json', mergePatch: 'application/merge-patch+json' } as const;

type MediaType = (typeof mediaTypes)[keyof typeof mediaTypes];

export interface Body {
  readonly schema: z.ZodObject<z.ZodRawShape, z.core.$strict>;
  /** Accepted media types. Defaults to `application/json`. */
  readonly types?: readonly MediaType[];
  /** Whether the body can be omitted. A missing body is treated as an empty object. */
  readonly optional?: true;
  /** Maximum size. Defaults to `maxBodyBytes`. */
  readonly maxBytes?: number;
}

export type SuccessStatus = 200 | 201 | 202 | 204;

/** How an outcome becomes a response. */
export interface Response<Outcome = never> {
  readonly statusOf: (outcome: Outcome) => SuccessStatus;
  /** Undefined if there is no body. */
  readonly json?: (outcome: Outcome) => string;
  readonly location?: (outcome: Outcome) => string;
}

export interface Success<Outcome = never> extends Response<Outcome> {
  readonly descriptions: Readonly<Partial<Record<SuccessStatus, string>>>;
  /** Schema of the body; undefined if there is no body. */
  readonly schema?: z.ZodType;
  /** Text from which the entity tag is computed: the members that operators can change. Defaults to the body. */
  readonly tagged?: (outcome: Outcome) => string;
  /** Whether the response is NDJSON. The outcome is an `AsyncIterable` of JSON lines that match the schema. */
  readonly lines?: true;
  /** Whether the response is a file. The outcome is the content of the file. */
  readonly file?: true;
  /** Whether the response is a stream of server-sent events. The outcome is a `StreamSource`. */
  readonly stream?: true;
}

/** Destination of a stream. Like Bun's `ReadableStreamDirectController`, but also defined in browsers. */
export interface StreamSink {
  /** Returns a promise while the connection's buffer is full. */
  write(bytes: Uint8Array): unknown;
  flush(): unknown;
  end(): unknown;
  close(reason: Error): unknown;
}

/** A streamed response, written until the reader disconnects: a Bun stream source of type `direct`. */
export interface StreamSource {
  readonly type: 'direct';
  /** Starts the stream, which stays open after this call. Not called if there is no reader, for example for HEAD. */
  pull(sink: StreamSink): void;
  /** Called when the reader disconnects. */
  cancel(): void;
  /** Disposed when the stream ends. */
  connection: Disposable | undefined;
}

export interface FileContent {
  readonly name: string;
  readonly content: Blob;
}

export type Precondition = 'If-Match' | 'If-None-Match';

/** A large body that the operation reads and validates as it arrives. */
export interface Upload {
  readonly types: readonly string[];
  readonly description: string;
}

/**
 * An input that an operation needs in addition to the request. `caller`: the calling account and the scopes of its key.
 * `endpoint`: whether events may be sent to the URL in the body. `events`: the ids of the oldest retained event and the
 * last event. `secret`: a new secret, which is the last member of the response and excluded from its entity tag.
 */
export type Need = 'caller' | 'endpoint' | 'events' | 'secret';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Operation<Outcome = never> {
  readonly operationId: string;
  /** Method and path, such as `GET /accounts/{accountId}`. */
  readonly route: `${Method} /${string}`;
  readonly method: Method;
  /** Path under `basePath`, with parameters in braces. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly stability: Stability;
  readonly params?: Readonly<Record<string, PathParameter>>;
  readonly query?: z.ZodObject<z.ZodRawShape, z.core.$strict>;
  readonly body?: Body;
  readonly upload?: Upload;
  /** Required scope; undefined if the operation requires no scope. */
  readonly scope?: Scope;
  /** Scope required to receive the changed resource. Without this scope, the response is 204. */
  readonly readScope?: Scope;
  /** Required role. Defaults to `viewer` for reads and `admin` for changes. */
  readonly role?: Role | 'anybody';
  /**
   * Resources in the response. The response is cached until one of them changes. Without resources, the response is not
   * cached.
   */
  readonly reads: readonly (Resource | UnversionedResource)[];
  /** Inputs in addition to the request. Responses that depend on such inputs are not cached. */
  readonly needs?: readonly Need[];
  /** Whether the operation returns a list with linked pages (RFC 8288). The outcome is a `Page`. */
  readonly paginated?: true;
  /**
   * Whether new items appear only at the end of the list. The outcome is a `Page` whose `next` is the `after` parameter
   * of the next page.
   */
  readonly feed?: true;
  /**
   * Whether requests are exempt from the limits: they are not counted, and are accepted even when the quota is
   * exhausted.
   */
  readonly free?: true;
  readonly repeatable?: false;
  /** Whether the operation is a `POST` that changes nothing in the store. */
  readonly isEffect?: true;
  /** Whether the operation can cause deliveries to become due without a new event. */
  readonly sends?: true;
  readonly preconditions?: readonly Precondition[];
  readonly success: Success<Outcome>;
  readonly deprecation?: Deprecation;
  readonly errors: readonly ErrorCode[];
}

const defaults = { stability: 'beta', reads: [], errors: [] } as const;

/** Properties that `defineOperations` adds. */
type Derived = 'operationId' | 'method' | 'path';

type Inherited<Common, Own> = Omit<typeof defaults, keyof Common | keyof Own> & Omit<Common, keyof Own>;

type OperationOverrides<Common> = Pick<Operation, 'route'> &
  Omit<Partial<Operation>, Derived | 'route'> &
  Omit<Operation, Derived | 'route' | keyof Common | keyof typeof defaults>;

/**
 * Returns a resource's operations by operationId, after adding the `common` properties, the method and path of the route,
 * and the errors implied by path parameters.
 */
export function defineOperations<
  const Common extends Partial<Operation>,
  const Own extends Readonly<Record<string, OperationOverrides<Common>>>,
>(
  common: Common,
  own: Own,
): {
  readonly [Id in keyof Own & string]: { readonly operationId: Id } & Pick<Operation, 'method' | 'path'> &
    Own[Id] &
    Inherited<Common, Own[Id]>;
} {
  const rows = Object.entries(own).map(([operationId, given]) => {
    const row = { ...defaults, ...common, ...given };
    const notFound = Object.values(row.params ?? {}).flatMap(({ otherwise = [] }) => otherwise);
    const [method, path] = given.route.split(' ');
    return [operationId, { operationId, method, path, ...row, errors: [...notFound, ...row.errors] }];
  });
  return Object.fromEntries(rows);
}

export function isRead({ method }: Pick<Operation, 'method'>): boolean {
  return method === 'GET';
}

type PathParams<Row> = Row extends { params: infer Params extends Readonly<Record<string, PathParameter>> }
  ? { readonly [Name in keyof Params]: bigint }
  : Readonly<Record<never, never>>;

type QueryInput<Row> = Row extends { query: infer Query extends z.ZodType } ? z.infer<Query> : undefined;

type BodyInput<Row> = Row extends { body: infer Sent extends Body } ? z.infer<Sent['schema']> : undefined;

export interface OperationInput<Row> {
  readonly params: PathParams<Row>;
  readonly query: QueryInput<Row>;
  readonly body: BodyInput<Row>;
}

/** The bytes of an upload as they arrive. They can be read only once. */
export type OperationUpload<Row> = Row extends { upload: Upload }
  ? { readonly upload: AsyncIterable<Uint8Array> }
  : unknown;

export type OperationOutcome<Row> = Row extends { success: Success<infer Outcome> } ? Outcome : never;

/** The position of a page in its list. */
interface PagePosition {
  /** Cursor of the next page; undefined on the last page. */
  readonly next: string | undefined;
  /** Range of ids that the page covers. The page does not change unless a row in this range changes. */
  readonly span?: IdSpan;
}

export interface Page<Item> extends PagePosition {
  readonly items: readonly Item[];
}

/** A page that the database has formatted as JSON. */
export interface JsonPage<Item> extends PagePosition {
  readonly json: string;
  /** Exists only at the type level. */
  readonly types?: { readonly item: Item };
}

/** A response with the schema of its body and the description of each status. */
export function success<Outcome>(
  response: Response<Outcome>,
  schema: z.ZodType,
  descriptions: Success['descriptions'],
): Success<Outcome> {
  return { ...response, schema, descriptions };
}

export function ok<Outcome>(
  schema: z.ZodType,
  json: (outcome: Outcome) => string,
  description: string,
): Success<Outcome> {
  return { descriptions: { 200: description }, statusOf: () => 200, schema, json };
}

export function okJson<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
): Success<z.infer<Schema>> {
  return ok(schema, (outcome: z.infer<Schema>) => JSON.stringify(outcome), description);
}

export function okPage<Item>(
  schema: z.ZodType,
  json: (item: Item) => string,
  description: string,
): Success<Page<Item>> {
  return ok(schema, ({ items }: Page<Item>) => `[${items.map(json).join(',')}]`, description);
}

export function okJsonPage<Item>(schema: z.ZodType, description: string): Success<JsonPage<Item>> {
  return ok(schema, ({ json }: JsonPage<Item>) => json, description);
}

export function createdJson<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  location?: (outcome: z.infer<Schema>) => string,
): Success<z.infer<Schema>> {
  const json = (outcome: z.infer<Schema>) => JSON.stringify(outcome);
  const success = { descriptions: { 201: description }, statusOf: () => 201 as const, schema, json };
  return { ...success, ...(location && { location }) };
}

/** A successful response with server-sent events (WHATWG HTML, section 9.2). */
export function okStream(description: string): Success<StreamSource> {
  return { descriptions: { 200: description }, statusOf: () => 200, stream: true };
}

export function accepted<Outcome>(
  schema: z.ZodType,
  json: (outcome: Outcome) => string,
  description: string,
): Success<Outcome> {
  return { descriptions: { 202: description }, statusOf: () => 202, schema, json };
}

export function noContent(description: string): Success<void> {
  return { descriptions: { 204: description }, statusOf: () => 204 };
}

export interface Result {
  readonly status: SuccessStatus;
  /** Undefined if the response has no body. */
  readonly body: string | undefined;
  /** Text from which the entity tag is computed; undefined to compute it from the body. */
  readonly tagged?: string | undefined;
  readonly location: string | undefined;
  readonly next: string | undefined;
  readonly stream?: StreamSource | undefined;
  readonly span?: IdSpan | undefined;
}

/** The properties of an operation needed to build its result. */
type ResultOptions = Pick<Operation, 'paginated' | 'feed'> & {
  readonly success: Response & Pick<Success, 'tagged' | 'stream'>;
};

export function toResult({ success, paginated, feed }: ResultOptions, outcome: unknown): Result {
  const { statusOf, json, location, tagged } = success;
  const its = outcome as never;
  return {
    status: statusOf(its),
    body: json?.(its),
    tagged: tagged?.(its),
    location: location?.(its),
    next: paginated || feed ? (outcome as PagePosition).next : undefined,
    stream: success.stream && (outcome as StreamSource),
    span: paginated ? (outcome as PagePosition).span : undefined,
  };
}
