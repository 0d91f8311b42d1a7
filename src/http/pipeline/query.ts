import * as z from 'zod';
import { isReversed } from '../../contract/admin/values.ts';
import { cursorMistake, filtersText, parseCursor } from '../../contract/cursor.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operations.ts';
import { type Validated, validate } from '../../contract/validation.ts';

/**
 * Path and query of a request: its URL without scheme and authority, which are derived from the Host header. Without a
 * valid Host, the runtime returns only path and query.
 */
export function targetOf(url: string): string {
  // The shortest authority, one character after `http://`, ends at 8.
  return url.startsWith('/') ? url : url.slice(url.indexOf('/', 8));
}

/** The path of a request's target, which is a whole URL or, without a Host header, only the path. */
export function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
}

/** Everything after the first `?` of a request's target, without a fragment. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/**
 * Validates a query against the operation's parameters. Unknown names are mistakes, and so are repeated parameters
 * other than lists.
 */
export function readQuery(operation: Operation, query: string): Validated<unknown> {
  if (query === '' && operation.query === undefined) return { value: undefined };
  const parameters = new Map<string, string | string[]>();
  const mistakes: ErrorDetail[] = [];
  const known = Object.keys(operation.query?.shape ?? {});
  // Each name is reported once, because 16 KiB of repetitions would result in a response of a megabyte.
  const reported = new Set<string>();
  const addMistake = (name: string, message: string) => {
    if (!reported.has(name)) mistakes.push({ in: 'query', name, message });
    reported.add(name);
  };
  for (const [name, value] of new URLSearchParams(query)) {
    const given = parameters.get(name);
    if (!known.includes(name)) addMistake(name, unknownMessage(known));
    else if (isRepeatable(operation.query?.shape[name])) parameters.set(name, [...(given ?? []), value]);
    else if (given !== undefined) addMistake(name, 'is given more than once');
    else parameters.set(name, value);
  }
  // Values of a repeated parameter are not checked, because the intended value is unknown.
  for (const name of reported) parameters.delete(name);
  const schema = operation.query;
  if (schema === undefined) return mistakes.length > 0 ? { mistakes } : { value: undefined };
  const checked = validate(schema, Object.fromEntries(parameters), 'query');
  // A mistake in an item is a mistake of the parameter.
  if ('mistakes' in checked)
    for (const { name, message } of checked.mistakes) addMistake(name.replace(/\..*/, ''), message);
  else if (isReversed(checked.value)) addMistake('until', 'must not be before since');
  if (mistakes.length === 0) return checked;
  return { mistakes: [...mistakes, ...cursorMistakes(operation.path, schema, parameters, reported)] };
}

/** Whether a parameter is a list, which may be repeated. */
function isRepeatable(schema: unknown): boolean {
  return schema instanceof z.ZodArray || (schema instanceof z.ZodOptional && isRepeatable(schema.unwrap()));
}

/**
 * The mistake in the cursor of a query that has other mistakes. The operation itself checks the cursor of a valid
 * query.
 */
function cursorMistakes(
  path: string,
  { shape }: NonNullable<Operation['query']>,
  parameters: ReadonlyMap<string, string | string[]>,
  reported: ReadonlySet<string>,
): ErrorDetail[] {
  const text = parameters.get('cursor');
  if (typeof text !== 'string' || !('cursor' in shape)) return [];
  const cursor = parseCursor(text);
  if (cursor === undefined) return [cursorMistake];
  const { limit: _limit, cursor: _cursor, ...filters } = shape;
  const checked = Object.entries(filters).map(([name, schema]) => {
    return [name, (schema as z.ZodType).safeParse(parameters.get(name))] as const;
  });
  // An invalid filter says nothing about the cursor.
  if (checked.some(([name, { success }]) => !success || reported.has(name))) return [];
  const values = Object.fromEntries(checked.map(([name, { data }]) => [name, data]));
  return cursor.filters === filtersText(path, values) ? [] : [cursorMistake];
}

function unknownMessage(known: string[]): string {
  if (known.length === 0) return 'is unknown; this operation has no query parameters';
  return `is unknown; this operation accepts ${known.join(', ')}`;
}
