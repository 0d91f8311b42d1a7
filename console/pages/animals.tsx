import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import { type CategoryNames, categoryLabel, useCategories } from '../category-names.ts';
import type { InputOf, Pet } from '../contract.ts';
import { formatInteger, pluralize } from '../format.ts';
import { orderLabels, petStatusLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { ChoiceFilter, Filters, TextFilter } from '../parts/filters.tsx';
import { Icon } from '../parts/icon.tsx';
import { Page } from '../parts/layout.tsx';
import { ListHead } from '../parts/list-head.tsx';
import { PagedTable, withoutCursor } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { currentRoute } from '../router.ts';
import { canChange } from '../session-state.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { AddAnimal, type AnimalAction, AnimalDialog } from './animal-dialogs.tsx';

type Query = InputOf<'GET /pets'>['query'];

export function AnimalsPage() {
  const { sort, ...filters } = Object.fromEntries(currentRoute.value.query);
  const query = { ...filters, order: sort === 'oldest' ? 'asc' : 'desc' } as Query;
  const loaded = useLoaded(currentRoute.value.query.toString(), () => callPage('GET /pets', { query }));
  const [categories, names] = useCategories(loaded.data?.items.map(({ categoryId }) => categoryId) ?? []);
  const [isAdding, setIsAdding] = useState(false);
  const [chosen, setChosen] = useState<{ readonly of: Pet; readonly step: AnimalAction }>();
  const columns = columnsOf(names, (of, step) => setChosen({ of, step }));
  return (
    <Page
      title="Animals"
      about="All animals in the store."
      actions={
        <>
          {canChange.value && (
            <a class="button" href="#/animals/import">
              <Icon name="upload" />
              Import
            </a>
          )}
          <ChangeButton look="primary" icon="add" onClick={() => setIsAdding(true)}>
            Add animal
          </ChangeButton>
        </>
      }
    >
      <Filters>
        <ChoiceFilter name="status" label="Status" all="Any status" words={petStatusLabels} />
        <TextFilter name="categoryId" label="Category" placeholder="Any id" kind="digits" />
        <TextFilter name="id" label="Animal" placeholder="Any id" kind="digits" />
        <ChoiceFilter name="sort" label="Sort by" all="Newest first" words={orderLabels} />
      </Filters>
      <ListHead exported={{ route: 'GET /pets', query: withoutCursor(query), name: 'animals' }}>
        <Total categoryId={filters.categoryId} />
      </ListHead>
      <PagedTable
        label="Animals"
        loaded={loaded}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          currentRoute.value.query.size > 0
            ? 'No animals match these filters.'
            : 'There are no animals yet. Add one, or import a file.'
        }
      />
      {isAdding && (
        <AddAnimal categories={categories} onClose={() => setIsAdding(false)} onDone={loaded.reload} />
      )}
      {chosen && (
        <AnimalDialog
          {...chosen}
          categories={categories}
          onClose={() => setChosen(undefined)}
          onDone={loaded.reload}
        />
      )}
    </Page>
  );
}

/** Number of animals, in total or in one category. */
function Total({ categoryId }: { categoryId: string | undefined }) {
  const { data } = useLoaded(categoryId ?? '', () => call('GET /inventory', { query: { categoryId } }));
  if (data === undefined) return null;
  const { available, pending, sold } = data;
  const shown = Object.entries({ available, pending, sold }).map(
    ([status, animals]) => `${formatInteger(animals)} ${status}`,
  );
  return (
    <>
      {pluralize(available + pending + sold, 'animal')}
      {categoryId !== undefined && ` in category ${categoryId}`}: {shown.join(', ')}
    </>
  );
}

function columnsOf(
  names: CategoryNames,
  choose: (of: Pet, step: AnimalAction) => void,
): readonly Column<Pet>[] {
  return [
    { title: 'Name', show: ({ name }) => <span class="name">{quoteName(name)}</span> },
    { title: 'Animal', show: ({ id }) => String(id), kind: 'number' },
    {
      title: 'Category',
      show: ({ categoryId }) => <span class="long">{categoryLabel(names, categoryId)}</span>,
    },
    { title: 'Status', show: ({ status }) => <Badge word={petStatusLabels[status]} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (pet) => (
        <>
          <a
            class="button quiet"
            href={`#/orders?petId=${pet.id}`}
            aria-label={`Orders for ${quoteName(pet.name)}`}
          >
            Orders
          </a>
          <ChangeButton label={`Edit ${quoteName(pet.name)}`} onClick={() => choose(pet, 'edit')}>
            Edit
          </ChangeButton>
          <ChangeButton
            look="danger"
            label={`Delete ${quoteName(pet.name)}`}
            onClick={() => choose(pet, 'delete')}
          >
            Delete
          </ChangeButton>
        </>
      ),
    },
  ];
}
