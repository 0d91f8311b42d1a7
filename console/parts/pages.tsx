/** Paginated lists. */
import type { ComponentChildren } from 'preact';
import type { PageOf } from '../contract.ts';
import type { Loaded } from '../loaded.ts';
import { hrefOf, place } from '../router.ts';
import { LoadState } from './failure.tsx';
import { Icon } from './icon.tsx';
import { Empty } from './layout.tsx';
import { type Column, Table } from './table.tsx';

/** Maps the link of each page to the link of its previous page, for the Previous button. */
const cameFrom = new Map<string, string>();

interface PagedProps<Item> {
  readonly label: string;
  readonly loaded: Loaded<PageOf<Item>>;
  readonly columns: readonly Column<Item>[];
  readonly keyOf: (item: Item) => string | number | bigint;
  /** Message for an empty list. */
  readonly empty: ComponentChildren;
}

export function Paged<Item>({ label, loaded, columns, keyOf, empty }: PagedProps<Item>) {
  const { data, isStale } = loaded;
  return (
    <>
      <LoadState loaded={loaded} lines={8} />
      {data?.items.length === 0 && <Empty>{empty}</Empty>}
      {data !== undefined && data.items.length > 0 && (
        <Table label={label} columns={columns} items={data.items} keyOf={keyOf} isBusy={isStale} />
      )}
      <Pager loaded={loaded} />
    </>
  );
}

/** Links to the previous and next pages, which keep the filters in the address. */
export function Pager({ loaded: { data, isStale } }: { loaded: Loaded<PageOf<unknown>> }) {
  const { path, query } = place.value;
  const here = hrefWith(path, query, query.get('cursor') ?? undefined);
  const back = cameFrom.get(here);
  const next = isStale ? undefined : data?.next;
  const ahead = next === undefined ? undefined : hrefWith(path, query, next);
  if (ahead !== undefined) cameFrom.set(ahead, here);
  if (ahead === undefined && !query.has('cursor')) return null;
  return (
    <nav class="pager" aria-label="List pages">
      {query.has('cursor') && (
        <a class="button" href={back ?? hrefWith(path, query, undefined)}>
          <Icon name="previous" />
          {back === undefined ? 'First page' : 'Previous'}
        </a>
      )}
      {ahead !== undefined && (
        <a class="button" href={ahead} rel="next">
          Next
          <Icon name="next" />
        </a>
      )}
    </nav>
  );
}

/** Removes the cursor from a query, so that the query starts with the first page. */
export function withoutCursor<Query extends object | undefined>(query: Query): Query {
  return query && { ...query, cursor: undefined };
}

function hrefWith(path: readonly string[], query: URLSearchParams, cursor: string | undefined): string {
  const { cursor: _, ...filters } = Object.fromEntries(query);
  return hrefOf(`/${path.join('/')}`, { ...filters, cursor });
}
