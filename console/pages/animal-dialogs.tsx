/** Dialogs that add, edit and delete animals. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { allowedStatuses, petStatuses } from '../../src/domain/pet-status.ts';
import { call, callWithEtag, type Failure } from '../api.ts';
import type { Category, Pet } from '../contract.ts';
import { petStatusLabels } from '../labels.ts';
import { ConditionalEdit, type Save } from '../parts/conditional-edit.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Field, SelectField, TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { quoteName } from '../text.ts';

export type AnimalAction = 'edit' | 'delete';

interface Common extends DialogCallbacks {
  /** Named categories to suggest. */
  readonly categories: readonly Category[];
}

/** The values of the animal form. */
interface Draft {
  readonly name: string;
  readonly categoryId: string;
  readonly status: Pet['status'];
}

export function AnimalDialog({ step, ...props }: Common & { of: Pet; step: AnimalAction }) {
  return step === 'edit' ? <Edit {...props} /> : <Delete {...props} />;
}

export function AddAnimal({ categories, ...ends }: Common) {
  const [draft, setDraft] = useState<Draft>({ name: '', categoryId: '', status: 'available' });
  const add = async () => {
    const { id } = await call('POST /pets', { body: toBody(draft) });
    return `Added ${quoteName(draft.name)} as animal ${id}.`;
  };
  return (
    <FormDialog {...ends} title="Add animal" submit="Add animal" isReady={isComplete(draft)} onSubmit={add}>
      {(failure) => <Fields {...{ draft, categories, failure }} statuses={petStatuses} onChange={setDraft} />}
    </FormDialog>
  );
}

function Edit(props: Common & { of: Pet }) {
  const { of: listed, onClose } = props;
  const load = () => callWithEtag('GET /pets/{petId}', { params: { petId: listed.id } });
  return (
    <ConditionalEdit load={load} onClose={onClose}>
      {(pet, save, conflict) => <EditAnimal {...props} {...{ of: pet, save, conflict }} />}
    </ConditionalEdit>
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
    const body = toPatch(pet, draft);
    await saveIf((ifMatch) => call('PATCH /pets/{petId}', { params: { petId: pet.id }, body, ifMatch }));
    return `Saved ${quoteName(draft.name)}.`;
  };
  const statuses = petStatuses.filter(
    (each) => each === pet.status || allowedStatuses(pet.status).includes(each),
  );
  return (
    <FormDialog
      {...ends}
      title={`Animal ${pet.id}`}
      submit="Save"
      isReady={isComplete(draft)}
      onSubmit={save}
    >
      {(failure) => (
        <>
          {conflict}
          <Fields {...{ draft, categories, failure, statuses }} onChange={setDraft} />
        </>
      )}
    </FormDialog>
  );
}

function Delete({ of: { id, name }, ...ends }: DialogCallbacks & { of: Pet }) {
  const remove = async () => {
    await call('DELETE /pets/{petId}', { params: { petId: id } });
    return `Deleted ${quoteName(name)}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`Delete ${quoteName(name)}?`}
      act="Delete animal"
      typed={name}
      onConfirm={remove}
    >
      <p>This permanently deletes animal {String(id)}. Its id will not be reused.</p>
    </Confirm>
  );
}

function isComplete({ name, categoryId }: Draft): boolean {
  return name.trim() !== '' && /^-?\d+$/.test(categoryId);
}

function toBody({ name, categoryId, status }: Draft) {
  return { name: name.trim(), categoryId: BigInt(categoryId), status };
}

/** Returns only the fields that were edited. */
function toPatch(pet: Pet, draft: Draft) {
  const { name, categoryId, status } = toBody(draft);
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
        hint={chosen ? quoteName(chosen.name) : 'The id of a category, with or without a name.'}
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
                  {quoteName(name)}
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
        options={statuses.map((each) => [each, petStatusLabels[each].text])}
        onChange={(status) => onChange({ ...draft, status })}
        failure={failure}
      />
    </>
  );
}
