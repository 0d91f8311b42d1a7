/** Lists that are read page by page, each by the link that came with the one before. */
import type { ComponentChildren } from 'preact';
import type { PageOf } from '../contract.ts';
import type { Loaded } from '../loaded.ts';
import { hrefOf, place } from '../router.ts';
import { LoadFailure } from './failure.tsx';
import { Icon } from './icon.tsx';
import { Empty, Waiting } from './layout.tsx';
import { type Column, Table } from './table.tsx';

/** Where each page was come to from, so that one can go back. */
const cameFrom = new Map<string, string>();

interface PagedProps<Item> {
  readonly label: string;
  readonly loaded: Loaded<PageOf<Item>>;
  readonly columns: readonly Column<Item>[];
  readonly keyOf: (item: Item) => string | number | bigint;
  /** Shown where there is nothing. */
  readonly empty: ComponentChildren;
}

export function Paged<Item>({ label, loaded, columns, keyOf, empty }: PagedProps<Item>) {
  const { data, isStale, failure } = loaded;
  return (
    <>
      <LoadFailure loaded={loaded} />
      {data === undefined && failure === undefined && <Waiting lines={8} />}
      {data?.items.length === 0 && <Empty>{empty}</Empty>}
      {data !== undefined && data.items.length > 0 && (
        <Table label={label} columns={columns} items={data.items} keyOf={keyOf} isBusy={isStale} />
      )}
      <Pager loaded={loaded} />
    </>
  );
}

/** Links to the pages beside this one. Their filters are those of the address. */
export function Pager({ loaded: { data, isStale } }: { loaded: Loaded<PageOf<unknown>> }) {
  const { path, query } = place.value;
  const here = hrefWith(path, query, query.get('cursor') ?? undefined);
  const back = cameFrom.get(here);
  const next = isStale ? undefined : data?.next;
  const ahead = next === undefined ? undefined : hrefWith(path, query, next);
  if (ahead !== undefined) cameFrom.set(ahead, here);
  if (ahead === undefined && !query.has('cursor')) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
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

function hrefWith(path: readonly string[], query: URLSearchParams, cursor: string | undefined): string {
  const { cursor: _, ...filters } = Object.fromEntries(query);
  return hrefOf(`/${path.join('/')}`, { ...filters, cursor });
}
