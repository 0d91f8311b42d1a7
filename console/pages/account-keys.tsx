/** The keys of an account and their bans. */
import { useState } from 'preact/hooks';
import { call, callPage } from '../api.ts';
import type { Account, Ban, Key } from '../contract.ts';
import { capitalize, formatDate, formatDateTime, formatInteger, pluralize } from '../format.ts';
import { keyLabel, toKey } from '../key-label.ts';
import { keyStateLabels, scopeLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { ChoiceFilter, Filters } from '../parts/filters.tsx';
import { Card } from '../parts/layout.tsx';
import { LiftBan } from '../parts/lift-ban.tsx';
import { ListHead } from '../parts/list-head.tsx';
import { PagedTable } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { currentRoute } from '../router.ts';
import { canChange } from '../session-state.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';
import { IssueKey, type KeyAction, KeyDialog, RevokeKeys } from './key-dialogs.tsx';

interface KeysProps {
  readonly account: Account;
  /** Number of changes made on this page. The keys are reloaded after each change. */
  readonly changes: number;
  readonly onChange: () => void;
}

const { unknown: _, ...keyStateFilters } = keyStateLabels;

const keysPerPage = 20;
const everyMs = 10_000;

export function Keys({ account, changes, onChange }: KeysProps) {
  const { id: accountId } = account;
  const cursor = currentRoute.value.query.get('cursor') ?? undefined;
  const [isIssuing, setIsIssuing] = useState(false);
  const [chosen, setChosen] = useState<{ readonly of: Key; readonly step: KeyAction }>();
  const { picked, pick, clear } = useSelection();
  const [isRevoking, setIsRevoking] = useState(false);
  const state = (currentRoute.value.query.get('state') ?? undefined) as Key['state'] | undefined;
  const query = { accountId, state, order: 'desc', limit: keysPerPage } as const;
  const load = () => callPage('GET /keys', { query: { ...query, cursor } });
  const loaded = useLoaded(`${accountId} ${state} ${cursor} ${changes}`, load, { everyMs });
  const pickedKeys = loaded.data?.items.filter(({ id }) => picked.has(id)) ?? [];
  return (
    <Card
      title="Keys"
      about="API credentials for programs that use this account"
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setIsIssuing(true)}>
          Issue key
        </ChangeButton>
      }
    >
      <Bans accountId={accountId} changes={changes} onLifted={onChange} />
      <Filters>
        <ChoiceFilter name="state" label="State" all="Any state" words={keyStateFilters} />
      </Filters>
      <ListHead exported={{ route: 'GET /keys', query, name: `keys-of-account-${accountId}` }}>
        {pickedKeys.length > 0 && (
          <ChangeButton look="danger" onClick={() => setIsRevoking(true)}>
            Revoke {pluralize(pickedKeys.length, 'selected key')}
          </ChangeButton>
        )}
      </ListHead>
      <PagedTable
        label="Keys"
        loaded={loaded}
        columns={columnsOf({ picked, pick, choose: (of, step) => setChosen({ of, step }) })}
        keyOf={({ id }) => id}
        empty={
          state === undefined
            ? 'This account has no keys yet, so it cannot use the API.'
            : 'No keys match this filter.'
        }
      />
      {isIssuing && <IssueKey account={account} onClose={() => setIsIssuing(false)} onDone={onChange} />}
      {isRevoking && (
        <RevokeKeys
          keys={pickedKeys}
          account={account}
          onClose={() => setIsRevoking(false)}
          onDone={() => {
            clear();
            onChange();
          }}
        />
      )}
      {chosen && <KeyDialog {...chosen} onClose={() => setChosen(undefined)} onDone={onChange} />}
    </Card>
  );
}

/** The ids of the selected keys, with functions to change the selection. */
function useSelection() {
  const [picked, setPicked] = useState<ReadonlySet<number>>(new Set());
  const pick = ({ id }: Key) => {
    const others = new Set(picked);
    if (!others.delete(id)) others.add(id);
    setPicked(others);
  };
  return { picked, pick, clear: () => setPicked(new Set()) };
}

interface BansProps {
  readonly accountId: number;
  /** Shows only this key's ban. */
  readonly keyId?: number;
  readonly changes: number;
  readonly onLifted: () => void;
}

/** Bans of the account's keys. If they cannot be loaded, the keys are still shown. */
export function Bans({ accountId, keyId, changes, onLifted }: BansProps) {
  const { data, failure } = useLoaded(`${accountId} ${changes}`, () => call('GET /bans'), { everyMs });
  if (failure?.code === 'service_unavailable') {
    return <p class="message warn">Bans cannot be loaded right now. Some of these keys may be banned.</p>;
  }
  return (
    <>
      {data
        ?.filter((ban) => ban.accountId === accountId && ban.keyId === (keyId ?? ban.keyId))
        .map((ban) => (
          <BanNote key={ban.keyId} ban={ban} onLifted={onLifted} />
        ))}
    </>
  );
}

interface Picking {
  readonly picked: ReadonlySet<number>;
  readonly pick: (key: Key) => void;
  readonly choose: (key: Key, step: KeyAction) => void;
}

function columnsOf({ picked, pick, choose }: Picking): readonly Column<Key>[] {
  return [
    {
      title: 'Name',
      show: (key) => (
        <div class="pick">
          {canChange.value && (
            <input
              type="checkbox"
              aria-label={`Select ${keyLabel(key)}`}
              checked={picked.has(key.id)}
              disabled={hasEnded(key)}
              onChange={() => pick(key)}
            />
          )}
          <div>
            <a class="name" href={`#/keys/${key.id}`}>
              {quoteName(key.name)}
            </a>
            <span class="under">
              Key {key.id}, ends in <code>{key.lastFour}</code>
            </span>
          </div>
        </div>
      ),
    },
    { title: 'State', show: (key) => <KeyState {...key} /> },
    { title: 'Scopes', show: ({ scopes }) => <Scopes scopes={scopes} /> },
    {
      title: 'Last used',
      show: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time at={lastUsedAt} />),
    },
    { title: 'Today', show: ({ requestsToday }) => formatInteger(requestsToday), kind: 'number' },
    { title: 'Actions', kind: 'actions', show: (key) => <KeyActions of={key} choose={choose} /> },
  ];
}

const hasEnded = ({ state }: Pick<Key, 'state'>) => state === 'revoked' || state === 'expired';

function KeyState({ state, expiresAt, revokedAt, successorId }: Key) {
  return (
    <>
      <Badge word={keyStateLabels[state]} />
      {revokedAt !== null && (
        <span class="under">
          <Time at={revokedAt} />
        </span>
      )}
      {expiresAt !== null && revokedAt === null && (
        <span class="under">
          {state === 'expired' ? 'Expired ' : 'Expires '}
          <time dateTime={expiresAt} title={formatDateTime(expiresAt)}>
            {formatDate(expiresAt)}
          </time>
        </span>
      )}
      {successorId !== null && (
        <span class="under">
          Rotated to <a href={`#/keys/${successorId}`}>key {successorId}</a>
        </span>
      )}
    </>
  );
}

function Scopes({ scopes }: Pick<Key, 'scopes'>) {
  const all = Object.keys(scopeLabels).length;
  if (scopes.length === all) return <>All scopes</>;
  return (
    <ul class="scopes">
      {scopes.map((scope) => (
        <li key={scope} title={scopeLabels[scope]}>
          <code>{scope}</code>
        </li>
      ))}
    </ul>
  );
}

export function KeyActions({ of: key, choose }: { of: Key; choose: (key: Key, step: KeyAction) => void }) {
  if (hasEnded(key)) return null;
  return (
    <>
      <ChangeButton label={`Scopes of ${keyLabel(key)}`} onClick={() => choose(key, 'scopes')}>
        Scopes
      </ChangeButton>
      {key.successorId === null && (
        <ChangeButton label={`Rotate ${keyLabel(key)}`} onClick={() => choose(key, 'rotate')}>
          Rotate
        </ChangeButton>
      )}
      <ChangeButton look="danger" label={`Revoke ${keyLabel(key)}`} onClick={() => choose(key, 'revoke')}>
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
          {capitalize(keyLabel(toKey(ban)))} is banned. The ban ends <Time at={ban.bannedUntil} isAhead />
        </strong>
        <p>
          {ban.reason} {ban.level > 0 && `Earlier bans: ${formatInteger(ban.level)}.`}
        </p>
      </div>
      <LiftBan ban={ban} onLifted={onLifted} />
    </div>
  );
}
