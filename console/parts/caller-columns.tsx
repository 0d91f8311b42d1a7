/** Who calls: the key and its account, as columns. */
import { named } from '../text.ts';
import type { Column } from './table.tsx';

interface Caller {
  readonly keyId: number;
  readonly keyName: string;
  readonly accountId: number;
  readonly accountName: string;
}

export const callerColumns: readonly Column<Caller>[] = [
  {
    title: 'Key',
    show: ({ keyId, keyName }) => (
      <>
        <span class="name">{named(keyName)}</span>
        <span class="under">Key {keyId}</span>
      </>
    ),
  },
  {
    title: 'Account',
    show: ({ accountId, accountName }) => (
      <a class="long" href={`#/accounts/${accountId}`}>
        {named(accountName)}
      </a>
    ),
  },
];
