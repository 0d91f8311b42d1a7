/** The key page: scopes, limits, usage, errors, changes, predecessor and successor. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { keyStateLabels, planLabels, scopeLabels } from '../labels.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Badge } from '../parts/badge.tsx';
import { BanStatusCard } from '../parts/ban-status.tsx';
import { FailedRequests } from '../parts/failed-requests.tsx';
import { LoadState } from '../parts/failure.tsx';
import { Card, DefinitionList, Page } from '../parts/layout.tsx';
import { LimitsCard } from '../parts/limits-card.tsx';
import { OperationsPlot } from '../parts/operations-plot.tsx';
import { Time } from '../parts/time.tsx';
import { UsagePlot } from '../parts/usage-plot.tsx';
import { buildHref } from '../router.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { Bans, KeyActions } from './account-keys.tsx';
import { type KeyAction, KeyDialog } from './key-dialogs.tsx';

type FoundKey = ResponseOf<'GET /keys/{keyId}'>;
type Account = ResponseOf<'GET /accounts/{accountId}'>;

const everyMs = 10_000;

export function KeyPage({ keyId }: { keyId: string }) {
  const load = async () => {
    const key = await call('GET /keys/{keyId}', { params: { keyId } });
    const { accountId } = key;
    return { of: key, account: await call('GET /accounts/{accountId}', { params: { accountId } }) };
  };
  const loaded = useLoaded(keyId, load, { everyMs });
  if (loaded.data === undefined) {
    return (
      <Page title="Key" above={{ href: '#/accounts', text: 'Accounts' }}>
        <LoadState loaded={loaded} lines={10} />
      </Page>
    );
  }
  return <Shown {...loaded.data} onChange={loaded.reload} />;
}

interface ShownProps {
  readonly of: FoundKey;
  readonly account: Account;
  readonly onChange: () => void;
}

function Shown({ of: key, account, onChange }: ShownProps) {
  const [step, setStep] = useState<KeyAction>();
  const [changes, setChanges] = useState(0);
  const { id, accountId, name, state } = key;
  const changed = () => {
    setChanges(changes + 1);
    onChange();
  };
  return (
    <Page
      title={quoteName(name)}
      above={{ href: `#/accounts/${accountId}`, text: quoteName(account.name) }}
      badge={<Badge word={keyStateLabels[state]} />}
      about={<About {...key} />}
      actions={<KeyActions of={key} choose={(_, chosen) => setStep(chosen)} />}
    >
      <Bans accountId={accountId} keyId={id} changes={changes} onLifted={changed} />
      <div class="columns">
        <LimitsCard
          {...{ accountId, changes }}
          title="Plan and limits"
          about={`${planLabels[account.plan]} plan. All keys of the account share its limits.`}
        />
        <BanStatusCard keyId={id} changes={changes} />
      </div>
      <Card title="Scopes">
        <DefinitionList
          facts={key.scopes.map((scope) => [scopeLabels[scope], <code key={scope}>{scope}</code>])}
        />
      </Card>
      <div class="columns wide">
        <UsagePlot owner={{ keyId: id }} />
        <OperationsPlot keyId={id} />
      </div>
      <FailedRequests keyId={String(id)} />
      <History keyId={id} changes={changes} />
      {step && <KeyDialog step={step} of={key} onClose={() => setStep(undefined)} onDone={changed} />}
    </Page>
  );
}

function About({ id, lastFour, createdAt, expiresAt, lastUsedAt, predecessorId, successorId }: FoundKey) {
  return (
    <>
      Key {id}, ends in <code>{lastFour}</code> · created <Time at={createdAt} />
      {expiresAt !== null && (
        <>
          {' · '}
          {Date.parse(expiresAt) < Date.now() ? 'expired' : 'expires'} <Time at={expiresAt} />
        </>
      )}
      {' · '}
      {lastUsedAt === null ? (
        'never used'
      ) : (
        <>
          last used <Time at={lastUsedAt} />
        </>
      )}
      {predecessorId !== null && (
        <>
          {' · replaces '}
          <a href={`#/keys/${predecessorId}`}>key {predecessorId}</a>
        </>
      )}
      {successorId !== null && (
        <>
          {' · replaced by '}
          <a href={`#/keys/${successorId}`}>key {successorId}</a>
        </>
      )}
    </>
  );
}

const entriesShown = 10;

function History({ keyId, changes }: { keyId: number; changes: number }) {
  const object = `key:${keyId}`;
  const load = () => callPage('GET /audit', { query: { object, limit: String(entriesShown) } });
  const loaded = useLoaded(`${keyId} ${changes}`, load);
  return (
    <Card
      title="Changes"
      about="Changes that operators made to this key"
      actions={<a href={buildHref('/audit', { object })}>Show all</a>}
    >
      <LoadState loaded={loaded} />
      {loaded.data && <AuditList entries={loaded.data.items} empty="There are no changes yet." />}
    </Card>
  );
}
