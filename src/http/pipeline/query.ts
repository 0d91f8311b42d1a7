import * as z from 'zod';
import { cursorMistake, filtersText, parseCursor } from '../../contract/cursor.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operations.ts';
import { type Validated, validate } from '../../contract/validation.ts';

/**
 * Path and query of a request: its address without scheme and authority, which the Host header only makes up. Without
 * a usable Host the runtime gives them alone.
 */
export function targetOf(url: string): string {
  // The shortest authority, one character behind `http://`, ends at 8.
  return url.startsWith('/') ? url : url.slice(url.indexOf('/', 8));
}

/** The path of a request's target, which is a whole address or, without a Host header, the path alone. */
export function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
}

/** Everything after the first `?` of a request's target, without a fragment. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** Checks a query against what the operation knows; unknown names are mistakes, and values given twice except of a list. */
export function readQuery(operation: Operation, query: string): Validated<unknown> {
  if (query === '' && operation.query === undefined) return { value: undefined };
  const parameters = new Map<string, string | string[]>();
  const mistakes: ErrorDetail[] = [];
  const known = Object.keys(operation.query?.shape ?? {});
  // Each name is reported once, however often it is there: 16 KiB of them would make an answer of a megabyte.
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
  // Which of its values a parameter given twice has is not known, so none is checked.
  for (const name of reported) parameters.delete(name);
  const schema = operation.query;
  if (schema === undefined) return mistakes.length > 0 ? { mistakes } : { value: undefined };
  const checked = validate(schema, Object.fromEntries(parameters), 'query');
  // A mistake in an item is one of the parameter.
  if ('mistakes' in checked)
    for (const { name, message } of checked.mistakes) addMistake(name.replace(/\..*/, ''), message);
  if (mistakes.length === 0) return checked;
  return { mistakes: [...mistakes, ...cursorMistakes(operation.path, schema, parameters, reported)] };
}

/** Whether a parameter may be given several times: it is a list. */
function isRepeatable(schema: unknown): boolean {
  return schema instanceof z.ZodArray || (schema instanceof z.ZodOptional && isRepeatable(schema.unwrap()));
}

/** What is wrong with the cursor of a query that has other mistakes; the operation itself checks that of one without. */
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
  // A filter that is itself a mistake says nothing about the cursor's.
  if (checked.some(([name, { success }]) => !success || reported.has(name))) return [];
  const values = Object.fromEntries(checked.map(([name, { data }]) => [name, data]));
  return cursor.filters === filtersText(path, values) ? [] : [cursorMistake];
}

function unknownMessage(known: string[]): string {
  if (known.length === 0) return 'is unknown; this operation has no query parameters';
  return `is unknown; this operation accepts ${known.join(', ')}`;
}
