/** Reads and writes JSON with exact integers. Integers that `JSON.parse` would round become bigints. */

/** A 64-bit integer of the API; a bigint if it is not a safe integer. */
export type Int64 = number | bigint;

const tooOld = 'This browser rounds large integers. Use a newer browser.';

interface Source {
  readonly source?: string;
}

export function parseJson(text: string): unknown {
  return JSON.parse(text, reviveInteger);
}

function reviveInteger(_name: string, value: unknown, context?: Source): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  // A rounded id would identify a different object.
  if (source === undefined && Number.isInteger(value)) throw new Error(tooOld);
  return /^-?\d+$/.test(source ?? '') ? BigInt(source ?? '') : value;
}

export function stringifyJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(stringifyJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringifyJson(member)}`).join(',')}}`;
}

/** Formats a value as indented JSON, with one member per line. */
export function formatJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return stringifyJson(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const inner = `${indent}  `;
  const lines = Object.entries(value).map(([name, member]) => {
    const label = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `;
    return `${inner}${label}${formatJson(member, inner)}`;
  });
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
