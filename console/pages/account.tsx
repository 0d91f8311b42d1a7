/** The account page: limits, usage, keys, bans and changes. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Account } from '../contract.ts';
import { accountStateLabel, planLabels } from '../labels.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { LoadState } from '../parts/failure.tsx';
import { Card, Page } from '../parts/layout.tsx';
import { LimitsCard } from '../parts/limits-card.tsx';
import { Time } from '../parts/time.tsx';
import { UsagePlot } from '../parts/usage-plot.tsx';
import { buildHref } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { type AccountAction, AccountDialog } from './account-dialogs.tsx';
import { Keys } from './account-keys.tsx';

const above = { href: '#/accounts', text: 'Accounts' };

export function AccountPage({ accountId }: { accountId: string }) {
  const loaded = useLoaded(accountId, () => call('GET /accounts/{accountId}', { params: { accountId } }));
  const { data: account } = loaded;
  if (account === undefined) {
    return (
      <Page title="Account" above={above}>
        <LoadState loaded={loaded} lines={10} />
      </Page>
    );
  }
  return <Shown account={account} onChange={loaded.reload} />;
}

function Shown({ account, onChange }: { account: Account; onChange: () => void }) {
  const [step, setStep] = useState<AccountAction>();
  const [changes, setChanges] = useState(0);
  const { id, name, plan, createdAt, closedAt, note } = account;
  const changed = () => {
    setChanges(changes + 1);
    onChange();
  };
  return (
    <Page
      title={quoteName(name)}
      above={above}
      badge={<Badge word={accountStateLabel(account)} />}
      about={
        <>
          Account {id} · {planLabels[plan]} plan · created <Time at={createdAt} />
          {closedAt !== null && (
            <>
              {' · closed '}
              <Time at={closedAt} />
            </>
          )}
          {' · '}
          <a href={buildHref('/webhooks', { accountId: id })}>Webhooks</a>
        </>
      }
      actions={
        <>
          <ChangeButton onClick={() => setStep('rename')}>Rename</ChangeButton>
          <ChangeButton onClick={() => setStep('plan')}>Change plan</ChangeButton>
          <ChangeButton onClick={() => setStep('note')}>
            {note === null ? 'Add note' : 'Edit note'}
          </ChangeButton>
          {closedAt === null ? (
            <ChangeButton look="danger" onClick={() => setStep('close')}>
              Close account
            </ChangeButton>
          ) : (
            <ChangeButton look="primary" onClick={() => setStep('reopen')}>
              Reopen account
            </ChangeButton>
          )}
        </>
      }
    >
      <Note text={note} />
      <div class="columns side-first">
        <LimitsCard accountId={id} changes={changes} />
        <UsagePlot owner={{ accountId: id }} perDay={account.perDay} />
      </div>
      <Keys account={account} changes={changes} onChange={changed} />
      <History accountId={id} changes={changes} />
      {step && (
        <AccountDialog step={step} account={account} onClose={() => setStep(undefined)} onDone={changed} />
      )}
    </Page>
  );
}

function Note({ text }: { text: string | null }) {
  return text === null ? null : (
    <section class="account-note" aria-label="Note">
      {text}
    </section>
  );
}

const entriesShown = 10;

function History({ accountId: account, changes }: { accountId: number; changes: number }) {
  const loaded = useLoaded(`${account} ${changes}`, () =>
    callPage('GET /audit', { query: { account, limit: entriesShown } }),
  );
  return (
    <Card
      title="Changes"
      about="Changes that operators made to this account, its keys and its webhooks"
      actions={<a href={buildHref('/audit', { account })}>Show all</a>}
    >
      <LoadState loaded={loaded} />
      {loaded.data && <AuditList entries={loaded.data.items} empty="There are no changes yet." />}
    </Card>
  );
}
