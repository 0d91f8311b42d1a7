/** Routing by URL fragment: `#/accounts/7?state=open`. */
import { signal } from '@preact/signals';

interface HashRoute {
  /** Path segments, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const currentRoute = signal<HashRoute>(placeOf(location.hash));

function placeOf(hash: string): HashRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Query = Readonly<Record<string, string | number | bigint | undefined>>;

/** Returns the link to a page. Omits empty query values. */
export function buildHref(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#${path}${words === '' ? '' : `?${words}`}`;
}

export function goTo(
  path: string,
  { query = {}, replace = false }: { query?: Query; replace?: boolean } = {},
): void {
  const href = buildHref(path, query);
  if (replace) history.replaceState(null, '', `${location.pathname}${location.search}${href}`);
  else history.pushState(null, '', href);
  currentRoute.value = placeOf(location.hash);
}

export function watchAddress(): void {
  // Both are needed: links fire `hashchange`, and going back to an entry created by `pushState` fires `popstate`.
  for (const event of ['hashchange', 'popstate']) {
    addEventListener(event, () => {
      currentRoute.value = placeOf(location.hash);
    });
  }
}
