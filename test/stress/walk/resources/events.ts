import { eventSelectors } from '../../../../src/domain/event-type.ts';
import { excludes } from '../lists.ts';
import type { Request } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { RequestInputs } from '../scene.ts';
import { type Outcome, type RecordedEvent, refusal, type World } from '../world.ts';

const defaultLimit = 20;
/**
 * Number of events that the service examines at once for a filtered page, and maximum number that it examines before it
 * finds a match.
 */
const examinedAtOnce = 500;
const maxExamined = 10_000;

interface Asked {
  readonly after: bigint | undefined;
  readonly limit: number;
  readonly types: readonly string[];
  readonly isNewestFirst: boolean;
  /** The query parameters that the link to the next page repeats. */
  readonly query: string;
}

function isOf(type: string, selector: string): boolean {
  if (selector === 'pet.*' && type === 'pets.imported') return true;
  return selector.endsWith('.*') ? type.startsWith(selector.slice(0, -1)) : type === selector;
}

function listEvents({ chance, scene }: RequestInputs): Request {
  const last = scene.world.events.length;
  const isNewestFirst = chance.often(0.2);
  // Independent of the number of events, so that the error does not become rarer during the walk.
  const position = chance.often(0.05) ? last + 1 : chance.int(0, last);
  const after = isNewestFirst || chance.often(0.2) ? undefined : BigInt(position);
  const types = chance.often(0.4)
    ? []
    : [1, 2].slice(0, chance.int(1, 2)).map(() => chance.pick(eventSelectors));
  const limit = chance.pick([undefined, 1, 2, 5, 100]);
  const wait = isNewestFirst ? undefined : chance.pick([undefined, 0]);
  const waiting = wait === undefined ? [] : [`wait=${wait}`];
  const given = [...types.map((type) => `type=${type}`), ...waiting];
  const parameters = [
    ...(after === undefined ? [] : [`after=${after}`]),
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...given,
    ...(isNewestFirst ? ['order=desc'] : []),
  ];
  const query = [`limit=${limit ?? defaultLimit}`, ...new Set(given)].join('&');
  const asked = { after, limit: limit ?? defaultLimit, types, isNewestFirst, query };
  return {
    operationId: 'listEvents',
    method: 'GET',
    target: parameters.length === 0 ? '/events' : `/events?${parameters.join('&')}`,
    ...(!scene.isAlone && { isPartly: true as const }),
    act: ({ world }) => (scene.isAlone ? page(world, asked) : somePage(asked)),
  };
}

/** Returns a check that a link has exactly these parameters, in any order. */
const linkTo = (query: string, after: string) => (link: string) => {
  const [, linked = ''] = /^<[^>]*\/v1\/events\?([^>]*)>; rel="next"$/.exec(link) ?? [];
  const sorted = (parameters: string) => parameters.split('&').sort().join('&');
  return new RegExp(`^${sorted(`${query}&after=${after}`).replace(/[.*?]/g, '\\$&')}$`).test(sorted(linked));
};

/** Removes timestamps, because the service chooses them. */
const timeless = (text: string) => text.replace(/"timestamp":"[^"]+"/g, '"timestamp":""');

const eventText = ({ id, type, text }: RecordedEvent) =>
  `{"id":${id},"type":"${type}","timestamp":"","data":${text}}`;

function page({ events }: World, asked: Asked): Outcome {
  const { after, query, types } = asked;
  const end = BigInt(events.length);
  if (after !== undefined && after > end) return refusal(410, 'events_expired', [`${after}`, `${end}`]);
  const textOf = ({ items }: Shown) => `[${items.map(eventText).join()}]`;
  const pages = possiblePages(events, asked);
  const texts = pages.map(textOf);
  const names = [...(after ? ['after'] : []), ...(types.length > 0 ? ['type'] : [])];
  const others = {
    after: possiblePages(events, { ...asked, after: 0n }),
    type: possiblePages(events, { ...asked, types: [] }),
  };
  const excluding = names.filter((name) => {
    const [other] = others[name as keyof typeof others];
    return pages[0].items.length > 0 && textOf(other) !== texts[0];
  });
  return {
    status: 200,
    matches: (text) =>
      texts.includes(timeless(text)) ? undefined : `the page is ${text}, not ${texts.join(' or ')}`,
    isLink: (link) => pages.some(({ last }) => linkTo(query, `${last}`)(link)),
    ways: excluding.map((name) => excludes(name, names)),
  };
}

interface Shown {
  readonly items: readonly RecordedEvent[];
  /** The position after the page. */
  readonly last: bigint;
}

/**
 * The pages that the service may return. If none of the events examined first match, it examines more, but ends with an
 * empty page when its time is up.
 */
function possiblePages(
  events: readonly RecordedEvent[],
  { after = 0n, limit, types, isNewestFirst }: Asked,
): [Shown, ...Shown[]] {
  const matching = (some: readonly RecordedEvent[]) =>
    some
      .filter(({ type }) => types.length === 0 || types.some((selector) => isOf(type, selector)))
      .slice(0, limit);
  const examined = types.length === 0 ? limit : Math.max(limit, examinedAtOnce);
  if (isNewestFirst)
    return [{ items: matching(events.toReversed().slice(0, examined)), last: BigInt(events.length) }];
  const pageFrom = (from: number): Shown => {
    const items = matching(events.slice(from, from + examined));
    const end = BigInt(Math.min(from + examined, events.length));
    return { items, last: items.length === limit ? (items.at(-1)?.id ?? end) : end };
  };
  const pages: [Shown, ...Shown[]] = [pageFrom(Number(after))];
  for (let from = Number(after) + examined; from < Number(after) + maxExamined; from += examined) {
    if (types.length === 0 || pages.at(-1)?.items.length !== 0 || from >= events.length) break;
    pages.push(pageFrom(from));
  }
  return pages;
}

/** The page may contain other clients' events, so only its length and its link are checked. */
function somePage({ query, limit }: Asked): Outcome {
  return {
    status: 200,
    matches: (text) => {
      const events = JSON.parse(text) as readonly unknown[];
      return events.length <= limit ? undefined : `the page has ${events.length} events with limit=${limit}`;
    },
    isLink: linkTo(query, '[0-9]+'),
  };
}

/** An event id that no walk reaches. */
const beyond = '1000000000000';

/**
 * Sends HEAD, or GET with an expired position, because neither opens a stream. `test/api/event-stream.test.ts` tests
 * the contents of streams.
 */
function streamEvents({ chance, scene }: RequestInputs): Request {
  const request = { operationId: 'streamEvents', isPartly: true } as const;
  if (!scene.isAlone || chance.often(0.7))
    return { ...request, method: 'HEAD', target: '/events/stream', act: () => ({ status: 200, text: '' }) };
  return {
    ...request,
    method: 'GET',
    target: `/events/stream?after=${beyond}`,
    act: ({ world }) => refusal(410, 'events_expired', [beyond, `${world.events.length}`]),
  };
}

export const events: Resource = { places: { listEvents, streamEvents } };
