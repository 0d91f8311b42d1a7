import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, callPage, callWithEtag } from '../api.ts';
import type { Category } from '../contract.ts';
import { ChangeButton } from '../parts/button.tsx';
import { ConditionalEdit, type Save } from '../parts/conditional-edit.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { Page } from '../parts/layout.tsx';
import { ListHead } from '../parts/list-head.tsx';
import { PagedTable } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { currentRoute } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { UnnamedCategories } from './unnamed-categories.tsx';

interface Chosen {
  readonly step: 'name' | 'delete';
  /** The category to rename or delete; undefined to name any category by id. */
  readonly category?: Category;
}

export function CategoriesPage() {
  const cursor = currentRoute.value.query.get('cursor') ?? undefined;
  const loaded = useLoaded(cursor ?? '', () => callPage('GET /categories', { query: { cursor } }));
  const [chosen, setChosen] = useState<Chosen>();
  const [changes, setChanges] = useState(0);
  const onDone = () => {
    setChanges(changes + 1);
    loaded.reload();
  };
  const close = () => setChosen(undefined);
  return (
    <Page
      title="Categories"
      about="Names of animal categories."
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setChosen({ step: 'name' })}>
          Name a category
        </ChangeButton>
      }
    >
      <UnnamedCategories changes={changes} onNamed={loaded.reload} />
      <ListHead exported={{ route: 'GET /categories', query: {}, name: 'categories' }}>
        Named categories
      </ListHead>
      <PagedTable
        label="Categories"
        loaded={loaded}
        columns={columnsOf(setChosen)}
        keyOf={({ id }) => id}
        empty="No categories have been named yet."
      />
      {chosen?.step === 'name' && chosen.category === undefined && (
        <NameCategory onClose={close} onDone={onDone} />
      )}
      {chosen?.step === 'name' && chosen.category && (
        <Rename category={chosen.category} onClose={close} onDone={onDone} />
      )}
      {chosen?.step === 'delete' && chosen.category && (
        <Delete category={chosen.category} onClose={close} onDone={onDone} />
      )}
    </Page>
  );
}

function columnsOf(choose: (chosen: Chosen) => void): readonly Column<Category>[] {
  return [
    {
      title: 'Name',
      show: ({ id, name }) => (
        <a class="name" href={`#/animals?categoryId=${id}`}>
          {quoteName(name)}
        </a>
      ),
    },
    { title: 'Category', show: ({ id }) => String(id), kind: 'number' },
    {
      title: 'Actions',
      kind: 'actions',
      show: (category) => (
        <>
          <ChangeButton
            label={`Rename ${quoteName(category.name)}`}
            onClick={() => choose({ step: 'name', category })}
          >
            Rename
          </ChangeButton>
          <ChangeButton
            look="danger"
            label={`Delete ${quoteName(category.name)}`}
            onClick={() => choose({ step: 'delete', category })}
          >
            Delete
          </ChangeButton>
        </>
      ),
    },
  ];
}

function NameCategory(ends: DialogCallbacks) {
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const save = async () => {
    await call('PUT /categories/{categoryId}', { params: { categoryId: id }, body: { name: name.trim() } });
    return `Category ${id} is now named ${quoteName(name.trim())}.`;
  };
  return (
    <FormDialog
      {...ends}
      title="Name a category"
      submit="Save"
      isReady={/^-?\d+$/.test(id) && name.trim() !== ''}
      onSubmit={save}
    >
      {(failure) => (
        <>
          <TextField
            label="Category"
            name="categoryId"
            value={id}
            onInput={setId}
            failure={failure}
            hint="The categoryId of the animals in the category. An existing name is replaced."
          />
          <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />
        </>
      )}
    </FormDialog>
  );
}

function Rename({ category: { id: categoryId }, ...ends }: DialogCallbacks & { category: Category }) {
  const load = () => callWithEtag('GET /categories/{categoryId}', { params: { categoryId } });
  return (
    <ConditionalEdit load={load} onClose={ends.onClose}>
      {(category, save, conflict) => <EditName {...ends} {...{ category, save, conflict }} />}
    </ConditionalEdit>
  );
}

interface EditProps extends DialogCallbacks {
  readonly category: Category;
  readonly save: Save;
  readonly conflict: ComponentChildren;
}

function EditName({ category: { id, name: before }, save, conflict, ...ends }: EditProps) {
  const [name, setName] = useState(before);
  const rename = async () => {
    const body = { name: name.trim() };
    await save((ifMatch) =>
      call('PUT /categories/{categoryId}', { params: { categoryId: id }, body, ifMatch }),
    );
    return `Renamed category ${id} to ${quoteName(body.name)}.`;
  };
  return (
    <FormDialog
      {...ends}
      title={`Rename ${quoteName(before)}`}
      submit="Save"
      isReady={name.trim() !== ''}
      onSubmit={rename}
    >
      {(failure) => (
        <>
          {conflict}
          <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />
        </>
      )}
    </FormDialog>
  );
}

function Delete({ category: { id, name }, ...ends }: DialogCallbacks & { category: Category }) {
  const remove = async () => {
    await call('DELETE /categories/{categoryId}', { params: { categoryId: id } });
    return `Deleted the name of category ${id}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`Delete ${quoteName(name)}?`}
      act="Delete category"
      typed={name}
      onConfirm={remove}
    >
      <p>This deletes the name of category {String(id)}. Its animals stay in the category.</p>
    </Confirm>
  );
}
