/** One account: what it uses, its keys, its bans, and what was changed about it. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Account } from '../contract.ts';
import { useLoaded } from '../loaded.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { LoadFailure } from '../parts/failure.tsx';
import { Card, Page, Waiting } from '../parts/layout.tsx';
import { Meter } from '../parts/meter.tsx';
import { Time } from '../parts/time.tsx';
import { UsagePlot } from '../parts/usage-plot.tsx';
import { hrefOf } from '../router.ts';
import { named } from '../text.ts';
import { accountStateWord, planWords } from '../words.ts';
import { AccountDialog, type AccountStep } from './account-dialogs.tsx';
import { Keys } from './account-keys.tsx';

const above = { href: '#/accounts', text: 'Accounts' };

export function AccountPage({ accountId }: { accountId: string }) {
  const loaded = useLoaded(accountId, () => call('GET /accounts/{accountId}', { params: { accountId } }));
  const { data: account } = loaded;
  if (account === undefined) {
    return (
      <Page title="Account" above={above}>
        <LoadFailure loaded={loaded} />
        {loaded.failure === undefined && <Waiting lines={10} />}
      </Page>
    );
  }
  return <Shown account={account} onChange={loaded.reload} />;
}

function Shown({ account, onChange }: { account: Account; onChange: () => void }) {
  const [step, setStep] = useState<AccountStep>();
  const [changes, setChanges] = useState(0);
  const { id, name, plan, createdAt, closedAt } = account;
  const changed = () => {
    setChanges(changes + 1);
    onChange();
  };
  return (
    <Page
      title={named(name)}
      above={above}
      badge={<Badge word={accountStateWord(account)} />}
      about={
        <>
          Account {id} · {planWords[plan]} plan · created <Time at={createdAt} />
          {closedAt !== null && (
            <>
              {' · closed '}
              <Time at={closedAt} />
            </>
          )}
          {' · '}
          <a href={hrefOf('/webhooks', { accountId: id })}>Webhooks</a>
        </>
      }
      actions={
        <>
          <ChangeButton onClick={() => setStep('rename')}>Rename</ChangeButton>
          <ChangeButton onClick={() => setStep('plan')}>Change plan</ChangeButton>
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
      <div class="columns side-first">
        <Limits accountId={id} changes={changes} />
        <UsagePlot account={account} />
      </div>
      <Keys account={account} changes={changes} onChange={changed} />
      <History accountId={id} changes={changes} />
      {step && (
        <AccountDialog step={step} account={account} onClose={() => setStep(undefined)} onDone={changed} />
      )}
    </Page>
  );
}

const limitsEveryMs = 2_000;

function Limits({ accountId, changes }: { accountId: number; changes: number }) {
  const load = () => call('GET /accounts/{accountId}/limits', { params: { accountId } });
  const loaded = useLoaded(`${accountId} ${changes}`, load, { everyMs: limitsEveryMs });
  const { data } = loaded;
  return (
    <Card title="Limits now" about="Used by all keys of the account together">
      <LoadFailure loaded={loaded} />
      {data === undefined ? (
        <Waiting />
      ) : (
        <>
          <Meter label="This minute" {...data.minute} />
          <Meter label="This day" {...data.day} />
        </>
      )}
    </Card>
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
      about="What operators did to this account, its keys and its webhooks"
      actions={<a href={hrefOf('/audit', { account })}>Show all</a>}
    >
      <LoadFailure loaded={loaded} />
      {loaded.data && <AuditList entries={loaded.data.items} empty="Nobody has changed this account yet." />}
    </Card>
  );
}
