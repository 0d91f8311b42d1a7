import { setTimeout as sleep } from 'node:timers/promises';
import { openAdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { ApiError } from '../../contract/api-error.ts';
import { Category } from '../../contract/categories.ts';
import { maxWaitSeconds } from '../../contract/events.ts';
import { parseJson } from '../../contract/json.ts';
import type { Page } from '../../contract/operation.ts';
import { Order } from '../../contract/orders.ts';
import { Pet } from '../../contract/pets.ts';
import { type EventRepresentation, eventJson, type PetsImported } from '../../contract/representations.ts';
import { pageLimit } from '../../contract/values.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import type { EventSelector } from '../../domain/event-type.ts';
import { unrestrictedFilter } from '../../operations/admin/events.ts';
import { EventFeed } from '../../operations/events/feed.ts';
import { catchInterruption } from '../signals.ts';
import {
  CommandError,
  errorMessage,
  formatDateTime,
  formatInteger,
  isBrokenPipe,
  PagedTable,
  printLine,
  writeOutput,
} from '../terminal.ts';
import { formatItem } from './item-formats.ts';

interface EventChoice {
  readonly type?: readonly EventSelector[];
  readonly after?: bigint;
  readonly json?: true;
}

interface Listing extends EventChoice {
  readonly limit: number | 'all';
  readonly order?: 'asc' | 'desc';
}

/** Prints events as a table or as one line of JSON. */
export async function listEvents(config: Config, { json, ...options }: Listing): Promise<void> {
  const { after, limit, order = after === undefined && limit !== 'all' ? 'desc' : 'asc' } = options;
  if (order === 'desc' && after !== undefined)
    throw new CommandError('--after cannot be combined with --order desc.', 2);
  if (order === 'desc' && (limit === 'all' || limit > pageLimit.max))
    throw new CommandError(`--order desc lists at most ${pageLimit.max} events.`, 2);
  await using admin = await openAdminServices(config);
  using feed = new EventFeed(admin.store.events, admin.clock);
  const table = new PagedTable(header);
  let isFirst = true;
  try {
    for await (const { items } of readPages(feed, { ...options, order })) {
      if (items.length === 0) continue;
      const text = items
        .map(eventJson)
        .map((event) => escapeUnprintable(event))
        .join(',');
      await writeOutput(json ? `${isFirst ? '[' : ','}${text}` : `${table.add(items.map(toCells))}\n`);
      isFirst = false;
    }
    if (json) await writeOutput(isFirst ? '[]\n' : ']\n');
    else if (isFirst) printLine('No events.');
  } catch (error) {
    if (!isBrokenPipe(error)) throw error;
  }
}

async function* readPages(
  feed: EventFeed,
  { type, after, limit, order }: Omit<Listing, 'json'>,
): AsyncGenerator<Page<EventRepresentation>> {
  const eventFilter = unrestrictedFilter(type);
  if (order === 'desc') return yield await feed.newest(Number(limit), eventFilter);
  let left = limit === 'all' ? Number.POSITIVE_INFINITY : limit;
  for (let position = after; left > 0; ) {
    const atMost = Math.min(left, pageLimit.max);
    const page = await feed.page({ after: position, limit: atMost, eventFilter, waitSeconds: 0 });
    yield page;
    left -= page.items.length;
    // If the position did not change, there are no more events.
    if (page.next === undefined || BigInt(page.next) === position) return;
    position = BigInt(page.next);
  }
}

const retryMs = 1_000;

/**
 * Prints events as they are recorded, until the process receives a signal. Rejects with `events_expired` if events are
 * missing.
 */
export async function tailEvents(config: Config, choice: EventChoice): Promise<void> {
  using interrupted = catchInterruption();
  const { signal } = interrupted;
  await using admin = await openAdminServices(config);
  using feed = new EventFeed(admin.store.events, admin.clock);
  signal.addEventListener('abort', () => feed[Symbol.dispose]());
  const position = choice.after ?? (await admin.store.events.bounds()).last;
  try {
    await follow(feed, { ...choice, after: position }, signal);
  } catch (error) {
    if (!isBrokenPipe(error)) throw error;
  }
}

async function follow(
  feed: EventFeed,
  { type, after, json }: EventChoice,
  signal: AbortSignal,
): Promise<void> {
  const eventFilter = unrestrictedFilter(type);
  let isAway = false;
  for (let position = after; !signal.aborted; ) {
    try {
      const page = await feed.page({
        ...{ after: position, limit: pageLimit.max, eventFilter },
        waitSeconds: maxWaitSeconds,
      });
      isAway = false;
      position = BigInt(page.next ?? 0);
      for (const event of page.items)
        await writeOutput(`${json ? escapeUnprintable(eventJson(event)) : formatEvent(event)}\n`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
      if (!isAway) process.stderr.write(`animal-store: ${escapeUnprintable(errorMessage(error))}\n`);
      isAway = true;
      await sleep(retryMs, undefined, { signal }).catch(() => {});
    }
  }
}

const header = ['ID', 'RECORDED', 'TYPE', 'WHAT'];

function toCells(event: EventRepresentation): string[] {
  return [String(event.id), formatDateTime(event.createdAt), event.type, describeEvent(event)];
}

const shapes: Readonly<Record<string, typeof Pet | typeof Order | typeof Category>> = {
  pet: Pet,
  order: Order,
  category: Category,
};

function describeEvent({ type, data }: EventRepresentation): string {
  const [group = ''] = type.split('.');
  const about = parseJson(data);
  if (type === 'pets.imported') {
    const { count, firstId, lastId } = about as PetsImported;
    return `${formatInteger(count)} animals, with ids from ${firstId} to ${lastId}.`;
  }
  return Object.hasOwn(shapes, group) ? formatItem(shapes[group], about) : data;
}

/**
 * Formats an event. The type column is wide enough for the longest type, because the types of later events are not
 * known yet.
 */
function formatEvent(event: EventRepresentation): string {
  const [id = '', at = '', type = '', what = ''] = toCells(event);
  return escapeUnprintable(`${at}  ${id.padEnd(8)}  ${type.padEnd(18)}  ${what}`).trimEnd();
}
