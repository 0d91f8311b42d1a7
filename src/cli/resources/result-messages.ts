/** Results that commands print: messages about changed objects, and JSON that differs from the API's. */
import type { AdminServices } from '../../app/app.ts';
import type { Account } from '../../contract/admin/accounts.ts';
import type { Ban } from '../../contract/admin/bans.ts';
import type { Key } from '../../contract/admin/keys.ts';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import type { IssuedToken, Operator } from '../../contract/admin/operators.ts';
import type { AccountWebhook } from '../../contract/admin/webhooks.ts';
import type { WebhookTest } from '../../contract/deliveries.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { formatDateTime, formatInteger, styleIfSupported } from '../terminal.ts';
import type { ExactJson } from './item-formats.ts';

/** Returns a note on how soon all instances apply a change. Empty for a single instance. */
export function describeEffect({ maxStaleMs }: AdminServices['storage']): string {
  return maxStaleMs === 0 ? '' : ` All instances apply this within ${maxStaleMs / 1_000} s.`;
}

interface ResultMessages {
  readonly text?: (item: never, effect: string) => string;
  readonly json?: (item: never) => string;
  /** Returns the remedy if the result contains a secret, but could not be printed. */
  readonly remedyIfNotShown?: (item: never) => string;
  /** Returns the error message to print after the output, or undefined if the command succeeded. */
  readonly failure?: (item: never) => string | undefined;
}

const idAndName = ({ id, name }: { readonly id: bigint; readonly name: string }) =>
  `${id} (${escapeUnprintable(name)})`;

const formatToken = (done: string) => (issued: ExactJson<IssuedToken>) =>
  `${done} operator ${idAndName(issued)}, role ${issued.role}. The token is shown only once:\n  ${styleIfSupported('bold', issued.token)}`;

const tokenRemedy = (issued: ExactJson<IssuedToken>) =>
  `Operator ${idAndName(issued)} has a new token that is not known to anyone. Replace it with ` +
  `"animal-store operators rotate ${issued.id}", or revoke it with "animal-store operators revoke ${issued.id}".`;

/** Describes the removal of an object, whose id is the last path parameter. */
export function describeRemoval(params: Readonly<Record<string, unknown>>): Record<'text' | 'json', string> {
  const [name = '', id] = Object.entries(params).at(-1) ?? [];
  const noun = name.replace(/Id$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return { text: `Removed ${noun} ${id}.`, json: `{"id":${id},"removed":true}` };
}

/** By operation. The item is the operation's result, or its path parameters if it has no result. */
export const resultMessages: { readonly [Id in AdminOperationId]?: ResultMessages } = {
  closeAccount: {
    text: (account: ExactJson<Account>, effect) =>
      `Closed account ${idAndName(account)}. Requests with its keys now get 401, and its webhooks are disabled.${effect}`,
  },
  reopenAccount: {
    text: (account: ExactJson<Account>, effect) =>
      `Reopened account ${idAndName(account)}. Its keys are active. Webhooks that were disabled when it was closed stay disabled until you enable them.${effect}`,
  },
  updateKey: {
    text: ({ id, scopes }: ExactJson<Key>, effect) =>
      `Key ${id} now has the scopes ${scopes.join(', ')}.${effect}`,
    json: ({ id, scopes }: ExactJson<Key>) => `{"id":${id},"scopes":${JSON.stringify(scopes)}}`,
  },
  revokeKey: {
    text: ({ id }: ExactJson<Key>, effect) => `Revoked key ${id}. Requests that use it now get 401.${effect}`,
    json: ({ id }: ExactJson<Key>) => `{"id":${id},"state":"revoked"}`,
  },
  listBans: {
    // Versions that predate the admin API called this member `until`.
    json: (ban: ExactJson<Ban>) =>
      JSON.stringify({ ...ban, until: formatDateTime(Date.parse(ban.bannedUntil)) }, (_, value) =>
        typeof value === 'bigint' ? Number(value) : value,
      ),
  },
  liftBan: {
    text: ({ keyId }: { readonly keyId: bigint }, effect) =>
      `Lifted the ban on key ${keyId} and reset its strikes and ban level.${effect}`,
    json: ({ keyId }: { readonly keyId: bigint }) => `{"keyId":${keyId},"lifted":true}`,
  },
  createOperator: { text: formatToken('Created'), remedyIfNotShown: tokenRemedy },
  rotateOperator: {
    remedyIfNotShown: tokenRemedy,
    text: (issued: ExactJson<IssuedToken>) =>
      `${formatToken('Replaced the token of')(issued)}\nThe old token and all sessions of the operator were revoked.`,
  },
  revokeOperator: {
    text: (operator: ExactJson<Operator>) =>
      `Revoked operator ${idAndName(operator)}. The token and all sessions were revoked.`,
  },
  testAccountWebhook: {
    text: ({ status, milliseconds, error }: ExactJson<WebhookTest>) => {
      const outcome =
        error === undefined ? `The receiver responded with ${status}` : escapeUnprintable(error);
      return `${outcome.replace(/\.$/, '')} (${formatInteger(milliseconds)} ms).`;
    },
    failure: ({ status = 0n }: ExactJson<WebhookTest>) =>
      status >= 200n && status < 300n ? undefined : 'The receiver did not accept the test event.',
  },
  redeliverAccountEvents: {
    text: ({ id, onHoldReason }: ExactJson<AccountWebhook>) =>
      `The events will be sent to webhook ${id} again.${onHoldReason === undefined ? '' : ` It is on hold: ${onHoldReason}`}`,
  },
  deletePet: { text: ({ petId }: { readonly petId: bigint }) => `Removed animal ${petId}.` },
  deleteCategory: {
    text: ({ categoryId }: { readonly categoryId: bigint }) =>
      `Removed the name of category ${categoryId}. Its animals keep their category.`,
  },
};
