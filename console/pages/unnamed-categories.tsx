/** Lists categories that have animals but no name, each with an input field for a name. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { ItemOf } from '../contract.ts';
import { formatInteger, pluralize } from '../format.ts';
import { ChangeButton } from '../parts/button.tsx';
import { Card } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { quoteName } from '../text.ts';
import { toFailure, useLoaded } from '../use-loaded.ts';

type Category = ItemOf<'GET /categories/in-use'>;

const mostShown = 20;

export function UnnamedCategories({ changes, onNamed }: { changes: number; onNamed: () => void }) {
  const load = () =>
    callPage('GET /categories/in-use', { query: { named: 'false', limit: String(mostShown) } });
  const { data, reload } = useLoaded(`${changes}`, load);
  if (data === undefined || data.items.length === 0) return null;
  const onDone = () => {
    reload();
    onNamed();
  };
  return (
    <Card
      title="Unnamed categories in use"
      about={
        data.next === undefined
          ? pluralize(data.items.length, 'category', 'categories')
          : `Showing the first ${formatInteger(mostShown)}. More appear as you name these.`
      }
    >
      <Table
        label="Unnamed categories"
        columns={columnsOf(onDone)}
        items={data.items}
        keyOf={({ id }) => id}
      />
    </Card>
  );
}

function columnsOf(onDone: () => void): readonly Column<Category>[] {
  return [
    {
      title: 'Category',
      show: ({ id }) => (
        <a class="name" href={`#/animals?categoryId=${id}`}>
          {String(id)}
        </a>
      ),
    },
    { title: 'Available', show: ({ available }) => formatInteger(available), kind: 'number' },
    { title: 'Pending', show: ({ pending }) => formatInteger(pending), kind: 'number' },
    { title: 'Sold', show: ({ sold }) => formatInteger(sold), kind: 'number' },
    { title: 'Name', kind: 'actions', show: ({ id }) => <NameField id={id} onDone={onDone} /> },
  ];
}

function NameField({ id, onDone }: Pick<Category, 'id'> & { onDone: () => void }) {
  const [name, setName] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const save = async (event: Event) => {
    event.preventDefault();
    if (name.trim() === '' || isBusy) return;
    setIsBusy(true);
    try {
      await call('PUT /categories/{categoryId}', {
        params: { categoryId: id },
        body: { name: name.trim() },
      });
      notify(`Category ${id} is now named ${quoteName(name.trim())}.`);
      onDone();
    } catch (error) {
      notify(toFailure(error).message, 'bad');
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <form class="in-row" onSubmit={save}>
      <input
        aria-label={`Name for category ${id}`}
        placeholder="Name"
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <ChangeButton type="submit" label={`Save name for category ${id}`} isBusy={isBusy}>
        Save
      </ChangeButton>
    </form>
  );
}
