/** Requests that measure the cost of filters. The store must contain the animals that `animal` generates. */
import { Database } from 'bun:sqlite';

/**
 * Page size for all filters. The pages are small, because the category below has only ten available animals in the
 * smaller store.
 */
const limit = 5;
/** A category with alternating available and sold animals. */
const categoryId = 7;
/** An animal with several orders. */
const ordered = { petId: 3, times: 40 } as const;

/**
 * Number of variants of a query. The cache cannot hold the responses to all variants, even if they are small, so
 * requesting the variants in turn never hits the cache.
 */
export const manySpellings = 20_000;
/** Number of variants of a path without a query. Their URLs are longer, so fewer responses fit in the cache. */
const longSpellings = 4_500;

type Query = Readonly<Record<string, string | number>> & { readonly limit?: number };

export interface FilterTarget {
  readonly name: string;
  readonly path: string;
  query(size: { readonly animals: number }): Query;
  /** SQL query for all matching ids, used to find the start of the last page. Undefined for the first page. */
  readonly after?: string;
  readonly spellings: number;
}

function list(name: string, path: string, filters: Query, where: string): FilterTarget[] {
  const common = { path, query: () => ({ limit, ...filters }), spellings: manySpellings };
  return [
    { ...common, name: `${name}, first page` },
    { ...common, name: `${name}, last page`, after: `SELECT id FROM ${path.slice(1)} WHERE ${where}` },
  ];
}

/** Returns ids of available animals of the category, spread over the whole store. */
const ids = ({ animals }: { animals: number }) =>
  Array.from(
    { length: limit },
    (_, index) => 8 + 100 * Math.floor((index * (animals - 100)) / 100 / limit),
  ).join(',');

const named = (name: string, filters: Query): FilterTarget => ({
  name,
  path: '/pets',
  query: (size) => ({ limit, ...filters, id: ids(size) }),
  spellings: manySpellings,
});

export const filterTargets: readonly FilterTarget[] = [
  ...list('all animals', '/pets', {}, 'true'),
  ...list('`status`', '/pets', { status: 'available' }, "status = 'available'"),
  ...list('`categoryId`', '/pets', { categoryId }, `category_id = ${categoryId}`),
  ...list(
    '`status`, `categoryId`',
    '/pets',
    { status: 'available', categoryId },
    `status = 'available' AND category_id = ${categoryId}`,
  ),
  named('`id`, five of them', {}),
  named('`id`, `status`', { status: 'available' }),
  named('`id`, `categoryId`', { categoryId }),
  named('`id`, `status`, `categoryId`', { status: 'available', categoryId }),
  { name: 'inventory', path: '/inventory', query: () => ({}), spellings: longSpellings },
  {
    name: 'inventory, `categoryId`',
    path: '/inventory',
    query: () => ({ categoryId }),
    spellings: manySpellings,
  },
  ...list('all orders', '/orders', {}, 'true'),
  ...list('orders, `status`', '/orders', { status: 'delivered' }, "status = 'delivered'"),
  ...list('orders, `petId`', '/orders', { petId: ordered.petId }, `pet_id = ${ordered.petId}`),
  ...list(
    'orders, `status`, `petId`',
    '/orders',
    { status: 'cancelled', petId: ordered.petId },
    `status = 'cancelled' AND pet_id = ${ordered.petId}`,
  ),
];

/**
 * Inserts orders directly into a store that is not in use, in a state that the API could produce. Placing a million
 * orders through the API would take an hour.
 */
export function fillOrders(file: string, count: number): void {
  using database = new Database(file);
  const insert = 'INSERT INTO orders (pet_id, status, created_at, updated_at)';
  const times = '1790000000000 + id, 1790000000000 + id';
  database.run(
    `${insert}
     SELECT id, CASE status WHEN 'pending' THEN iif(id % 2, 'placed', 'approved')
                            WHEN 'sold' THEN 'delivered' ELSE iif(id % 3, 'cancelled', 'returned') END, ${times}
     FROM pets WHERE id <= ?`,
    [count - ordered.times],
  );
  database.run(
    `${insert}
     SELECT ${ordered.petId}, iif(id % 2, 'cancelled', 'returned'), ${times} FROM pets WHERE id <= ?`,
    [ordered.times],
  );
}

/** Maximum number of query characters that a variant percent-encodes. */
const spelledPlaces = 10;

/** Returns an equivalent query, encoded differently for each number, so that its response is never cached. */
export function spelled(address: string, spelling: number): string {
  const start = address.indexOf('?') + 1;
  let place = 0;
  const query = address.slice(start).replace(/[a-z0-9]/g, (character) => {
    const bit = place++;
    const isSpelled = bit < spelledPlaces && (spelling >> bit) & 1;
    return isSpelled ? `%${character.charCodeAt(0).toString(16)}` : character;
  });
  const more = query === '' ? spelling : spelling >> Math.min(place, spelledPlaces);
  return `${address.slice(0, start)}${query}${'&'.repeat(more)}`;
}
