import type * as z from 'zod';
import { hasReversedRange } from '../../contract/admin/values.ts';
import { cursorError, encodeFilters, parseCursor } from '../../contract/cursor.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import { type ValidationResult, validate } from '../../contract/validation.ts';

/**
 * Path and query of a request URL. The runtime derives the scheme and authority from the Host header, and omits them
 * without a valid Host.
 */
export function requestTarget(url: string): string {
  // After `http://`, the authority has at least one character, so the path starts at index 8 or later.
  return url.startsWith('/') ? url : url.slice(url.indexOf('/', 8));
}

/** The path of a request URL. Without a Host header, the URL has no scheme and authority. */
export function requestPath(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
}

/** Everything after the first `?` of a request URL. Request URLs have no fragment. */
export function requestQuery(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** Maximum number of parameters in a query, including repeated ones. Valid queries have fewer: at most 100 values of `id`. */
export const maxParameters = 128;

/**
 * Maximum length of a query in characters, twice that of a request head. A query of bytes that are not ASCII can be
 * longer, because the runtime replaces each of them by nine characters. Valid queries are shorter.
 */
export const maxQueryLength = 32_768;

/**
 * Validates a query against the operation's parameters. Joins repeated lists with commas. Rejects unknown parameters, and
 * other repeated parameters. Reads at most `maxParameters` parameters, and nothing if the query is too long.
 */
export function readQuery({ path, query: schema }: Operation, query: string): ValidationResult<unknown> {
  if (query === '' && schema === undefined) return { value: undefined };
  if (query.length > maxQueryLength) return { mistakes: [tooLong] };
  const plain = schema && readPlainQuery(schema, query);
  if (plain !== undefined && !hasReversedRange(plain)) return { value: plain };
  const shape = schema?.shape ?? {};
  const unknown = unknownParameterMessage(Object.keys(shape));
  const values: Record<string, string> = {};
  // Each name is reported only once, because 16 KiB of repeated names would result in a 1 MB response.
  const mistakes = new Map<string, ErrorDetail>();
  const addMistake = (name: string, message: string) => {
    if (!mistakes.has(name)) mistakes.set(name, { in: 'query', name, message });
  };
  const read = firstParameters(query);
  if (read.length < query.length) addMistake('', `must have at most ${maxParameters} parameters`);
  // Without the first question mark, the constructor would remove one from the name of a parameter.
  for (const [name, value] of new URLSearchParams(`?${read}`)) {
    const before = values[name];
    if (!Object.hasOwn(shape, name)) addMistake(name, unknown);
    else if (before === undefined) values[name] = value;
    else if (isList(shape[name] as z.ZodType)) values[name] = `${before},${value}`;
    else addMistake(name, 'is given more than once');
  }
  // Values of unknown or repeated parameters are not validated, because the intended value is unclear.
  for (const name of mistakes.keys()) delete values[name];
  const checked: ValidationResult<unknown> =
    schema === undefined ? { value: undefined } : validate(schema, values, 'query');
  // An error in a list item is reported with the name of the parameter, without the index.
  if ('mistakes' in checked)
    for (const { name, message } of checked.mistakes) addMistake(name.replace(/\..*/, ''), message);
  else if (hasReversedRange(checked.value)) addMistake('until', 'must not be before since');
  if (mistakes.size === 0) return checked;
  const ofCursor = schema === undefined ? [] : cursorMistakes(path, schema, values, mistakes);
  return { mistakes: [...mistakes.values(), ...ofCursor] };
}

const tooLong: ErrorDetail = {
  in: 'query',
  name: '',
  message: `must have at most ${maxQueryLength} characters`,
};

/** The part of a query with the first `maxParameters` parameters. */
function firstParameters(query: string): string {
  // A parameter takes at least one character, and another one separates it from the next.
  if (query.length < 2 * maxParameters) return query;
  const [excess] = query.matchAll(/[^&]+/g).drop(maxParameters).take(1);
  return excess === undefined ? query : query.slice(0, excess.index);
}

/** Whether a parameter is a list, whose schema validates text with commas. */
function isList(schema: z.ZodType): boolean {
  return (schema.meta()?.override as { readonly type?: string } | undefined)?.type === 'array';
}

/** Checks the cursor if the query has other errors. Otherwise, the operation checks it. */
function cursorMistakes(
  path: string,
  { shape }: NonNullable<Operation['query']>,
  values: Readonly<Record<string, string>>,
  mistakes: ReadonlyMap<string, ErrorDetail>,
): ErrorDetail[] {
  const { cursor: text } = values;
  if (text === undefined || !('cursor' in shape)) return [];
  const cursor = parseCursor(text);
  if (cursor === undefined) return [cursorError];
  const { limit: _limit, cursor: _cursor, ...filters } = shape;
  const checked = Object.entries(filters).map(([name, schema]) => {
    return [name, (schema as z.ZodType).safeParse(values[name])] as const;
  });
  // The cursor cannot be checked against invalid filters.
  if (checked.some(([name, { success }]) => !success || mistakes.has(name))) return [];
  const query = Object.fromEntries(checked.map(([name, { data }]) => [name, data]));
  return cursor.filters === encodeFilters(path, query) ? [] : [cursorError];
}

function unknownParameterMessage(known: string[]): string {
  if (known.length === 0) return 'is unknown; this operation has no query parameters';
  return `is unknown; this operation accepts ${known.join(', ')}`;
}

type QuerySchema = z.ZodObject<z.ZodRawShape, z.core.$strict>;

/** Values of the parameters of a query, in the order of the schema. */
type Values = Record<string, unknown>;

/** A query without escapes, in which every parameter has a value. An empty query is plain as well. */
const plainQuery = /^[a-zA-Z]+=[\w.,~-]+(?:&[a-zA-Z]+=[\w.,~-]+)*$/;
/** Longer queries are rare. */
const maxLength = 512;
/** Number of valid values to remember for each parameter, such as limits and statuses. */
const maxKnown = 64;

/**
 * Validates a plain query, one parameter at a time, which takes a third of the time of `URLSearchParams` and the whole
 * schema. Returns undefined if the query is not plain or not valid; it must then be validated as a whole, to find all
 * mistakes.
 */
export function readPlainQuery(schema: QuerySchema, query: string): Values | undefined {
  if (query.length > maxLength || (query !== '' && !plainQuery.test(query))) return undefined;
  const parameters = parametersBySchema(schema);
  if (parameters === undefined) return undefined;
  const texts: Record<string, string> = {};
  for (const part of query === '' ? [] : query.split('&')) {
    const separator = part.indexOf('=');
    const name = part.slice(0, separator);
    if (texts[name] !== undefined || !parameters.has(name)) return undefined;
    texts[name] = part.slice(separator + 1);
  }
  const values: Values = {};
  for (const [name, parameter] of parameters) {
    const text = texts[name];
    const value = text === undefined ? parameter.absent : parameter.parse(text);
    if (value === invalid) return undefined;
    if (value !== undefined) values[name] = value;
  }
  return values;
}

const invalid = Symbol('invalid');

class Parameter {
  /** The value of an absent parameter. */
  readonly absent: unknown;
  readonly #schema: z.core.$ZodType;
  readonly #known = new Map<string, unknown>();

  constructor(schema: z.core.$ZodType) {
    this.#schema = schema;
    this.absent = this.#validated(undefined);
  }

  parse(text: string): unknown {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const value = this.#validated(text);
    // Objects are not remembered, because a reader could change them. Invalid values are not remembered, because they
    // would displace valid ones.
    const isKept = value !== invalid && typeof value !== 'object';
    if (isKept && this.#known.size < maxKnown) this.#known.set(text, value);
    return value;
  }

  #validated(text: string | undefined): unknown {
    const result = (this.#schema as z.ZodType).safeParse(text);
    return result.success ? result.data : invalid;
  }
}

const known = new WeakMap<QuerySchema, ReadonlyMap<string, Parameter> | undefined>();

/** The parameters of a schema; undefined if the schema also compares parameters. */
function parametersBySchema(schema: QuerySchema): ReadonlyMap<string, Parameter> | undefined {
  if (known.has(schema)) return known.get(schema);
  const isSimple = (schema._zod.def.checks ?? []).length === 0;
  const entries = Object.entries(schema.shape).map(([name, its]) => [name, new Parameter(its)] as const);
  const parameters = isSimple ? new Map(entries) : undefined;
  known.set(schema, parameters);
  return parameters;
}
