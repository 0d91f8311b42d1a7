import * as z from 'zod';
import { isReversed } from '../../contract/admin/values.ts';
import { cursorMistake, filtersText, parseCursor } from '../../contract/cursor.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operations.ts';
import { type Validated, validate } from '../../contract/validation.ts';

/**
 * Path and query of a request URL. The runtime derives the scheme and authority from the Host header, and omits them
 * without a valid Host.
 */
export function targetOf(url: string): string {
  // After `http://`, the authority has at least one character, so the path starts at index 8 or later.
  return url.startsWith('/') ? url : url.slice(url.indexOf('/', 8));
}

/** The path of a request URL. Without a Host header, the URL has no scheme and authority. */
export function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
}

/** Everything after the first `?` of a request URL. Request URLs have no fragment. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/**
 * Validates a query against the operation's parameters. Rejects unknown parameters, and repeated parameters that are
 * not lists.
 */
export function readQuery({ path, query: schema }: Operation, query: string): Validated<unknown> {
  if (query === '' && schema === undefined) return { value: undefined };
  const shape = schema?.shape ?? {};
  const values: Record<string, string | string[]> = {};
  // Each name is reported only once, because 16 KiB of repeated names would result in a 1 MB response.
  const mistakes = new Map<string, ErrorDetail>();
  const addMistake = (name: string, message: string) => {
    if (!mistakes.has(name)) mistakes.set(name, { in: 'query', name, message });
  };
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(shape, name)) addMistake(name, unknownMessage(Object.keys(shape)));
    else if (isRepeatable(shape[name])) values[name] = [...(values[name] ?? []), value];
    else if (values[name] !== undefined) addMistake(name, 'is given more than once');
    else values[name] = value;
  }
  // Values of unknown or repeated parameters are not validated, because the intended value is unclear.
  for (const name of mistakes.keys()) delete values[name];
  const checked: Validated<unknown> =
    schema === undefined ? { value: undefined } : validate(schema, values, 'query');
  // An error in a list item is reported with the name of the parameter, without the index.
  if ('mistakes' in checked)
    for (const { name, message } of checked.mistakes) addMistake(name.replace(/\..*/, ''), message);
  else if (isReversed(checked.value)) addMistake('until', 'must not be before since');
  if (mistakes.size === 0) return checked;
  const ofCursor = schema === undefined ? [] : cursorMistakes(path, schema, values, mistakes);
  return { mistakes: [...mistakes.values(), ...ofCursor] };
}

/** Whether a parameter is a list. Only lists may be repeated. */
function isRepeatable(schema: unknown): boolean {
  return schema instanceof z.ZodArray || (schema instanceof z.ZodOptional && isRepeatable(schema.unwrap()));
}

/** Checks the cursor if the query has other errors. Otherwise, the operation checks it. */
function cursorMistakes(
  path: string,
  { shape }: NonNullable<Operation['query']>,
  values: Readonly<Record<string, string | string[]>>,
  mistakes: ReadonlyMap<string, ErrorDetail>,
): ErrorDetail[] {
  const { cursor: text } = values;
  if (typeof text !== 'string' || !('cursor' in shape)) return [];
  const cursor = parseCursor(text);
  if (cursor === undefined) return [cursorMistake];
  const { limit: _limit, cursor: _cursor, ...filters } = shape;
  const checked = Object.entries(filters).map(([name, schema]) => {
    return [name, (schema as z.ZodType).safeParse(values[name])] as const;
  });
  // The cursor cannot be checked against invalid filters.
  if (checked.some(([name, { success }]) => !success || mistakes.has(name))) return [];
  const query = Object.fromEntries(checked.map(([name, { data }]) => [name, data]));
  return cursor.filters === filtersText(path, query) ? [] : [cursorMistake];
}

function unknownMessage(known: string[]): string {
  if (known.length === 0) return 'is unknown; this operation has no query parameters';
  return `is unknown; this operation accepts ${known.join(', ')}`;
}
