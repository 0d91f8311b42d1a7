/**
 * Requests for lists. The model predicts the whole page if the page can contain only the caller's objects. Otherwise it
 * predicts only the caller's objects on the page.
 */

import type * as z from 'zod';
import { parseJson } from '../../../src/contract/json.ts';
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import { anyName } from '../generate/json-text.ts';
import { type Request, rowOf } from './request.ts';
import type { Position, RequestInputs } from './scene.ts';
import { wordsOf } from './schemas.ts';
import { ascending, blaming, type Outcome, type World } from './world.ts';

const defaultLimit = 20;

/** The value of a list filter, and the condition that implements the filter in the model. */
export interface Filter<Thing> {
  readonly value: string;
  readonly admits: (thing: Thing) => boolean;
}

interface ListOf<Thing extends { readonly id: bigint }> {
  readonly operationId: OperationId;
  readonly path: string;
  /** All filters of the list, keyed by parameter name. */
  readonly filters: Filters<Thing>;
  /** Names of filters that exclude other clients' objects. */
  readonly ownBy: readonly string[];
  /** True if the object belongs to the caller. Pages may also contain other clients' objects. */
  readonly isMine: (id: bigint) => boolean;
  readonly things: (world: World) => Iterable<Thing>;
  readonly textOf: (thing: Thing) => string;
}

type Filters<Thing> = Readonly<Record<string, Filter<Thing>>>;

/** Filters that compare a field with its value in a known object, or with a random value. */
export function memberFilters<Thing>(
  operationId: OperationId,
  known: Partial<Thing>,
  chance: Chance,
): Filters<Thing> {
  const { limit: _limit, cursor: _cursor, ...query } = rowOf({ operationId }).query?.shape ?? {};
  const filters = Object.entries(query).map(([name, schema]) => {
    const member = name as keyof Thing;
    const value = known[member] ?? anyValue(schema as z.ZodType, chance);
    return [name, { value: String(value), admits: (thing: Thing) => thing[member] === value }] as const;
  });
  return Object.fromEntries(filters);
}

function anyValue(schema: z.ZodType, chance: Chance): unknown {
  const words = wordsOf(schema);
  return words === undefined ? anyName(chance) : chance.pick(words);
}

/** The filters and the position of a page. If the cursor belongs to another list, `foreign` describes the mismatch. */
interface Beginning {
  readonly names: readonly string[];
  readonly position?: Position;
  readonly foreign?: string;
}

/**
 * Requests the first page of the list, a page at a cursor from an earlier response, or a page at another list's cursor,
 * which is an error.
 */
export function listRequest<Thing extends { readonly id: bigint }>(
  inputs: RequestInputs,
  list: ListOf<Thing>,
): Request {
  const { chance, scene, unmet = [] } = inputs;
  const { operationId, path, ownBy } = list;
  // Other lists lack a cursor of this list.
  const isLacked = unmet.some((way) => way.endsWith(` cursor of ${operationId}`)) && chance.often(0.5);
  const begin = chance.pick([foreignBeginning, ownBeginning, ownBeginning]);
  const { names, position, foreign }: Beginning = isLacked ? { names: [] } : begin(inputs, list);
  const isOwn = scene.isAlone || names.some((name) => ownBy.includes(name));
  const chosen = Object.entries(list.filters).filter(([name]) => names.includes(name));
  const filters = Object.fromEntries(chosen.map(([name, { value }]) => [name, value]));
  const limit = isLacked ? 1 : chance.pick([undefined, 1, 2, 3, 5, 100]);
  const given = chosen.map(([name, { value }]) => `${name}=${encodeURIComponent(value)}`);
  const parameters = [
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...given,
    ...(position === undefined ? [] : [`cursor=${position.cursor}`]),
  ];
  const query = [`limit=${limit ?? defaultLimit}`, ...given].join('&');
  const asked = { after: position?.after, limit: limit ?? defaultLimit, query };
  const applied = { ...list, filters: Object.fromEntries(chosen) };
  return {
    operationId,
    method: 'GET',
    target: parameters.length === 0 ? path : `${path}?${parameters.join('&')}`,
    list: { path, filters },
    ...(!isOwn && { isPartly: true as const }),
    ...(foreign && { refused: blaming('invalid_cursor', 'query:cursor'), way: `${operationId} ${foreign}` }),
    act: ({ world }) => (isOwn ? exact(applied, world, asked) : partly(applied, world, asked)),
  };
}

const has = ({ filters }: Position, name: string, value: string) => filters[name] === value;

/** The first page of the list, or a page at a cursor from an earlier response. */
function ownBeginning<Thing extends { readonly id: bigint }>(
  { chance, scene, positions, unmet = [] }: RequestInputs,
  { operationId, path, filters, ownBy }: ListOf<Thing>,
): Beginning {
  const known = positions.filter(
    (position) =>
      position.operationId === operationId &&
      position.path === path &&
      Object.keys(position.filters).every((name) => has(position, name, filters[name]?.value ?? '')),
  );
  if (known.length > 0 && chance.often(0.5)) {
    const position = chance.pick(known);
    return { names: Object.keys(position.filters), position };
  }
  const all = Object.keys(filters);
  const due = unmet.flatMap((way) => filtersIn(operationId, way));
  const some =
    due.length > 0 && chance.often(0.5)
      ? chance.pick(due)
      : chance.shuffled(all).slice(0, chance.pick([0, 1, 1, 2, 2, 3]));
  const isOwn = !scene.isShared || some.some((name) => ownBy.includes(name));
  return { names: isOwn ? some : [...some, ...ownBy.slice(0, 1)] };
}

/**
 * A cursor of a list that differs from this list in exactly one respect: the operation, the parent in the path, or one
 * filter.
 */
function foreignBeginning<Thing extends { readonly id: bigint }>(
  inputs: RequestInputs,
  list: ListOf<Thing>,
): Beginning {
  const { operationId, path, filters } = list;
  const candidates = inputs.positions.flatMap((position): Beginning[] => {
    const names = Object.keys(position.filters);
    if (position.operationId !== operationId)
      return names.length > 0 ? [] : [{ names, position, foreign: `cursor of ${position.operationId}` }];
    const differing = names.filter((name) => !has(position, name, filters[name]?.value ?? ''));
    if (position.path !== path)
      return differing.length > 0 ? [] : [{ names, position, foreign: 'cursor of another parent' }];
    return Object.keys(filters)
      .filter((name) => differing.every((one) => one === name))
      .map((name) => ({
        names:
          names.includes(name) && !differing.includes(name)
            ? names.filter((one) => one !== name)
            : [...names, name],
        position,
        foreign: `cursor of another ${name}`,
      }));
  });
  const due = candidates.filter(({ foreign }) => inputs.unmet?.includes(`${operationId} ${foreign}`));
  const kinds = [...Map.groupBy(due.length > 0 ? due : candidates, ({ foreign }) => foreign).values()];
  return kinds.length > 0 ? inputs.chance.pick(inputs.chance.pick(kinds)) : ownBeginning(inputs, list);
}

interface Asked {
  /** The page starts after this id. Undefined for the first page, because ids may be negative. */
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly query: string;
}

const isBehind = (id: bigint, after: bigint | undefined) => after === undefined || id > after;

/** Objects after the cursor that match all filters except the ignored one. */
function left<Thing extends { readonly id: bigint }>(
  { things, filters }: ListOf<Thing>,
  world: World,
  after: bigint | undefined,
  ignored?: string,
): Thing[] {
  const applied = Object.entries(filters).filter(([name]) => name !== ignored);
  return ascending(things(world)).filter(
    (thing) => isBehind(thing.id, after) && applied.every(([, { admits }]) => admits(thing)),
  );
}

function exact<Thing extends { readonly id: bigint }>(
  list: ListOf<Thing>,
  world: World,
  asked: Asked,
): Outcome {
  const { after, limit, query } = asked;
  const pageOf = (things: readonly Thing[]) => `[${things.slice(0, limit).map(list.textOf).join()}]`;
  const due = left(list, world, after);
  const text = pageOf(due);
  const names = Object.keys(list.filters);
  const excluding = names.filter((name) => due.length > 0 && pageOf(left(list, world, after, name)) !== text);
  return {
    status: 200,
    text,
    page: { query, hasNext: due.length > limit },
    ways: excluding.map((name) => excludes(name, names)),
  };
}

/** Label of a page that would differ if this filter were ignored. */
export function excludes(name: string, filters: readonly string[]): string {
  return `with ${[...filters].sort().join(' and ')}: excludes by ${name}`;
}

/** The filters of a label that `excludes` makes. Empty if the label is of another kind. */
function filtersIn(operationId: OperationId, way: string): string[][] {
  const [, filters] = new RegExp(`^${operationId} with (.*): excludes by `).exec(way) ?? [];
  return filters === undefined ? [] : [filters.split(' and ')];
}

function partly<Thing extends { readonly id: bigint }>(
  list: ListOf<Thing>,
  world: World,
  asked: Asked,
): Outcome {
  const { after, limit, query } = asked;
  const mine = left(list, world, after);
  const matches = (text: string, hasNext: boolean) => {
    const items = parseJson(text) as readonly Thing[];
    if (`[${items.map(list.textOf).join()}]` !== text) return `the page is serialized differently: ${text}`;
    if (items.some(({ id }, at) => !isBehind(id, at === 0 ? after : items[at - 1]?.id)))
      return `the ids of the page do not ascend from ${after}: ${text}`;
    if (items.length > limit || (hasNext && items.length < limit))
      return `the page has ${items.length} items with limit=${limit}`;
    const last = hasNext ? items.at(-1)?.id : undefined;
    const due = mine.filter(({ id }) => last === undefined || id <= last);
    const shown = items.filter(({ id }) => list.isMine(id));
    const [is, should] = [shown, due].map((those) => those.map(list.textOf).join());
    return is === should ? undefined : `the caller's part of the page is ${is}, not ${should}`;
  };
  return { status: 200, matches, page: { query, hasNext: undefined } };
}
