/** Dialogs that add, edit and delete animals. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { allowedStatuses, petStatuses } from '../../src/domain/pet-status.ts';
import { call, callTagged, type Failure } from '../api.ts';
import type { Category, Pet } from '../contract.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Edited, type Save } from '../parts/edited.tsx';
import { Field, SelectField, TextField } from '../parts/form.tsx';
import { type Ends, FormDialog } from '../parts/form-dialog.tsx';
import { named } from '../text.ts';
import { petStatusWords } from '../words.ts';

export type AnimalStep = 'edit' | 'delete';

interface Common extends Ends {
  /** Named categories to suggest. */
  readonly categories: readonly Category[];
}

/** The values of the animal form. */
interface Draft {
  readonly name: string;
  readonly categoryId: string;
  readonly status: Pet['status'];
}

export function AnimalDialog({ step, ...props }: Common & { of: Pet; step: AnimalStep }) {
  return step === 'edit' ? <Edit {...props} /> : <Delete {...props} />;
}

export function AddAnimal({ categories, ...ends }: Common) {
  const [draft, setDraft] = useState<Draft>({ name: '', categoryId: '', status: 'available' });
  const add = async () => {
    const { id } = await call('POST /pets', { body: bodyOf(draft) });
    return `Added ${named(draft.name)} as animal ${id}.`;
  };
  return (
    <FormDialog {...ends} title="Add animal" submit="Add animal" isReady={isWhole(draft)} onSubmit={add}>
      {(failure) => <Fields {...{ draft, categories, failure }} statuses={petStatuses} onChange={setDraft} />}
    </FormDialog>
  );
}

function Edit(props: Common & { of: Pet }) {
  const { of: listed, onClose } = props;
  const load = () => callTagged('GET /pets/{petId}', { params: { petId: listed.id } });
  return (
    <Edited load={load} onClose={onClose}>
      {(pet, save, conflict) => <EditAnimal {...props} {...{ of: pet, save, conflict }} />}
    </Edited>
  );
}

interface EditProps extends Common {
  readonly of: Pet;
  readonly save: Save;
  readonly conflict: ComponentChildren;
}

function EditAnimal({ of: pet, save: saveIf, conflict, categories, ...ends }: EditProps) {
  const [draft, setDraft] = useState<Draft>({ ...pet, categoryId: String(pet.categoryId) });
  const save = async () => {
    const body = changesOf(pet, draft);
    await saveIf((ifMatch) => call('PATCH /pets/{petId}', { params: { petId: pet.id }, body, ifMatch }));
    return `Saved ${named(draft.name)}.`;
  };
  const statuses = petStatuses.filter(
    (each) => each === pet.status || allowedStatuses(pet.status).includes(each),
  );
  return (
    <FormDialog {...ends} title={`Animal ${pet.id}`} submit="Save" isReady={isWhole(draft)} onSubmit={save}>
      {(failure) => (
        <>
          {conflict}
          <Fields {...{ draft, categories, failure, statuses }} onChange={setDraft} />
        </>
      )}
    </FormDialog>
  );
}

function Delete({ of: { id, name }, ...ends }: Ends & { of: Pet }) {
  const remove = async () => {
    await call('DELETE /pets/{petId}', { params: { petId: id } });
    return `Deleted ${named(name)}.`;
  };
  return (
    <Confirm {...ends} title={`Delete ${named(name)}?`} act="Delete animal" typed={name} onConfirm={remove}>
      <p>This permanently deletes animal {String(id)}. Its id will not be reused.</p>
    </Confirm>
  );
}

function isWhole({ name, categoryId }: Draft): boolean {
  return name.trim() !== '' && /^-?\d+$/.test(categoryId);
}

function bodyOf({ name, categoryId, status }: Draft) {
  return { name: name.trim(), categoryId: BigInt(categoryId), status };
}

/** Returns only the fields that were edited. */
function changesOf(pet: Pet, draft: Draft) {
  const { name, categoryId, status } = bodyOf(draft);
  return {
    ...(name !== pet.name.trim() && { name }),
    ...(categoryId !== BigInt(pet.categoryId) && { categoryId }),
    ...(status !== pet.status && { status }),
  };
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
  const chosen = categories.find(({ id }) => String(id) === draft.categoryId);
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
        hint={chosen ? named(chosen.name) : 'The id of a category, with or without a name.'}
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
                  {named(name)}
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
