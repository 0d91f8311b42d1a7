/** Paginated lists. */
import type { ComponentChildren } from 'preact';
import type { PageOf } from '../contract.ts';
import { buildHref, currentRoute } from '../router.ts';
import type { Loaded } from '../use-loaded.ts';
import { LoadState } from './failure.tsx';
import { Icon } from './icon.tsx';
import { EmptyMessage } from './layout.tsx';
import { type Column, Table } from './table.tsx';

/** Maps the link of each page to the link of its previous page, for the Previous button. */
const previousLinks = new Map<string, string>();

interface PagedTableProps<Item> {
  readonly label: string;
  readonly loaded: Loaded<PageOf<Item>>;
  readonly columns: readonly Column<Item>[];
  readonly keyOf: (item: Item) => string | number | bigint;
  /** Message for an empty list. */
  readonly empty: ComponentChildren;
}

export function PagedTable<Item>({ label, loaded, columns, keyOf, empty }: PagedTableProps<Item>) {
  const { data, isStale } = loaded;
  return (
    <>
      <LoadState loaded={loaded} lines={8} />
      {data?.items.length === 0 && <EmptyMessage>{empty}</EmptyMessage>}
      {data !== undefined && data.items.length > 0 && (
        <Table label={label} columns={columns} items={data.items} keyOf={keyOf} isBusy={isStale} />
      )}
      <Pager loaded={loaded} />
    </>
  );
}

/** Links to the previous and next pages, which keep the filters in the address. */
export function Pager({ loaded: { data, isStale } }: { loaded: Loaded<PageOf<unknown>> }) {
  const { path, query } = currentRoute.value;
  const here = pageHref(path, query, query.get('cursor') ?? undefined);
  const back = previousLinks.get(here);
  const next = isStale ? undefined : data?.next;
  const ahead = next === undefined ? undefined : pageHref(path, query, next);
  if (ahead !== undefined) previousLinks.set(ahead, here);
  if (ahead === undefined && !query.has('cursor')) return null;
  return (
    <nav class="pager" aria-label="List pages">
      {query.has('cursor') && (
        <a class="button" href={back ?? pageHref(path, query, undefined)}>
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

function pageHref(path: readonly string[], query: URLSearchParams, cursor: string | undefined): string {
  const { cursor: _, ...filters } = Object.fromEntries(query);
  return buildHref(`/${path.join('/')}`, { ...filters, cursor });
}
