/** Formats contract objects for people: lists as tables, single objects as text. */
import type * as z from 'zod';
import { grouped, instant, table } from '../terminal.ts';
import { itemOf, metaOf } from './members.ts';

/** A value as parsed from JSON, with exact integers. */
export type Exact<Value> = Value extends number | bigint
  ? bigint
  : Value extends readonly (infer Item)[]
    ? readonly Exact<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Exact<Value[Name]> }
      : Value;

export type ShapeOf<Schema extends z.ZodType> = Exact<z.infer<Schema>>;

type MemberOf<Item> = keyof Item & string;

/**
 * A table column: either the name of a member, from which the title is derived, or a title followed by the member or
 * function that provides the cells.
 */
type Column<Item> =
  | MemberOf<Item>
  | readonly [title: string, cell: MemberOf<Item> | ((item: Item) => string)];

interface Shape<Item> {
  /** Defaults to all members. */
  readonly columns?: readonly Column<Item>[];
  readonly none?: string;
  /** Formats a single object. Defaults to a table with one row. */
  readonly text?: (item: Item) => string;
}

const shapes = new Map<z.ZodType, Shape<never>>();

export function define<Schema extends z.ZodType>(schema: Schema, shape: Shape<ShapeOf<Schema>>): void {
  shapes.set(schema, shape);
}

export const time = (iso: string) => instant(Date.parse(iso));

export function tableOf(schema: z.ZodType | undefined) {
  const item = itemOf(schema);
  const { columns = Object.keys(item.shape), none = 'None.' } = (shapes.get(item) ?? {}) as Shape<Cells>;
  const named = columns.map((column) =>
    typeof column === 'string' ? ([titleOf(column), column] as const) : column,
  );
  const cells = named.map(([, cell]) => (typeof cell === 'string' ? memberText(item, cell) : cell));
  return {
    header: named.map(([title]) => title),
    row: (one: object) => cells.map((cell) => cell(one as Cells)),
    none,
  };
}

export function textOf(schema: z.ZodType | undefined, item: unknown): string {
  const { text } = shapes.get(itemOf(schema)) ?? {};
  if (text !== undefined) return text(item as never);
  const { header, row } = tableOf(schema);
  return table(header, [row(item as object)]);
}

type Cells = Readonly<Record<string, unknown>>;

/** Returns a column title: `CATEGORY` for `categoryId`, `LAST USED` for `lastUsedAt`. */
function titleOf(name: string): string {
  return name
    .replace(/(?<=.)(?:Id|At)$/, '')
    .replace(/[A-Z]/g, ' $&')
    .toUpperCase();
}

/** Returns a formatter for a member's cells: times to the second, counts with thousands separators. */
function memberText({ shape }: z.ZodObject, name: string): (item: Cells) => string {
  const { override } = shape[name] === undefined ? {} : metaOf(shape[name] as z.ZodType);
  return ({ [name]: value }) => {
    if (value === null || value === undefined) return '';
    if (override?.format === 'date-time') return time(String(value));
    if (typeof value === 'bigint') return override?.minimum === 0 ? grouped(value) : String(value);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
}
