import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import type { Quota } from '../domain/plan.ts';
import { printable } from '../domain/printable.ts';
import { Refusal } from '../domain/refusal.ts';
import { scopes as allScopes, type Scope } from '../domain/scope.ts';
import type { IssuedKey, KeyInUse, KeyOperations } from '../operations/keys.ts';
import { isoOrNull, shownKey } from '../operations/shown.ts';
import { fromWhenOn } from './effect.ts';
import { CommandError, grouped, instant, messageOf, say, sayJson, styled, table } from './terminal.ts';

type Key = Awaited<ReturnType<KeyOperations['list']>>[number];

export interface CreateKeyOptions extends Partial<Quota> {
  readonly account?: number;
  readonly plan?: string;
  readonly name: string;
  /** In ms. */
  readonly expiresIn?: number;
  readonly scopes?: readonly Scope[];
  readonly json?: true;
}

export async function createKey(
  config: Config,
  { account, plan, name, expiresIn, scopes, json, ...quota }: CreateKeyOptions,
): Promise<void> {
  checkOwner(account, plan, quota);
  await using admin = await openAdminServices(config);
  const { id: accountId, closedAt } =
    account === undefined
      ? await admin.accounts.create(name, plan ?? '', quota)
      : await admin.accounts.find(account);
  const issued = await admin.keys.create(accountId, name, expiresIn, scopes);
  const notes = [
    ...(scopes === undefined ? [moreScopes(issued.id)] : []),
    ...(closedAt === null ? [] : [`Account ${accountId} is closed: the key works once it is reopened.`]),
  ];
  report(issued, json, ...notes);
}

/** A key is either another one of an account, or the first one of a new account. */
function checkOwner(account: number | undefined, plan: string | undefined, quota: Partial<Quota>): void {
  if ((account === undefined) === (plan === undefined)) {
    throw new CommandError('Specify either --account ACCOUNT-ID, or --plan PLAN to create a new account.', 2);
  }
  if (account !== undefined && (quota.perMinute ?? quota.perDay) !== undefined) {
    throw new CommandError(
      '--per-minute and --per-day apply to a new account only. To change an existing one: animal-store accounts set-plan',
      2,
    );
  }
}

/** How to let a key do more than it may by default. */
function moreScopes(id: number): string {
  return (
    'It may only read and add animals. To let it do more, create keys with --scopes, or run:\n' +
    `  animal-store keys set-scopes ${id} pets:read,orders:write (or: all)`
  );
}

function report(issued: IssuedKey, json: true | undefined, ...notes: readonly string[]): void {
  const { id, accountId, plan, key, scopes, expiresAt } = issued;
  if (json) {
    sayJson({ id, accountId, plan, key, scopes, expiresAt: isoOrNull(expiresAt) });
    return;
  }
  say(`Created key ${id} for account ${accountId} (plan ${plan}). It is shown only once:`);
  say(`  ${styled('bold', key)}`);
  say(`Scopes: ${scopes.join(', ')}.`);
  for (const note of notes) say(note);
}

export async function listKeys(
  config: Config,
  { account, json }: { account?: number; json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  if (account !== undefined) await admin.accounts.find(account);
  const keys = await inUse(admin.keys, await Array.fromAsync(admin.keys.all(account)));
  if (json) return sayJson(keys.map(shownKey));
  if (keys.length === 0) return say('No keys.');
  say(
    table(
      ['ID', 'ACCOUNT', 'NAME', 'KEY', 'CREATED', 'EXPIRES', 'STATE', 'LAST USED', 'TODAY', 'SCOPES'],
      keys.map((key) => [
        String(key.id),
        String(key.accountId),
        key.name,
        `…${key.lastFour}`,
        instant(key.createdAt),
        key.expiresAt === null ? 'never' : instant(key.expiresAt),
        key.state,
        lastUse(key),
        grouped(key.requestsToday),
        scopesShown(key),
      ]),
    ),
  );
}

export async function showKey(config: Config, id: number, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const [key] = await inUse(admin.keys, [await admin.keys.find(id)]);
  if (key === undefined) return;
  if (json) return sayJson(shownKey(key));
  const { accountId, name, lastFour, state, createdAt, expiresAt, successorId } = key;
  const expiry = expiresAt === null ? 'never expires' : `expires ${instant(expiresAt)}`;
  const successor = successorId === null ? '' : ` Replaced by key ${successorId}.`;
  say(`Key ${id} (${printable(name)}) …${lastFour} of account ${accountId}: ${state}.${successor}`);
  say(`Created ${instant(createdAt)}, ${expiry}. Scopes: ${scopesShown(key)}.`);
  say(`Last used: ${lastUse(key)}. Requests today (UTC): ${grouped(key.requestsToday)}.`);
}

/** How the keys are used. The list is worth having also where bans cannot be read. */
async function inUse(operations: KeyOperations, keys: readonly Key[]): Promise<KeyInUse[]> {
  return operations.inUse(keys, await bannedKeys(operations));
}

async function bannedKeys(keys: KeyOperations): Promise<ReadonlySet<number> | undefined> {
  try {
    return await keys.bannedIds();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(
      `animal-store: Cannot read bans, so whether keys work is unknown. ${messageOf(error)}\n`,
    );
    return undefined;
  }
}

function lastUse({ lastUsedAt }: KeyInUse): string {
  return lastUsedAt === null ? 'never' : instant(lastUsedAt);
}

function scopesShown({ scopes }: Key): string {
  return scopes.length === allScopes.length ? 'all' : scopes.join(',');
}

export interface RotateKeyOptions {
  /** How long the old key goes on, in ms. */
  readonly grace: number;
  /** In ms; undefined: as long as the old key was given. */
  readonly expiresIn?: number | 'never';
  readonly json?: true;
}

export async function rotateKey(
  config: Config,
  id: number,
  { grace, expiresIn, json }: RotateKeyOptions,
): Promise<void> {
  await using admin = await openAdminServices(config);
  const issued = await admin.keys.rotate(id, grace, expiresIn === 'never' ? null : expiresIn);
  const ending =
    grace === 0
      ? `Key ${id} no longer works.${fromWhenOn(admin)}`
      : `Key ${id} keeps working until ${instant(Date.now() + grace)}, or until it expires if that is earlier.`;
  report(issued, json, `${lifeOf(issued, id, expiresIn === undefined)}\n${ending}`);
}

/** How long a successor lives, and whether that is the old key's doing. */
function lifeOf({ expiresAt }: IssuedKey, oldId: number, isKept: boolean): string {
  const life = expiresAt === null ? 'never expires' : `expires ${instant(expiresAt)}`;
  return isKept ? `It ${life} (same lifetime as key ${oldId}).` : `It ${life}.`;
}

export async function setScopes(
  config: Config,
  id: number,
  scopes: readonly Scope[],
  { json }: { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  await admin.keys.setScopes(id, scopes);
  if (json) return sayJson({ id, scopes });
  say(`Key ${id} now has the scopes ${scopes.join(', ')}.${fromWhenOn(admin)}`);
}

export async function revokeKey(config: Config, id: number, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  await admin.keys.revoke(id);
  if (json) return sayJson({ id, state: 'revoked' });
  say(`Revoked key ${id}. Requests that use it now get 401.${fromWhenOn(admin)}`);
}
