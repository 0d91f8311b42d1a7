/** The keys of an account, and the bans on them. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Account, Ban, Key } from '../contract.ts';
import { grouped, sentence } from '../format.ts';
import { keyOf, keyText } from '../key-text.ts';
import { useLoaded } from '../loaded.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { Card } from '../parts/layout.tsx';
import { LiftBan } from '../parts/lift-ban.tsx';
import { Paged } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { place } from '../router.ts';
import { named } from '../text.ts';
import { keyStateWords, scopeWords } from '../words.ts';
import { IssueKey, KeyDialog, type KeyStep } from './key-dialogs.tsx';

interface KeysProps {
  readonly account: Account;
  /** Counts the changes on this page: each is a reason to read again. */
  readonly changes: number;
  readonly onChange: () => void;
}

const keysPerPage = 20;
const everyMs = 10_000;

export function Keys({ account, changes, onChange }: KeysProps) {
  const { id: accountId } = account;
  const cursor = place.value.query.get('cursor') ?? undefined;
  const [isIssuing, setIsIssuing] = useState(false);
  const [chosen, setChosen] = useState<{ readonly of: Key; readonly step: KeyStep }>();
  const load = () => callPage('GET /keys', { query: { accountId, cursor, limit: keysPerPage } });
  const loaded = useLoaded(`${accountId} ${cursor} ${changes}`, load, { everyMs });
  return (
    <Card
      title="Keys"
      about="Credentials of the programs that use this account"
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setIsIssuing(true)}>
          Issue key
        </ChangeButton>
      }
    >
      <Bans accountId={accountId} changes={changes} onLifted={onChange} />
      <Paged
        label="Keys"
        loaded={loaded}
        columns={columnsOf((of, step) => setChosen({ of, step }))}
        keyOf={({ id }) => id}
        empty="This account has no keys yet, so it cannot use the API."
      />
      {isIssuing && <IssueKey account={account} onClose={() => setIsIssuing(false)} onDone={onChange} />}
      {chosen && <KeyDialog {...chosen} onClose={() => setChosen(undefined)} onDone={onChange} />}
    </Card>
  );
}

interface BansProps {
  readonly accountId: number;
  readonly changes: number;
  readonly onLifted: () => void;
}

/** The bans on keys of the account. Keys are shown also where bans cannot be read. */
function Bans({ accountId, changes, onLifted }: BansProps) {
  const { data, failure } = useLoaded(`${accountId} ${changes}`, () => call('GET /bans'), { everyMs });
  if (failure?.code === 'service_unavailable') {
    return <p class="message warn">Bans cannot be read right now. Some of these keys may be banned.</p>;
  }
  return (
    <>
      {data
        ?.filter((ban) => ban.accountId === accountId)
        .map((ban) => (
          <BanNote key={ban.keyId} ban={ban} onLifted={onLifted} />
        ))}
    </>
  );
}

function columnsOf(choose: (key: Key, step: KeyStep) => void): readonly Column<Key>[] {
  return [
    {
      title: 'Name',
      show: ({ id, name, lastFour }) => (
        <>
          <span class="name">{named(name)}</span>
          <span class="under">
            Key {id}, ends in <code>{lastFour}</code>
          </span>
        </>
      ),
    },
    { title: 'State', show: (key) => <KeyState {...key} /> },
    { title: 'Scopes', show: ({ scopes }) => <Scopes scopes={scopes} /> },
    {
      title: 'Last used',
      show: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time at={lastUsedAt} />),
    },
    { title: 'Today', show: ({ requestsToday }) => grouped(requestsToday), kind: 'number' },
    { title: 'Steps', kind: 'actions', show: (key) => <Steps of={key} choose={choose} /> },
  ];
}

function KeyState({ state, expiresAt, revokedAt, successorId }: Key) {
  return (
    <>
      <Badge word={keyStateWords[state]} />
      {revokedAt !== null && (
        <span class="under">
          <Time at={revokedAt} />
        </span>
      )}
      {expiresAt !== null && revokedAt === null && (
        <span class="under">
          {state === 'expired' ? 'Ended ' : 'Ends '}
          <Time at={expiresAt} />
        </span>
      )}
      {successorId !== null && <span class="under">Rotated to key {successorId}</span>}
    </>
  );
}

function Scopes({ scopes }: Pick<Key, 'scopes'>) {
  const all = Object.keys(scopeWords).length;
  if (scopes.length === all) return <>All scopes</>;
  return (
    <ul class="scopes">
      {scopes.map((scope) => (
        <li key={scope}>{scopeWords[scope]}</li>
      ))}
    </ul>
  );
}

function Steps({ of: key, choose }: { of: Key; choose: (key: Key, step: KeyStep) => void }) {
  if (key.state === 'revoked' || key.state === 'expired') return null;
  return (
    <>
      <ChangeButton label={`Scopes of ${keyText(key)}`} onClick={() => choose(key, 'scopes')}>
        Scopes
      </ChangeButton>
      {key.successorId === null && (
        <ChangeButton label={`Rotate ${keyText(key)}`} onClick={() => choose(key, 'rotate')}>
          Rotate
        </ChangeButton>
      )}
      <ChangeButton look="danger" label={`Revoke ${keyText(key)}`} onClick={() => choose(key, 'revoke')}>
        Revoke
      </ChangeButton>
    </>
  );
}

function BanNote({ ban, onLifted }: { ban: Ban; onLifted: () => void }) {
  return (
    <div class="message bad">
      <div>
        <strong>
          {sentence(keyText(keyOf(ban)))} is banned. The ban ends <Time at={ban.bannedUntil} />.
        </strong>
        <p>
          {ban.reason} {ban.level > 0 && `Earlier bans: ${grouped(ban.level)}.`}
        </p>
      </div>
      <LiftBan ban={ban} onLifted={onLifted} />
    </div>
  );
}
