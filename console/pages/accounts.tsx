import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Account, InputOf } from '../contract.ts';
import { formatCappedCount, formatInteger, pluralize } from '../format.ts';
import { accountStateLabel, accountStateLabels, planLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ChoiceFilter, Filters, TextFilter } from '../parts/filters.tsx';
import { Form, TextField } from '../parts/form.tsx';
import { Page } from '../parts/layout.tsx';
import { ListHead } from '../parts/list-head.tsx';
import { notify } from '../parts/notices.tsx';
import { PagedTable, withoutCursor } from '../parts/pages.tsx';
import { isPlanReady, type PlanChoice, PlanFields, toPlanFields } from '../parts/plan.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { currentRoute, goTo } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

type Query = InputOf<'GET /accounts'>['query'];

const columns: readonly Column<Account>[] = [
  {
    title: 'Name',
    show: ({ id, name }) => (
      <a class="name" href={`#/accounts/${id}`}>
        {quoteName(name)}
      </a>
    ),
  },
  { title: 'Account', show: ({ id }) => id, kind: 'number' },
  { title: 'Plan', show: ({ plan }) => planLabels[plan] },
  { title: 'Per minute', show: ({ perMinute }) => formatInteger(perMinute), kind: 'number' },
  { title: 'Per day', show: ({ perDay }) => formatInteger(perDay), kind: 'number' },
  { title: 'Today', show: ({ requestsToday = 0 }) => formatInteger(requestsToday), kind: 'number' },
  {
    title: 'Last used',
    show: ({ lastUsedAt }) => (lastUsedAt == null ? 'Never' : <Time at={lastUsedAt} />),
  },
  { title: 'State', show: (account) => <Badge word={accountStateLabel(account)} /> },
];

export function AccountsPage() {
  const query = Object.fromEntries(currentRoute.value.query) as Query;
  const loaded = useLoaded(currentRoute.value.query.toString(), () => callPage('GET /accounts', { query }));
  const [isAdding, setIsAdding] = useState(false);
  return (
    <Page
      title="Accounts"
      about="API accounts and their limits."
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setIsAdding(true)}>
          New account
        </ChangeButton>
      }
    >
      <Filters>
        <TextFilter name="name" label="Name begins with" placeholder="Any name" />
        <ChoiceFilter name="state" label="State" all="Open and closed" words={accountStateLabels} />
        <ChoiceFilter name="sort" label="Sort by" all="Account number" words={sortWords} />
      </Filters>
      <ListHead exported={{ route: 'GET /accounts', query: withoutCursor(query), name: 'accounts' }}>
        <Total />
      </ListHead>
      <PagedTable
        label="Accounts"
        loaded={loaded}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          currentRoute.value.query.size > 0
            ? 'No accounts match these filters.'
            : 'There are no accounts yet.'
        }
      />
      {isAdding && <NewAccount onClose={() => setIsAdding(false)} />}
    </Page>
  );
}

const sortWords = {
  name: { text: 'Name' },
  requestsToday: { text: 'Most requests today' },
  lastUsedAt: { text: 'Last used' },
};

function Total() {
  const { data } = useLoaded('totals', () => call('GET /totals'));
  if (data === undefined) return null;
  const { accounts, closedAccounts } = data;
  return (
    <>
      {pluralize(accounts, 'account')}
      {closedAccounts > 0 && `, ${formatCappedCount(closedAccounts)} closed`}
    </>
  );
}

function NewAccount({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [choice, setChoice] = useState<PlanChoice>({ plan: 'free', perMinute: '', perDay: '' });
  const create = async () => {
    const { id } = await call('POST /accounts', { body: { name: name.trim(), ...toPlanFields(choice) } });
    notify(`Created account ${quoteName(name.trim())}. Now issue its first key.`);
    goTo(`/accounts/${id}`);
  };
  return (
    <Dialog title="New account" onClose={onClose}>
      <Form
        submit="Create account"
        isReady={name.trim() !== '' && isPlanReady(choice)}
        onSubmit={create}
        onCancel={onClose}
      >
        {(failure) => (
          <>
            <TextField label="Name" name="name" value={name} onInput={setName} failure={failure} />
            <PlanFields choice={choice} onChange={setChoice} failure={failure} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
