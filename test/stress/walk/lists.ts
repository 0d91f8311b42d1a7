/** Lists: exact where only the asker's things can be on the page, else exact for those of the page that are the asker's. */
import { parseJson } from '../../../src/contract/json.ts';
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Request } from './request.ts';
import { limitIn, type Making } from './scene.ts';
import type { Outcome, World } from './world.ts';

const defaultLimit = 20;

/** One thing of a list, with its text. */
export interface Item {
  readonly id: bigint;
  readonly text: string;
}

export interface ListOf {
  readonly operationId: OperationId;
  readonly path: string;
  readonly filters: Readonly<Record<string, string>>;
  /** The asker's things that the filters select, ascending. */
  readonly items: (world: World) => readonly Item[];
  /** Whether others have things in this list, too: then which of them are the asker's. */
  readonly isMine?: (id: bigint) => boolean;
  /** The text of a thing that an answer shows. */
  readonly textOf?: (thing: never) => string;
}

/** A page of the list: the first one, or one whose cursor was given before. */
export function listRequest(making: Making, list: ListOf): Request {
  const { operationId, path } = list;
  const filters = new URLSearchParams(list.filters).toString().replaceAll('%2C', ',');
  const known = making.positions.filter((one) => one.operationId === operationId && one.filters === filters);
  const position = known.length > 0 && making.chance.often(0.5) ? making.chance.pick(known) : undefined;
  const limit = limitIn(making);
  const parameters = [
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...(filters === '' ? [] : [filters]),
    ...(position === undefined ? [] : [`cursor=${position.cursor}`]),
  ];
  const query = [`limit=${limit ?? defaultLimit}`, ...(filters === '' ? [] : [filters])].join('&');
  const asked = { after: position?.after, limit: limit ?? defaultLimit, query };
  return {
    operationId,
    method: 'GET',
    target: parameters.length === 0 ? path : `${path}?${parameters.join('&')}`,
    ...(list.isMine && { isPartly: true as const }),
    act: ({ world }) => (list.isMine === undefined ? exact(list, world, asked) : partly(list, world, asked)),
  };
}

interface Asked {
  /** Undefined: from the first one on, which may have a negative id. */
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly query: string;
}

const isBehind = (id: bigint, after: bigint | undefined) => after === undefined || id > after;

function exact({ items }: ListOf, world: World, { after, limit, query }: Asked): Outcome {
  const left = items(world).filter(({ id }) => isBehind(id, after));
  const text = `[${left
    .slice(0, limit)
    .map((item) => item.text)
    .join()}]`;
  return { status: 200, text, page: { query, hasNext: left.length > limit } };
}

function partly(list: ListOf, world: World, { after, limit, query }: Asked): Outcome {
  const mine = list.items(world);
  const matches = (text: string, hasNext: boolean) => {
    const things = parseJson(text) as readonly { id: bigint }[];
    const items = things.map((thing) => ({ id: thing.id, text: list.textOf?.(thing as never) ?? '' }));
    if (`[${items.map((item) => item.text).join()}]` !== text)
      return `the page is written otherwise: ${text}`;
    if (items.some(({ id }, at) => !isBehind(id, at === 0 ? after : items[at - 1]?.id)))
      return `the page does not ascend from ${after} on: ${text}`;
    if (items.length > limit || (hasNext && items.length < limit))
      return `it has ${items.length} of ${limit}`;
    const last = hasNext ? items.at(-1)?.id : undefined;
    const due = mine.filter(({ id }) => isBehind(id, after) && (last === undefined || id <= last));
    const shown = items.filter(({ id }) => list.isMine?.(id));
    const [is, should] = [shown, due].map((those) => those.map((item) => item.text).join());
    return is === should ? undefined : `the asker's part of the page is ${is}, not ${should}`;
  };
  return { status: 200, matches, page: { query, hasNext: undefined } };
}
