/** A list as a table. On narrow screens, each row becomes a card. */
import type { ComponentChildren } from 'preact';

export interface Column<Item> {
  readonly title: string;
  readonly show: (item: Item) => ComponentChildren;
  readonly kind?: 'number' | 'actions';
}

interface TableProps<Item> {
  /** Accessible name of the list. */
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string | number | bigint;
  readonly isBusy?: boolean;
}

export function Table<Item>({ label, columns, items, keyOf, isBusy = false }: TableProps<Item>) {
  return (
    <table class="list" aria-label={label} aria-busy={isBusy}>
      <thead>
        <tr>
          {columns.map(({ title, kind }) => (
            <th key={title} scope="col" class={kind}>
              {kind === 'actions' ? <span class="unseen">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={String(keyOf(item))}>
            {columns.map(({ title, show, kind }) => (
              <td key={title} class={kind} data-title={title}>
                {kind === 'actions' ? show(item) : <div class="cell">{show(item)}</div>}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
