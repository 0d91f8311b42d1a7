import type { ErrorDetail } from '../contract/errors.ts';
import type { Operation } from '../contract/operations.ts';
import { type Validated, validate } from '../contract/validation.ts';
import { cursorMistake, parseCursor } from '../domain/cursor.ts';

/**
 * Path and query of a request: its address without scheme and authority, which the Host header only makes up. Without
 * a usable Host the runtime gives them alone.
 */
export function targetOf(url: string): string {
  // The shortest authority, one character behind `http://`, ends at 8.
  return url.startsWith('/') ? url : url.slice(url.indexOf('/', 8));
}

/** Everything after the first `?` of a request's target, without a fragment. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** Checks a query against what the operation knows; values given twice and unknown names are mistakes. */
export function readQuery(operation: Operation, query: string): Validated<unknown> {
  if (query === '' && operation.query === undefined) return { value: {} };
  const parameters = new Map<string, string>();
  const mistakes: ErrorDetail[] = [];
  const known = Object.keys(operation.query?.shape ?? {});
  // Each name is reported once, however often it is there: 16 KiB of them would make an answer of a megabyte.
  const reported = new Set<string>();
  const report = (name: string, message: string) => {
    if (!reported.has(name)) mistakes.push({ in: 'query', name, message });
    reported.add(name);
  };
  for (const [name, value] of new URLSearchParams(query)) {
    if (!known.includes(name)) report(name, unknownMessage(known));
    else if (parameters.has(name)) report(name, 'is given more than once');
    else parameters.set(name, value);
  }
  // Which of its values a parameter given twice has is not known, so none is checked.
  for (const name of reported) parameters.delete(name);
  const schema = operation.query;
  if (schema === undefined) return mistakes.length > 0 ? { mistakes } : { value: {} };
  const checked = validate(schema, Object.fromEntries(parameters), 'query');
  if ('mistakes' in checked) mistakes.push(...checked.mistakes.filter(({ name }) => !reported.has(name)));
  if (mistakes.length === 0) return checked;
  return { mistakes: [...mistakes, ...cursorMistakes(parameters, mistakes)] };
}

/** What is wrong with the cursor of a query that has other mistakes; the operation itself checks that of one without. */
function cursorMistakes(
  parameters: ReadonlyMap<string, string>,
  mistakes: readonly ErrorDetail[],
): ErrorDetail[] {
  const text = parameters.get('cursor');
  if (text === undefined) return [];
  const cursor = parseCursor(text);
  // A filter that is itself a mistake says nothing about the cursor's.
  const isFilterUnknown = mistakes.some(({ name }) => name === 'status');
  const fits = isFilterUnknown || cursor?.status === parameters.get('status');
  return cursor !== undefined && fits ? [] : [cursorMistake];
}

function unknownMessage(known: string[]): string {
  if (known.length === 0) return 'is unknown; this operation has no query parameters';
  return `is unknown; this operation accepts ${known.join(', ')}`;
}
