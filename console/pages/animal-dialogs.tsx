/** What can be done with animals. */
import { useId, useState } from 'preact/hooks';
import { petStatuses, statusesAfter } from '../../src/domain/pet-status.ts';
import { call, type Failure } from '../api.ts';
import type { Category, Pet } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, Form, SelectField, TextField } from '../parts/form.tsx';
import { notify } from '../parts/notices.tsx';
import { petStatusWords } from '../words.ts';

export type AnimalStep = 'edit' | 'delete';

interface Common {
  readonly categories: readonly Category[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** What is filled in about an animal. */
interface Draft {
  readonly name: string;
  readonly categoryId: string;
  readonly status: Pet['status'];
}

export function AnimalDialog({ step, ...props }: Common & { of: Pet; step: AnimalStep }) {
  return step === 'edit' ? <Edit {...props} /> : <Delete {...props} />;
}

export function AddAnimal({ categories, onClose, onDone }: Common) {
  const [draft, setDraft] = useState<Draft>({ name: '', categoryId: '', status: 'available' });
  const add = async () => {
    const { id } = await call('POST /pets', { body: bodyOf(draft) });
    notify(`${draft.name} is animal ${id}.`);
    onDone();
    onClose();
  };
  return (
    <Dialog title="Add animal" onClose={onClose}>
      <Form submit="Add animal" isReady={isWhole(draft)} onSubmit={add} onCancel={onClose}>
        {(failure) => (
          <Fields {...{ draft, categories, failure }} statuses={petStatuses} onChange={setDraft} />
        )}
      </Form>
    </Dialog>
  );
}

function Edit({ of: pet, categories, onClose, onDone }: Common & { of: Pet }) {
  const [draft, setDraft] = useState<Draft>({ ...pet, categoryId: String(pet.categoryId) });
  const save = async () => {
    await call('PATCH /pets/{petId}', { params: { petId: pet.id }, body: bodyOf(draft) });
    notify(`${draft.name} is saved.`);
    onDone();
    onClose();
  };
  const statuses = petStatuses.filter(
    (each) => each === pet.status || statusesAfter(pet.status).includes(each),
  );
  return (
    <Dialog title={`Animal ${pet.id}`} onClose={onClose}>
      <Form submit="Save" isReady={isWhole(draft)} onSubmit={save} onCancel={onClose}>
        {(failure) => <Fields {...{ draft, categories, failure, statuses }} onChange={setDraft} />}
      </Form>
    </Dialog>
  );
}

function Delete({ of: { id, name }, onClose, onDone }: Common & { of: Pet }) {
  const remove = async () => {
    await call('DELETE /pets/{petId}', { params: { petId: id } });
    notify(`${name} is deleted.`);
    onDone();
  };
  return (
    <Confirm
      title={`Delete ${name}?`}
      act="Delete animal"
      isDanger
      typed={name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>Animal {String(id)} is removed from the store for good. Its id is never used again.</p>
    </Confirm>
  );
}

function isWhole({ name, categoryId }: Draft): boolean {
  return name.trim() !== '' && /^-?\d+$/.test(categoryId);
}

function bodyOf({ name, categoryId, status }: Draft) {
  return { name: name.trim(), categoryId: BigInt(categoryId), status };
}

interface FieldsProps {
  readonly draft: Draft;
  readonly categories: readonly Category[];
  readonly statuses: readonly Pet['status'][];
  readonly failure: Failure | undefined;
  readonly onChange: (draft: Draft) => void;
}

function Fields({ draft, categories, statuses, failure, onChange }: FieldsProps) {
  const list = useId();
  const named = categories.find(({ id }) => String(id) === draft.categoryId);
  return (
    <>
      <TextField
        label="Name"
        name="name"
        value={draft.name}
        onInput={(name) => onChange({ ...draft, name })}
        failure={failure}
      />
      <Field
        label="Category"
        name="categoryId"
        failure={failure}
        hint={named?.name ?? 'The id of a category, with or without a name.'}
      >
        {(control) => (
          <>
            <input
              {...control}
              list={list}
              inputMode="numeric"
              autocomplete="off"
              value={draft.categoryId}
              onInput={({ currentTarget }) => onChange({ ...draft, categoryId: currentTarget.value.trim() })}
            />
            <datalist id={list}>
              {categories.map(({ id, name }) => (
                <option key={String(id)} value={String(id)}>
                  {name}
                </option>
              ))}
            </datalist>
          </>
        )}
      </Field>
      <SelectField
        label="Status"
        name="status"
        value={draft.status}
        options={statuses.map((each) => [each, petStatusWords[each].text])}
        onChange={(status) => onChange({ ...draft, status })}
        failure={failure}
      />
    </>
  );
}
