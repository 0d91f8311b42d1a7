/** Table columns for an API key and its account. */
import { quoteName } from '../text.ts';
import type { Column } from './table.tsx';

interface Caller {
  readonly keyId: number;
  readonly keyName: string;
  readonly keyLastFour: string;
  readonly accountId: number;
  readonly accountName: string;
}

export const accountColumn: Column<Pick<Caller, 'accountId' | 'accountName'>> = {
  title: 'Account',
  show: ({ accountId, accountName }) => (
    <a class="long" href={`#/accounts/${accountId}`}>
      {quoteName(accountName)}
    </a>
  ),
};

export const callerColumns: readonly Column<Caller>[] = [
  {
    title: 'Key',
    show: ({ keyId, keyName, keyLastFour }) => (
      <>
        <a class="name" href={`#/keys/${keyId}`}>
          {quoteName(keyName)}
        </a>
        <span class="under">
          Key {keyId}, ends in <code>{keyLastFour}</code>
        </span>
      </>
    ),
  },
  accountColumn,
];
